/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that the engine asks about: decide.c judges them, asks.c has those that are under way,
 * approve.c those that wait for a person, follow.c tells the clients of vault.sock of these. */
#ifndef ATS_VAULT_DECIDE_H
#define ATS_VAULT_DECIDE_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/policy/approvals.h"
#include "brain/policy/rules.h"
#include "brain/vault/register.h"
#include "proto/brain.h"

#define ASKS_OVER 96			/* more than run and wait: answers not read yet, and kept */
#define ASKS_KEPT 32			/* answers that the engine has not yet written down */
#define ASKS_BYTES (64u << 20)		/* of the arguments of all */
#define ASKS_FILES_BYTES (64u << 20)	/* of the files of all, in memory */
#define ASKS_FILES 128			/* and how many */
#define WAY_MAX 96			/* "elicitation NAME", with the NUL */

struct ats_gw_tool;
struct ats_ipc_msg;
struct client;
struct event;
struct gateway;
struct vault;

enum ask_state {
	ASK_WAITS,			/* for a person */
	ASK_READY,			/* may run; its gateway does not take it yet */
	ASK_STARTED,			/* the engine is told so; the order is owed */
	ASK_ORDERED,
	ASK_OVER			/* refused: the answer is owed, and nothing else */
};
struct ask {
	TAILQ_ENTRY(ask) link;
	uint64_t id;			/* the engine's */
	enum ask_state state;
	char session[SESSION_ID_MAX];
	uint64_t uid;
	char tool[ATS_GATEWAY_TOOL_MAX];	/* as agents see it */
	struct gateway *gateway;	/* NULL: a tool of the sandbox */
	char *name;			/* owned; the gateway's own name of the tool */
	uint64_t limit_ms;
	struct ats_buf args;		/* canonical; while ASK_WAITS the approval has them */
	size_t args_n;
	int files[ATS_GATEWAY_FILES_MAX];	/* owned: sealed copies, until it is ordered */
	size_t nfiles;
	uint64_t files_bytes;
	char sha256[ATS_SHA256_HEX];
	/* What the engine is owed, and was told last. */
	bool owe_state, owe_cancel;	/* the cancel is its gateway's */
	bool kept;			/* ASK_OVER, told, for an engine that comes after it */
	enum ats_gateway_state say;
	struct ats_err why;		/* of GATEWAY_REFUSED */
	/* For the audit. */
	enum policy_effect effect;
	char rule[POLICY_WHY_MAX];
	char approval[APPROVAL_ID_MAX], way[WAY_MAX];
	uint64_t grant, ordered_ms;
	uint64_t serial;		/* of ASK_WAITS: grows with each, for followers */
};
struct decide {
	TAILQ_HEAD(, ask) asks;		/* in the order in which they came */
	struct ats_map *by_id;
	size_t nfiles;			/* of all asks */
	uint64_t files_bytes;
	size_t n, running, bytes;	/* running: READY, STARTED and ORDERED of gateways */
	size_t nkept;
	struct approvals *approvals;
	struct grants *grants;
	uint64_t epoch;			/* of this vault: no grant outlives it */
	struct event *expiry;
	uint64_t serial;		/* of the last one that waited */
	uint64_t strict;		/* GATEWAY_STRICT of this call came, or 0 */
	int64_t clock_ms;		/* added to the monotonic clock: it looks like the time */
};

/* ---- decide.c -------------------------------------------------------------------------- */
ATS_NODISCARD int decide_open(struct vault *v, struct ats_err *err);
void decide_free(struct vault *v);
/* Milliseconds since 1970, by a clock that is never set back. */
int64_t decide_now_ms(const struct vault *v);
/* GATEWAY_ASK. It may kill the engine. */
void decide_on_ask(struct vault *v, struct ats_ipc_msg *m);

/* CALL_REFUSED: the engine's word, for the log. */
void decide_on_refused(struct vault *v, const struct ats_ipc_msg *m);

/* ---- ask_files.c ----------------------------------------------------------------------- */
/* The n files that came for the arguments of said (NULL: it can have none): copied, hashed, and put
 * into a->args, which are canonical and stay so, as {"path", "sha256", "size"} in place of each
 * path. What came is not judged but by its bytes. */
ATS_NODISCARD int ask_files_take(struct vault *v, struct ask *a, const struct ats_gw_tool *said,
    const int *fds, size_t n, struct ats_err *err);
void ask_files_done(struct vault *v, struct ask *a);

/* ---- asks.c ------------------------------------------------------------------------------ */
struct ask *asks_find(const struct vault *v, uint64_t id);	/* borrowed, or NULL */
/* GATEWAY_CANCEL. */
void asks_cancel(struct vault *v, uint64_t id);
/* One that is over, and whose answer the engine has, or for which it asks anew. False: there is
 * none such. */
bool asks_forget(struct vault *v, uint64_t id);
/* It does not run; the engine is told. The text is for the model: what happened, that it is final,
 * and what to do instead. */
void ask_end(struct vault *v, struct ask *a, int code, const char *fmt, ...) ATS_PRINTF(4, 5);
/* It may run: ordered as soon as its gateway takes it. */
void ask_permit(struct vault *v, struct ask *a);
/* One line of the audit log about it. -ATS_E_*: it must not go on. */
ATS_NODISCARD int ask_audit(struct vault *v, const struct ask *a, const char *event,
    const char *outcome, int code, const char *text, struct ats_err *err);
/* It could not be made to take orders: those that wait for it are refused. */
void asks_gateway_failed(struct gateway *g, const struct ats_err *why);
/* Its process is gone, with its calls. */
void asks_gateway_lost(struct gateway *g);
/* GW_ENDED. False: it had no such call. */
bool asks_on_ended(struct gateway *g, uint64_t id, uint64_t code);
/* Whether calls wait for this gateway to take orders. */
bool asks_wait_for(const struct gateway *g);
void asks_session_gone(struct vault *v, const char *session);
void asks_engine_gone(struct vault *v);
/* Sends engine and gateways what is owed; as ats_brain_send to the engine. */
ATS_NODISCARD int asks_sync(struct vault *v);
void asks_free(struct vault *v);

/* ---- approve.c ---------------------------------------------------------------------------- */
/* A person is asked. -ATS_E_FULL. */
ATS_NODISCARD int approve_ask(struct vault *v, struct ask *a, struct ats_err *err);
/* Of a client. -ATS_E_UNKNOWN_ID, -ATS_E_CHANGED, -ATS_E_TIMEOUT, -ATS_E_PERM, with a text for
 * the person. */
ATS_NODISCARD int approve_yes(struct vault *v, uint64_t uid, const char *id, const char *sha256,
    const char *way, struct ats_err *err);
ATS_NODISCARD int approve_no(struct vault *v, uint64_t uid, const char *id, const char *reason,
    const char *way, struct ats_err *err);
/* Whether a client may decide by this way: "terminal", or "elicitation NAME" where the
 * configuration lets it. */
ATS_NODISCARD int approve_check_way(const struct vault *v, const char *way, struct ats_err *err);
/* Nobody waits for it any more: out of the table. */
void approve_withdraw(struct vault *v, struct ask *a);

/* ---- follow.c ------------------------------------------------------------------------------ */
/* What clients that list or follow are told: there is one more; a does not wait any more, why. */
void follow_new(struct vault *v);
void follow_gone(struct vault *v, const struct ask *a, const char *why);
/* APPROVALS, APPROVE and DENY of a client. */
void follow_on_approvals(struct client *c, const struct ats_ipc_msg *m);
void follow_on_approve(struct client *c, const struct ats_ipc_msg *m);
void follow_on_deny(struct client *c, const struct ats_ipc_msg *m);

#endif
