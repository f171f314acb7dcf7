/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of tools.def as C tables, and what is made from them: input decoding and JSON
 * Schema. Runs in engine (to answer a client early), front and workers. The input is the
 * model's: any JSON at all. */
#include "proto/tools.h"

#include <string.h>
#include <strings.h>

#include "proto/rows.h"

#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)                         \
	static const struct ats_field params_##sym[] = {
#define PARAM(sym, member, wire, type, req, min, max, doc)                               \
	ATS_ROW(struct ats_in_##sym, member, wire, type, req, min, max, doc)
#define END(sym)                                                                         \
	ATS_ROW_LAST                                                                     \
	}                                                                                \
	;                                                                                \
	ATS_SHAPE_CHECK(params_##sym);
#define ALIAS(name, target)
#define ITEM(sym, doc) static const struct ats_field params_##sym[] = {
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ITEM

#define ITEM(sym, doc)
#define RO ATS_HINT_RO
#define RW ATS_HINT_RW
#define DESTRUCTIVE ATS_HINT_DESTRUCTIVE
#define IDEMPOTENT ATS_HINT_IDEMPOTENT
#define DATA ATS_HINT_DATA
#define CORE ATS_HINT_CORE
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define TOOL(sym, tool_name, tclass, tprofile, dt, mt, out, thints, tdoc)                \
	[ATS_TOOL_##sym] = {                                                             \
		.name = (tool_name),                                                     \
		.class = ATS_CLASS_##tclass,                                             \
		.profile = ATS_PROFILE_##tprofile,                                       \
		.timeout_ms = (dt),                                                      \
		.timeout_max_ms = (mt),                                                  \
		.max_chars = (out),                                                      \
		.hints = (thints),                                                       \
		.doc = (tdoc),                                                           \
		.input = ATS_SHAPE(tool_name, params_##sym, struct ats_in_##sym, tdoc),  \
	},
const struct ats_tool_row ats_tool_rows[ATS_TOOL_COUNT] = {
#include "proto/tools.def"
};
#undef ALIAS
#undef TOOL

const struct ats_tool_alias ats_tool_aliases[] = {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)
#define ALIAS(alias, of) { (alias), (of) },
#include "proto/tools.def"
	{ NULL, NULL },
};
#undef ALIAS
#undef TOOL
#undef PARAM
#undef END
#undef ITEM

const struct ats_tool_row *
ats_tool_find(const char *name)
{
	const struct ats_tool_alias *a;
	size_t i;

	for (a = ats_tool_aliases; a->name != NULL; a++) {
		if (strcmp(a->name, name) == 0) {
			name = a->target;
			break;
		}
	}
	for (i = 0; i < ATS_TOOL_COUNT; i++) {
		if (strcmp(ats_tool_rows[i].name, name) == 0)
			return &ats_tool_rows[i];
	}
	return NULL;
}

#define NEAR_MAX 32u	/* bytes of a name that is compared */

/* How many bytes must be put in, taken out, changed or, two neighbours, exchanged. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned d[NEAR_MAX + 1][NEAR_MAX + 1], least;
	size_t n = strlen(a), m = strlen(b);

	if (n > NEAR_MAX || m > NEAR_MAX)
		return NEAR_MAX;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			least = d[i - 1][j - 1] +
			    (strncasecmp(a + i - 1, b + j - 1, 1) != 0);
			if (d[i - 1][j] + 1 < least)
				least = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < least)
				least = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && strncasecmp(a + i - 1, b + j - 2, 1) == 0 &&
			    strncasecmp(a + i - 2, b + j - 1, 1) == 0 &&
			    d[i - 2][j - 2] + 1 < least)
				least = d[i - 2][j - 2] + 1;
			d[i][j] = least;
		}
	return d[n][m];
}

const struct ats_tool_row *
ats_tool_nearest(const char *name)
{
	const struct ats_tool_row *best = NULL;
	unsigned least = 1 + (unsigned)strnlen(name, NEAR_MAX) / 4, d;

	for (size_t i = 0; i < ATS_TOOL_COUNT; i++) {
		d = distance(name, ats_tool_rows[i].name);
		if (d < least || (d == least && best == NULL)) {
			least = d;
			best = &ats_tool_rows[i];
		}
	}
	return best;
}

enum ats_tool_id
ats_tool_id(const struct ats_tool_row *row)
{
	return (enum ats_tool_id)(row - ats_tool_rows);
}

int
ats_tool_input(const struct ats_tool_row *row, const char *json, size_t n, void *ret,
    struct ats_buf *arena, struct ats_err *err)
{
	return ats_msg_decode(&row->input, json, n,
	    ATS_DECODE_LENIENT_NUM | ATS_DECODE_NULL_ABSENT, ret, arena, err);
}

/* ---- JSON Schema ------------------------------------------------------------------ */
static void
schema_enum(struct ats_json_w *w, const struct ats_field *f)
{
	const char *p = f->doc;
	size_t n;

	ats_json_w_array(w, "enum");
	for (;;) {
		n = strcspn(p, "|:");
		ats_json_w_strn(w, NULL, p, n);
		if (p[n] != '|')
			break;
		p += n + 1;
	}
	ats_json_w_end(w);
}

/* The description of an ENUM starts after its list of values. */
static const char *
schema_doc(const struct ats_field *f)
{
	const char *p;

	if (f->type != ATS_FIELD_ENUM)
		return f->doc;
	p = strstr(f->doc, ": ");
	return p == NULL ? f->doc : p + 2;
}

static void schema_object(
    struct ats_json_w *w, const char *key, const struct ats_shape *s);

static void
schema_field(struct ats_json_w *w, const struct ats_field *f)
{
	static const char *const types[] = {
		[ATS_FIELD_U64] = "integer", [ATS_FIELD_BOOL] = "boolean",
		[ATS_FIELD_STR] = "string", [ATS_FIELD_RAW] = "object",
		[ATS_FIELD_STRV] = "array", [ATS_FIELD_ENUM] = "string",
		[ATS_FIELD_ITEMS] = "array",
	};

	ats_json_w_object(w, f->name);
	ats_json_w_str(w, "type", types[f->type]);
	ats_json_w_str(w, "description", schema_doc(f));
	if (f->type == ATS_FIELD_U64) {
		ats_json_w_u64(w, "minimum", f->min);
		if (f->max != UINT64_MAX)
			ats_json_w_u64(w, "maximum", f->max);
	} else if (f->type == ATS_FIELD_STR && f->min > 0) {
		ats_json_w_u64(w, "minLength", f->min);
	} else if (f->type == ATS_FIELD_ENUM) {
		schema_enum(w, f);
	} else if (f->type == ATS_FIELD_STRV) {
		ats_json_w_object(w, "items");
		ats_json_w_str(w, "type", "string");
		ats_json_w_end(w);
	} else if (f->type == ATS_FIELD_ITEMS) {
		ats_json_w_u64(w, "minItems", f->min);
		ats_json_w_u64(w, "maxItems", f->max);
		schema_object(w, "items", f->item);
	}
	ats_json_w_end(w);
}

static void
schema_object(struct ats_json_w *w, const char *key, const struct ats_shape *s)
{
	size_t i;

	ats_json_w_object(w, key);
	ats_json_w_str(w, "type", "object");
	ats_json_w_object(w, "properties");
	for (i = 0; i < s->nfields; i++)
		schema_field(w, &s->fields[i]);
	ats_json_w_end(w);
	ats_json_w_array(w, "required");
	for (i = 0; i < s->nfields; i++) {
		if (s->fields[i].required)
			ats_json_w_str(w, NULL, s->fields[i].name);
	}
	ats_json_w_end(w);
	ats_json_w_bool(w, "additionalProperties", false);
	ats_json_w_end(w);
}

int
ats_tool_schema(const struct ats_tool_row *row, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	schema_object(&w, NULL, &row->input);
	return w.rc;
}
