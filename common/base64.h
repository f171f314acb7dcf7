/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 (RFC 4648), both ways. */
#ifndef ATS_COMMON_BASE64_H
#define ATS_COMMON_BASE64_H

#include "common/buf.h"

/* Appends the bytes; line breaks between the digits do not count. -ATS_E_INVAL when it is
 * not base64 or holds nothing; -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int ats_base64_decode(const char *s, size_t n, struct ats_buf *out);
/* Writes the (n + 2) / 3 * 4 digits of n bytes to out, in one line and padded, and no NUL. */
void ats_base64_digits(const void *p, size_t n, char *out);
/* Appends the digits, in one line and padded. */
ATS_NODISCARD int ats_base64_encode(const void *p, size_t n, struct ats_buf *out);

#endif
