/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that one read or write worker does. */
#ifndef ATS_HANDS_FRONT_TOOL_CALL_H
#define ATS_HANDS_FRONT_TOOL_CALL_H

#include "hands/front/calls.h"

/* The worker's result was checked; answers c with it or with what it makes of it.
 * wrap_ctx was given to tool_call_run. */
typedef void tool_call_wrap(struct call *c, void *wrap_ctx, struct ats_msg_RESULT *r,
    const char *payload, size_t n);

/* Answers the call, now or later. */
typedef void tool_start(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m);
/* Runs the tool of the frame in a worker. */
tool_start tool_call_start;
/* front_<symbol>: the tools of the profiles SHELL and FRONT, each in a file of its own or
 * beside what it is about. front_check_<symbol>: what front itself can say to a validate; a tool
 * that has none is checked by a worker. */
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)                         \
	tool_start front_##sym;                                                          \
	extern tool_start front_check_##sym __attribute__((weak));
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

/* The same with data that front adds; wrap_ctx is taken (free). */
void tool_call_run(struct call *c, enum ats_profile profile, struct ats_slice json,
    struct ats_slice extra, tool_call_wrap *wrap, void *wrap_ctx);
/* The list of the workspace's hooks, see JOB_HOOKS; json is a CALL_HOOK's. */
void tool_call_hooks(
    struct call *c, struct ats_slice json, tool_call_wrap *wrap, void *wrap_ctx);
/* In a wrap: the worker's part is over, and c goes on as another kind of call. wrap_ctx and what
 * the wrap was given are gone after it, but for the result itself. */
void tool_call_forget(struct call *c);
/* Of a call whose bytes are wanted raw: more credit for them; their reader has gone. Others are
 * not meant. */
ATS_NODISCARD int tool_call_on_window(struct front *f, uint64_t call, uint64_t bytes,
    struct ats_err *err);
void tool_call_on_signal(struct front *f, uint64_t call);

#endif
