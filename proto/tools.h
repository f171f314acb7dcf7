/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of tools: names, classes, limits, input shapes and JSON schemas. Links into
 * engine and hands. */
#ifndef ATS_PROTO_TOOLS_H
#define ATS_PROTO_TOOLS_H

#include "proto/msg.h"

enum ats_tool_class { ATS_CLASS_PURE, ATS_CLASS_CHECKED, ATS_CLASS_NEVER };
enum ats_profile { ATS_PROFILE_READ, ATS_PROFILE_WRITE, ATS_PROFILE_SHELL, ATS_PROFILE_FRONT };
#define ATS_HINT_RO 1u
#define ATS_HINT_RW 2u
#define ATS_HINT_DESTRUCTIVE 4u
#define ATS_HINT_IDEMPOTENT 8u
#define ATS_HINT_DATA 16u	/* gives a file's bytes raw, to a pipe of the caller */
#define ATS_HINT_CORE 32u	/* loaded at once by clients that look for tools */

enum ats_tool_id {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) ATS_TOOL_##sym,
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
	ATS_TOOL_COUNT
};
struct ats_tool_row {
	const char *name;
	enum ats_tool_class class;
	enum ats_profile profile;
	uint64_t timeout_ms, timeout_max_ms, max_chars;
	unsigned hints;
	const char *doc;
	struct ats_shape input;
};
extern const struct ats_tool_row ats_tool_rows[ATS_TOOL_COUNT];
/* Other names; ends with { NULL, NULL }. */
struct ats_tool_alias {
	const char *name, *target;
};
extern const struct ats_tool_alias ats_tool_aliases[];
/* By name or alias; NULL if there is none. */
const struct ats_tool_row *ats_tool_find(const char *name);
/* The tool that a mistyped name may mean, without regard to case; NULL if none is near. */
const struct ats_tool_row *ats_tool_nearest(const char *name);
/* row is one of ats_tool_rows. */
enum ats_tool_id ats_tool_id(const struct ats_tool_row *row);
/* Appends the JSON Schema of the input (draft 2020-12 subset, additionalProperties false). */
ATS_NODISCARD int ats_tool_schema(const struct ats_tool_row *row, struct ats_buf *out);
/* Decodes and checks arguments into the tool's struct ats_in_<symbol> (ret). Numeric strings
 * count as numbers, null members as absent. err text names the parameter. */
ATS_NODISCARD int ats_tool_input(const struct ats_tool_row *row, const char *json, size_t n,
    void *ret, struct ats_buf *arena, struct ats_err *err);

#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) struct ats_in_##sym {
#define PARAM(sym, member, wire, type, req, min, max, doc) ATS_MEMBER_##type(member)
#define END(sym) };
#define ALIAS(name, target)
#define ITEM(sym, doc) struct ats_in_##sym {
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
/* Large enough for any tool's input. */
union ats_tool_input_any {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) struct ats_in_##sym sym;
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
};

#endif
