/* SPDX-License-Identifier: Apache-2.0
 *
 * A request: it becomes a call, joins one that lives, or is answered from what is kept. */
#ifndef ATS_ENGINE_CALL_ASK_H
#define ATS_ENGINE_CALL_ASK_H

#include "brain/engine/call_waiters.h"
#include "common/err.h"
#include "proto/tools.h"

#define CALL_KEY_MAX 320
#define CALL_FULL_KEY_MAX (CALL_KEY_MAX + 40)	/* with the session before it */

struct engine;
struct exec;
struct gateway_tool;
struct session;

struct call_ask {			/* all borrowed */
	struct session *session;
	const struct ats_tool_row *tool;	/* with neither: exec */
	struct gateway_tool *gateway;
	struct ats_slice input;		/* scanned JSON object */
	const char *key;		/* idempotency key of the client, or NULL */
	uint64_t timeout_ms;		/* 0: the tool's own */
	struct asker *asker;
	enum call_form form;		/* CALL_FORM_VALIDATE: only the tool's checks */
	struct ats_slice rpc_id, progress_token;	/* raw JSON; token may be empty */
	struct exec *exec;		/* taken on success */
	struct ats_slice ctx;		/* scanned: a runtime's (ctx_host.h), or p == NULL */
};
/* Takes a request: finds the call of the same key, its answer in the journal, or makes a
 * new one. 0: the waiter is answered now or later. Negative: nothing was taken, the caller
 * answers (-ATS_E_ID_REUSED, -ATS_E_FULL, -ATS_E_NOMEM, -ATS_E_NOSPC). */
ATS_NODISCARD int call_ask(struct engine *e, const struct call_ask *ask, struct ats_err *err);
/* Whether a call of this key of a client lives, or has an answer that is kept. */
bool call_is_known(struct engine *e, const struct session *s, const char *key);
/* The same for a tool of a gateway that is called name and is not there (now): 1 when the call of
 * ask->key is known, and is answered now or later. 0: it is not. Negative: as call_ask. */
ATS_NODISCARD int call_ask_known(struct engine *e, struct call_ask *ask, const char *name,
    struct ats_err *err);

#endif
