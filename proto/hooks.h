/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks as every side sees them: events, the configuration's object, matchers, and what a hook
 * answers. Pure: nothing is run here. The engine and hands read what strangers wrote by it. */
#ifndef ATS_PROTO_HOOKS_H
#define ATS_PROTO_HOOKS_H

#include <stdint.h>

#include "common/json.h"
#include "proto/msg.h"

#define ATS_HOOKS_MAX 64u		/* of one configuration */
#define ATS_HOOKS_MATCHED_MAX 16u	/* of a workspace that run for one event */
#define ATS_HOOKS_AT_ONCE 32u		/* of the host that run at a time; the others wait */
#define ATS_HOOK_COMMAND_MAX 8192u	/* bytes of a command, or of all its args */
#define ATS_HOOK_ARGS_MAX 32u
#define ATS_HOOK_MATCHER_MAX 256u
#define ATS_HOOK_TIMEOUT_MS 60000u	/* without "timeout" */
#define ATS_HOOK_TIMEOUT_MAX_S 3600u
#define ATS_HOOK_INPUT_MAX (4u << 20)	/* what one reads */
#define ATS_HOOK_STDOUT_MAX (128u << 10)	/* of what it prints; the rest is dropped */
#define ATS_HOOK_STDERR_MAX (16u << 10)

enum ats_hook_event {
#define HOOK_EVENT(name, number, wire, matched, doc) ATS_HOOK_##name = (number),
#include "proto/hooks.def"
#undef HOOK_EVENT
	ATS_HOOK_EVENTS
};
struct ats_hook_event_row {
	const char *name, *matched, *doc;
};
extern const struct ats_hook_event_row ats_hook_event_rows[ATS_HOOK_EVENTS];
#define ATS_HOOK_BIT(event) (UINT64_C(1) << (event))
/* By its wire name. False: there is none. */
bool ats_hook_event_find(const char *name, size_t n, enum ats_hook_event *ret);

/* ---- configuration --------------------------------------------------------------------- */
struct ats_hook {
	enum ats_hook_event event;
	char *matcher;			/* owned; NULL: all */
	char *command;			/* owned; for a shell, or the program when nargs > 0 */
	char **args;			/* owned; the program first, a NULL last; or NULL */
	size_t nargs;
	uint64_t timeout_ms;
	bool blocks;			/* onFailure: "block" */
};
struct ats_hooks {
	struct ats_hook *v;		/* owned */
	size_t n;
	uint64_t events;		/* mask of those that have one */
	size_t skipped;			/* of a lenient reading */
	struct ats_err why;		/* the first of these */
};
/* Reads the object of a "hooks" key (scanned). where: for texts. strict: what is not known or
 * not run by us is an error that names it, and a program of args must be an absolute path;
 * otherwise such an entry is left out and counted. Adds to *ret, which the caller has zeroed; with
 * a negative return it is as ats_hooks_done leaves it. -ATS_E_CONFIG, -ATS_E_NOMEM. */
ATS_NODISCARD int ats_hooks_read(struct ats_hooks *ret, const char *where, struct ats_slice object,
    bool strict, struct ats_err *err);
void ats_hooks_done(struct ats_hooks *h);	/* zeroed ones are fine */

/* ---- matchers (hook_match.c) -------------------------------------------------------------- */
/* Whether it can be one. -ATS_E_INVAL with the place. */
ATS_NODISCARD int ats_hook_matcher_check(const char *matcher, struct ats_err *err);
/* NULL, "" and "*" match all. Words, "|" and "," between them, match a name that is one of them;
 * all else is a regular expression that is looked for in it. One that cannot be judged within its
 * limits matches: a guard that is asked too often is better than one that is not. */
bool ats_hook_matches(const char *matcher, const char *name);

/* ---- what one answers ------------------------------------------------------------------- */
enum ats_hook_decision {		/* the higher wins */
	ATS_HOOK_NONE, ATS_HOOK_ALLOW, ATS_HOOK_ASK, ATS_HOOK_DENY
};
struct ats_hook_output {
	enum ats_hook_decision decision;
	bool stops;			/* continue: false */
	const char *reason, *message, *context;	/* in the arenas, or NULL */
	struct ats_slice input;		/* borrowed from the text; p == NULL: none */
	struct ats_slice output;	/* the same: any JSON */
	struct ats_buf arenas[2];
};
/* What it printed (any bytes, at most ATS_HOOK_STDOUT_MAX), after it ended with 0. Text that does
 * not begin with a brace is context for UserPromptSubmit and SessionStart, and nothing
 * otherwise. ret is initialised here; ats_hook_output_done always. -ATS_E_JSON, -ATS_E_UTF8,
 * -ATS_E_FIELD, -ATS_E_TOOBIG, -ATS_E_NOMEM: it says nothing that counts. */
ATS_NODISCARD int ats_hook_output_read(enum ats_hook_event event, const char *text, size_t n,
    struct ats_hook_output *ret, struct ats_err *err);
void ats_hook_output_done(struct ats_hook_output *o);
/* "none", "allow", "ask" or "deny". */
const char *ats_hook_decision_name(enum ats_hook_decision d);

/* Rows of hooks.def, for tests and docs. */
#define STRUCT(name, wire, doc) struct ats_##name {
#define FIELD(frame, member, wire, type, req, max, doc) ATS_MEMBER_##type(member)
#define END(name) };
#include "proto/hooks.def"
#undef STRUCT
#undef FIELD
#undef END
extern const struct ats_shape *const ats_hook_shapes[]; /* NULL-terminated */

#endif
