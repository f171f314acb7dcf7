/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that stand in tests/sandbox/golden, so that a change of policy shows in review.
 * After a change that is meant: ATS_UPDATE_GOLDEN=1 make check-unit, and look at the diff. */
#ifndef ATS_TESTS_LIB_GOLDEN_H
#define ATS_TESTS_LIB_GOLDEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#define GOLDEN_MAX (1u << 20)

/* Ends the test when the file of that name says something else. */
static inline void
golden_compare(const char *name, const char *text)
{
	char path[256], *golden = calloc(1, GOLDEN_MAX);
	bool update = getenv("ATS_UPDATE_GOLDEN") != NULL;
	FILE *f;

	(void)snprintf(path, sizeof path, "tests/sandbox/golden/%.200s", name);
	if (update) {
		f = fopen(path, "we");
		ck_assert_ptr_nonnull(f);
		(void)fputs(text, f);
		(void)fclose(f);
	}
	f = fopen(path, "re");
	ck_assert_msg(f != NULL && golden != NULL, "%s cannot be read", path);
	(void)!fread(golden, 1, GOLDEN_MAX - 1, f);
	(void)fclose(f);
	ck_assert_msg(strcmp(text, golden) == 0,
	    "%s differs; is it meant? then ATS_UPDATE_GOLDEN=1 writes it", path);
	free(golden);
}

#endif
