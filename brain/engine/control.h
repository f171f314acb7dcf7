/* SPDX-License-Identifier: Apache-2.0
 *
 * What the methods that look and order (control.c, control_inspect.c, control_box.c) have in
 * common: how a session, a sandbox and a call are written, and how one is named. */
#ifndef ATS_ENGINE_CONTROL_H
#define ATS_ENGINE_CONTROL_H

#include "brain/engine/rpc.h"

struct call;
struct sandbox;
struct session;

#define CONTROL_ID_MAX 64		/* bytes of an id that is asked for, with its NUL */
#define CONTROL_CALL_ID 32		/* of a call's */

/* Each writes its members into the object that is open. */
void control_write_session(struct ats_json_w *w, const struct session *s);
void control_write_box(struct ats_json_w *w, const struct sandbox *box);
void control_write_call(struct ats_json_w *w, const struct call *c);
/* The member of that name, an array of all that the caller owns; of calls the first 1000. */
void control_write_sessions(struct rpc *r, struct ats_json_w *w);
void control_write_boxes(struct rpc *r, struct ats_json_w *w);
void control_write_calls(struct rpc *r, struct ats_json_w *w);
void control_call_id(uint64_t id, char out[CONTROL_CALL_ID]);

/* The only parameter of many methods. Negative: the request was answered. */
ATS_NODISCARD int control_read_id(struct rpc *r, char *id, size_t size);
/* Answers that there is nothing of that id, or that it is somebody else's: they look the same, but
 * to root, who is told whose it is. */
void control_unknown_id(struct rpc *r, const char *id);
/* The same, for what that uid owns; 0 for what nobody does. */
void control_of_another(struct rpc *r, uint64_t uid);
/* The caller's sandbox (borrowed) of that id, or NULL. */
struct sandbox *control_owned_box(struct rpc *r, const char *id);

#endif
