/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of outcomes. Runs in the engine; the name comes from hands or the journal. */
#include "brain/engine/outcome.h"

#include <string.h>

static const char *const names[] = {
	[OUTCOME_DONE] = "done",
	[OUTCOME_NOT_STARTED] = "not_started",
	[OUTCOME_UNKNOWN] = "unknown",
};

const char *
outcome_name(enum outcome_kind kind)
{
	return names[kind];
}

int
outcome_parse(const char *name, enum outcome_kind *ret)
{
	unsigned i;

	for (i = 0; i < ATS_ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum outcome_kind)i;
			return 0;
		}
	}
	return -ATS_E_FIELD;
}
