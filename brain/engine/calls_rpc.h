/* SPDX-License-Identifier: Apache-2.0
 *
 * What the methods that make calls share. */
#ifndef ATS_ENGINE_CALLS_RPC_H
#define ATS_ENGINE_CALLS_RPC_H

#include "brain/engine/call_ask.h"
#include "brain/engine/rpc.h"

#define CALLS_HINT_MAX 400u

/* For a name that no tool has: the tool that may be meant, or which there are. */
void calls_tool_hint(struct engine *e, const char *name, char *out, size_t size);
/* The named session if the client owns it, or for "" the one it is attached to. Answers and
 * returns NULL if there is none. */
struct session *calls_session(struct rpc *r, const char *id);
/* The idempotency key of a client's nonce and the request's id; "" without a nonce. */
void calls_key_of_id(const struct rpc *r, char key[CALL_KEY_MAX]);

#endif
