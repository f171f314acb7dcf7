/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of outcomes. Runs in the engine; the name comes from hands or the journal. */
#include "brain/engine/outcome.h"

#include <stdlib.h>
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

static void
copy_slice(char **at, struct ats_slice *s)
{
	if (s->p == NULL)
		return;
	memcpy(*at, s->p, s->n);
	s->p = *at;
	*at += s->n;
}

struct outcome *
outcome_dup(const struct outcome *o)
{
	size_t kind = o->exit_kind == NULL ? 0 : strlen(o->exit_kind) + 1;
	size_t n = o->payload.n + o->blocks.n + o->output.n + kind;
	struct outcome *copy = malloc(sizeof(*copy) + n);
	char *at;

	if (copy == NULL)
		return NULL;
	*copy = *o;
	copy->ctx_delta = (struct ats_slice){ NULL, 0 };
	at = (char *)(copy + 1);
	copy_slice(&at, &copy->payload);
	copy_slice(&at, &copy->blocks);
	copy_slice(&at, &copy->output);
	if (kind > 0)
		copy->exit_kind = memcpy(at, o->exit_kind, kind);
	return copy;
}
