/* SPDX-License-Identifier: Apache-2.0
 *
 * What a peer or a model is told of a value that its table does not allow: for a model it is all
 * it has to do better by. Runs where proto/msg.c does; the values are anything that is JSON. */
#include "proto/msg_wrong.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GOT_MAX 40	/* bytes of a wrong value that an error text quotes */

static void
expected_u64(const struct ats_field *f, char *out, size_t size)
{
	if (f->max == UINT64_MAX && f->min == 0)
		(void)snprintf(out, size, "a whole number");
	else if (f->max == UINT64_MAX)
		(void)snprintf(out, size, "an integer of at least %" PRIu64, f->min);
	else
		(void)snprintf(out, size, "an integer from %" PRIu64 " to %" PRIu64, f->min,
		    f->max);
}

static void
expected(const struct ats_field *f, char *out, size_t size)
{
	switch (f->type) {
	case ATS_FIELD_U64:
		expected_u64(f, out, size);
		break;
	case ATS_FIELD_BOOL:
		(void)snprintf(out, size, "true or false");
		break;
	case ATS_FIELD_STR:
		(void)snprintf(out, size, "a string");
		break;
	case ATS_FIELD_RAW:
		(void)snprintf(out, size, "an object or an array");
		break;
	case ATS_FIELD_STRV:
		(void)snprintf(out, size, "an array of strings");
		break;
	case ATS_FIELD_ITEMS:
		(void)snprintf(out, size, "an array of %" PRIu64 " to %" PRIu64 " objects", f->min,
		    f->max);
		break;
	case ATS_FIELD_ENUM:
		(void)snprintf(out, size, "one of %.*s", (int)strcspn(f->doc, ":"), f->doc);
		break;
	}
}

/* "name: expected this, got that"; that is cut on a character. */
int
ats_msg_mistyped(const struct ats_field *f, const struct ats_json_val *v, struct ats_err *err)
{
	char want[160];
	size_t n = v->raw.n;
	const char *more = "";

	if (err == NULL)
		return -ATS_E_FIELD;
	expected(f, want, sizeof(want));
	if (v->type == ATS_JSON_OBJECT || v->type == ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "%s: expected %s, got %s", f->name, want,
		    v->type == ATS_JSON_OBJECT ? "an object" : "an array");
	if (n > GOT_MAX) {
		n = GOT_MAX - ats_utf8_cut_tail(v->raw.p, GOT_MAX);
		more = "...";
	}
	return ats_err_set(err, ATS_E_FIELD, "%s: expected %s, got %.*s%s", f->name, want,
	    (int)n, v->raw.p, more);
}

int
ats_msg_too_long(const struct ats_field *f, struct ats_err *err)
{
	return ats_err_set(err, ATS_E_FIELD, "%s: too long, at most %" PRIu64 " bytes",
	    f->name, f->max);
}

int
ats_msg_unknown(const struct ats_shape *shape, struct ats_slice key, struct ats_err *err)
{
	char names[256] = "";
	size_t i, at = 0, n = key.n;

	if (err == NULL)
		return -ATS_E_FIELD;
	for (i = 0; i < shape->nfields && at < sizeof(names); i++) {
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
		    shape->fields[i].name);
	}
	if (n > GOT_MAX)
		n = GOT_MAX - ats_utf8_cut_tail(key.p, GOT_MAX);
	return ats_err_set(err, ATS_E_FIELD, "%.*s: unknown; there are: %s", (int)n, key.p,
	    names[0] == '\0' ? "none" : names);
}
