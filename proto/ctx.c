/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of ctx.def as C tables, and what an input names. Linked into every process that frames.c
 * is linked into, and into the library for agent runtimes; the input is a model's. */
#include "proto/ctx.h"

#include <string.h>

#include "common/path.h"
#include "proto/rows.h"

#define STRUCT(name, wire, doc) static const struct ats_field fields_##name[] = {
#define FIELD(frame, member, type, req, max, doc)                                        \
	ATS_ROW(struct ats_##frame, member, #member, type, req, 0, max, doc)
#define END(name)                                                                        \
	ATS_ROW_LAST                                                                     \
	}                                                                                \
	;                                                                                \
	ATS_SHAPE_CHECK(fields_##name);
#include "proto/ctx.def"
#undef STRUCT
#undef FIELD
#undef END
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#define STRUCT(name, wire, doc)                                                          \
	const struct ats_shape ats_shape_##name =                                        \
	    ATS_SHAPE(wire, fields_##name, struct ats_##name, doc);
#include "proto/ctx.def"
#undef STRUCT
#define STRUCT(name, wire, doc) &ats_shape_##name,
const struct ats_shape *const ats_ctx_shapes[] = {
#include "proto/ctx.def"
	NULL
};
#undef STRUCT
#undef FIELD
#undef END

static void
name_path(const char *cwd, const struct ats_json_val *v, char *ret)
{
	struct ats_buf text;
	const char *p;
	int rc;

	ats_buf_init(&text, 2 * ATS_PATH_MAX);
	if (ats_json_to_str(v, &text) == 0 && text.len > 0) {
		p = text.data;
		if (p[0] == '~' && (p[1] == '\0' || p[1] == '/')) {
			cwd = ATS_PLACE_HOME;
			p += p[1] == '/' ? 2 : 1;
			while (*p == '/')
				p++;
			if (*p == '\0')
				p = ".";
		}
		rc = ats_path_join(cwd, p, ret, ATS_PATH_MAX);
		if (rc < 0)
			ret[0] = '\0';
	}
	ats_buf_done(&text);
}

/* Numeric strings count as numbers, as they do in hands. */
static uint64_t
name_number(const struct ats_json_val *v)
{
	struct ats_json_val inner = *v;
	uint64_t n;

	if (v->type == ATS_JSON_STRING && v->raw.n > 2) {
		inner.raw.p++;
		inner.raw.n -= 2;
		inner = ats_json_value(inner.raw);
		if (strspn(inner.raw.p, "0123456789") < inner.raw.n)
			return 0;
	}
	if (inner.type != ATS_JSON_NUMBER || ats_json_to_u64(&inner, &n) < 0)
		return 0;
	return n;
}

void
ats_ctx_name(const struct ats_tool_row *tool, const char *cwd, struct ats_slice args,
    struct ats_ctx_named *ret)
{
	const struct ats_field *f;
	struct ats_json_val v;
	size_t i;

	ret->path[0] = '\0';
	ret->timeout_ms = 0;
	for (i = 0; i < tool->input.nfields; i++) {
		f = &tool->input.fields[i];
		if (f->role == ATS_ROLE_NONE || !ats_json_get(args, f->name, &v))
			continue;
		if (f->role == ATS_ROLE_TIMEOUT)
			ret->timeout_ms = name_number(&v);
		else if (v.type == ATS_JSON_STRING)
			name_path(cwd, &v, ret->path);
	}
}

bool
ats_ctx_cwd_allowed(const char *workspace, const char *cwd)
{
	char normal[ATS_PATH_MAX];

	if (cwd[0] != '/' || ats_path_join("/", cwd, normal, sizeof(normal)) < 0 ||
	    strcmp(normal, cwd) != 0)
		return false;
	return ats_path_is_within(workspace, cwd) || ats_path_is_within(ATS_PLACE_TMP, cwd) ||
	    ats_path_is_within(ATS_PLACE_HOME, cwd) || ats_path_is_within(ATS_PLACE_SPILL, cwd);
}
