/* SPDX-License-Identifier: Apache-2.0
 *
 * For the drivers of tests/fault/run: a fixed work that is done once with the N-th
 * allocation failing. A call may fail with -ATS_E_NOMEM, then with nothing half-done; it may
 * not crash, leak (AddressSanitizer looks), or fail otherwise. */
#ifndef ATS_TESTS_FAULT_FAULT_H
#define ATS_TESTS_FAULT_FAULT_H

#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"

#define FAULT_CLEAN 0	/* no allocation failed: the loop is at its end */
#define FAULT_FELT 3	/* one did, and the call said so */
#define FAULT_BROKEN 1

static int fault_felt;

/* Notes the answer of a call that succeeds when there is memory. True: go on with its result. */
static inline bool
fault_ok(int rc, const char *what)
{
	if (rc >= 0)
		return true;
	if (rc == -ATS_E_NOMEM && fault_felt == 0) {
		fault_felt = 1;
		return false;
	}
	(void)fprintf(stderr, "%s: %s\n", what, ats_err_name(rc));
	exit(FAULT_BROKEN);
}

static inline bool
fault_ptr(const void *p, const char *what)
{
	return fault_ok(p != NULL ? 0 : -ATS_E_NOMEM, what);
}

static inline int
fault_end(void)
{
	return fault_felt ? FAULT_FELT : FAULT_CLEAN;
}

#endif
