/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools that workers run, from proto/tools.def. A tool that has no file here (front or
 * the shell does its work) is a weak reference that nobody defines: NULL. */
#include "hands/tools/tool.h"

#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)                         \
	extern const struct tool tool_##sym __attribute__((weak));
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
#include "proto/tools.def"
#undef TOOL

#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) [ATS_TOOL_##sym] = &tool_##sym,
const struct tool *const tool_registry[ATS_TOOL_COUNT] = {
#include "proto/tools.def"
};
