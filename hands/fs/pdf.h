/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be said of a PDF document without a parser for it. */
#ifndef ATS_HANDS_FS_PDF_H
#define ATS_HANDS_FS_PDF_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define PDF_PAGES_MAX 20u      /* of one call */
#define PDF_PAGES_FIRST 10u    /* when none are asked for */
#define PDF_PAGE_LAST 1000000u /* a higher number is a mistake */

struct pdf_range {
	uint64_t first, last; /* from 1; last - first < PDF_PAGES_MAX */
};
/* Whether these first bytes of a file are a document's: its mark is what they begin with,
 * or, when the file is named so, stands within the first 1024 as viewers have it. */
bool pdf_claims(const char *p, size_t n, bool is_named_so);
/* How many pages it says it has, as far as that stands there uncompressed; 0 unknown. A
 * hint: nothing may depend on it. */
uint64_t pdf_page_count(const char *p, size_t n);
/* "3", "1-5", "10-"; NULL or "": the first ones. -ATS_E_FIELD says what is expected. */
ATS_NODISCARD int pdf_range_parse(
    const char *text, struct pdf_range *ret, struct ats_err *err);

#endif
