/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions: what may run, what a person is asked about, what is refused; deny wins
 * over ask, ask over allow. A rule is
 *   Tool                all calls of a tool. Edit is all that write files (Edit, Write, MultiEdit,
 *                       NotebookEdit), Read all that read them (Read, Grep, Glob, LS).
 *   Bash(SPEC)          a command: the text itself; PREFIX:* or PREFIX *, up to a word's end; *
 *                       anywhere else stands for any characters.
 *   Read(SPEC), Edit(SPEC)   files, as in .gitignore: src/ ** below the workspace, *.pem in any
 *                       folder, //etc/x from the root, ~/x in the sandbox's HOME.
 *   NAME__*, NAME__TOOL  tools of a gateway; a * may end a name.
 *   mcp__ats__X         the same as X, as clients of MCP call it; mcp__ats: every tool.
 * Commands are looked at in all their parts: each must be allowed, any can be denied or asked
 * about, also behind sudo, env, xargs, find -exec, sh -c and the like (rules_bash.c). Rules on
 * commands and paths are a convenience: a program can do what no rule sees. What holds is the
 * sandbox and, for tools of the host, that the whole call is judged by its name.
 * Pure. Who controls the input: the owner of the configuration writes rules, anybody the calls. */
#ifndef ATS_POLICY_RULES_H
#define ATS_POLICY_RULES_H

#include "common/buf.h"

#define POLICY_RULE_MAX 1024		/* bytes of a rule */
#define POLICY_RULES_MAX 512		/* of all three lists together */
#define POLICY_WHY_MAX 256

/* The numbers are those of brain.def RULE. */
enum policy_effect { POLICY_NONE = 0, POLICY_ALLOW = 1, POLICY_ASK = 2, POLICY_DENY = 3 };
enum policy_kind { POLICY_SANDBOX, POLICY_GATEWAY };
/* permissions.gateway_default */
enum policy_default { POLICY_ALLOW_READS, POLICY_DEFAULT_ASK, POLICY_DEFAULT_DENY,
	POLICY_DEFAULT_ALLOW };

struct policy_rules;
struct policy_rules *policy_rules_new(void);	/* returns owned or NULL */
void policy_rules_free(struct policy_rules *r);
/* Adds one. -ATS_E_INVAL with a text that says what is wrong and what to write instead;
 * -ATS_E_FULL, -ATS_E_NOMEM. */
ATS_NODISCARD int policy_rules_add(struct policy_rules *r, enum policy_effect effect,
    const char *text, struct ats_err *err);
size_t policy_rules_count(const struct policy_rules *r);
/* The i-th, as it was written, in the order of adding; NULL behind the last. */
const char *policy_rules_text(const struct policy_rules *r, size_t i,
    enum policy_effect *ret_effect);
/* The gateway that the i-th rule names (for a check that there is one), into ret[size]; false
 * when it names none. */
bool policy_rules_gateway(const struct policy_rules *r, size_t i, char *ret, size_t size);

struct policy_call {			/* all borrowed */
	enum policy_kind kind;
	/* Of the sandbox: the tool's own name (ats/exec is Bash). Of a gateway: NAME__TOOL. */
	const char *tool;
	struct ats_slice args;		/* a scanned JSON object; of ats/exec the array of its
					 * words, or an object with that as argv */
	/* Of the sandbox, for rules on files: the workspace, the directory that relative paths of
	 * the call begin at, and HOME; NULL is unknown. */
	const char *workspace, *cwd, *home;
	/* Of a gateway: what its configuration says of the tool. */
	enum policy_effect permission;	/* POLICY_NONE: nothing */
	bool read_only;
};
struct policy_decision {
	enum policy_effect effect;	/* never POLICY_NONE */
	const char *rule;		/* the rule as written, borrowed of the rules; or NULL */
	bool unseen;			/* taken as meant: the call could not be seen whole */
	/* For logs, audit and refusals: which rule of which list, or which key decided; one line,
	 * no byte of the call in it. */
	char why[POLICY_WHY_MAX];
};
/* Rules first; then for tools of the sandbox allow, for tools of a gateway its permission, then
 * the default. A command or path that cannot be looked at, for want of memory or for its size,
 * is taken as one that each pattern of a rule that denies or asks is about. */
void policy_decide(const struct policy_rules *r, const struct policy_call *call,
    enum policy_default gateway_default, struct policy_decision *ret);
/* Whether a rule denies every call of that tool, whatever its arguments are: nobody need be shown
 * it. */
bool policy_denies_all(const struct policy_rules *r, enum policy_kind kind, const char *tool);
/* "allow_reads" and the other words of permissions.gateway_default; false: none of them. */
bool policy_default_parse(const char *word, enum policy_default *ret);
/* "allow", "ask", "deny"; false: none of them. */
bool policy_effect_parse(const char *word, enum policy_effect *ret);
const char *policy_effect_name(enum policy_effect effect);	/* static */

#endif
