/* SPDX-License-Identifier: Apache-2.0
 *
 * The confinement vector: what was reached, as the JSON object of HELLO and READY. */
#ifndef ATS_HANDS_CONFINE_VECTOR_H
#define ATS_HANDS_CONFINE_VECTOR_H

#include "common/buf.h"
#include "hands/confine/filters.h"

struct vector_tests {
	unsigned passed;
	unsigned failed;
	char names[512];	/* of failed ones, comma-separated */
};
/* tests: NULL when nothing was verified yet. prog: NULL leaves the filter's digest out.
 */
ATS_NODISCARD int vector_make(const struct box *b, const struct ats_seccomp_prog *prog,
    enum filter filter, const struct vector_tests *tests, struct ats_buf *out);

#endif
