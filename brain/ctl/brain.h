/* SPDX-License-Identifier: Apache-2.0
 *
 * Reaching brain: its vault for registration, its door for calls; starting a per-user
 * brain when none runs. Process: atsctl. */
#ifndef ATS_CTL_BRAIN_H
#define ATS_CTL_BRAIN_H

#include "brain/ctl/ctl.h"
#include "common/ipc.h"
#include "common/json.h"
#include "proto/brain.h"

/* ---- start.c ---- */
/* Whoever listens must be us or root, except where --socket names it: the directory may be
 * one that another user made before us. -ATS_E_PERM. */
ATS_NODISCARD int brain_peer_check(const struct ctl *c, int fd, const char *path,
    struct ats_err *err);
/* Connects to vault.sock. may_start: starts a brain when none answers, unless --no-start
 * or --socket; many processes may do this at once, one brain results. -ATS_E_NOENT when none
 * runs and none may be started. */
ATS_NODISCARD int brain_connect(struct ctl *c, bool may_start, int *ret_fd,
    struct ats_err *err);
/* Path of a program of ours: beside this one, else in ../libexec/ats from there, else in
 * LIBEXECDIR; brain looks in the same places. -ATS_E_NOENT. */
ATS_NODISCARD int brain_program(
    const char *name, char out[ATS_PATH_MAX], struct ats_err *err);
/* The environment that a program of ours gets; NULL-terminated, valid for ever. */
const char *const *brain_environment(void);

/* ---- ask.c ---- */
/* One request and its answer over a connection of brain_connect. a and b as the row's
 * signature has strings, else NULL. On OK m->s[0], m->s[1] hold the answer. FAILED
 * becomes the error it names; -ATS_E_EOF when brain went away. */
ATS_NODISCARD int brain_ask(int fd, enum ats_brain_msg type, const char *a, const char *b,
    struct ats_ipc_msg *m, struct ats_err *err);
/* The same, and waits as c->leave says. */
ATS_NODISCARD int brain_ask_leaving(const struct ctl *c, int fd, enum ats_brain_msg type,
    const char *a, const char *b, struct ats_ipc_msg *m, struct ats_err *err);
/* The same for ENROLL. */
ATS_NODISCARD int brain_enroll(int fd, const char *workspace, bool rotate,
    struct ats_ipc_msg *m, struct ats_err *err);

/* ---- door.c ---- */
#define DOOR_LINE_MAX (64u << 20)
struct door {
	int fd;			/* -1: closed */
	struct ats_buf in;
	size_t used;		/* bytes of the line that was given out last */
	size_t scanned;		/* of in, without a newline */
	uint64_t next_id;
	struct leave *leave;	/* borrowed from struct ctl, or NULL */
};
/* What stands in a line; p == NULL: absent. Valid until the next door_line/door_next. */
struct door_msg {
	struct ats_slice line, id, method, params, result, error;
};
ATS_NODISCARD int door_connect(struct door *d, const struct ctl *c, struct ats_err *err);
void door_close(struct door *d);	/* zeroed after: fd -1 */
/* Sends one request; params is a JSON object. fds go with its first byte. Blocks. */
ATS_NODISCARD int door_send(struct door *d, const char *method,
    const struct ats_buf *params, const int *fds, size_t nfds, uint64_t *ret_id,
    struct ats_err *err);
/* Reads what is there: 1, 0 at EOF, -ATS_E_AGAIN, -ATS_E_TOOBIG. Does not block. */
ATS_NODISCARD int door_fill(struct door *d);
/* The next whole line as it came, unread, with its newline behind it; false when there is none
 * yet. Valid as long as door_line's. */
bool door_take(struct door *d, struct ats_slice *ret_line);
/* The same, read: 1, 0 when there is none yet, -ATS_E_PROTO. */
ATS_NODISCARD int door_line(struct door *d, struct door_msg *ret, struct ats_err *err);
/* Waits for the next line; timeout_ms < 0: for ever. -ATS_E_TIMEOUT, -ATS_E_EOF. */
ATS_NODISCARD int door_next(struct door *d, int timeout_ms, struct door_msg *ret,
    struct ats_err *err);
bool door_is_answer(const struct door_msg *m, uint64_t id);
/* Turns an answer's error member into err; 0 if it has a result. */
ATS_NODISCARD int door_result(const struct door_msg *m, struct ats_err *err);
/* err is of a call whose sending before this one has had no answer: it says so, unless the engine
 * has found the call to be new, since it has no room for it. */
void door_sent_before(struct ats_err *err);
/* Request and answer, other lines dropped. ret->result is valid until the next call. */
ATS_NODISCARD int door_call(struct door *d, const char *method,
    const struct ats_buf *params, struct door_msg *ret, struct ats_err *err);

/* ---- session.c ---- */
struct session_ask {
	const char *session;	/* --session: an id, a name, or NULL */
	const char *workspace;	/* --workspace, or NULL: current directory */
	const char *key;	/* when session is NULL */
};
struct ctl_session {
	char id[64], sandbox[64];
	uint64_t nonce; /* kept over session_open again: calls stay the same calls */
	struct door door;
};
/* Registers, connects and attaches; starts brain if need be. Tries again while brain
 * restarts or ends, up to about 30 s. */
ATS_NODISCARD int session_open(struct ctl *c, const struct session_ask *ask,
    struct ctl_session *s, struct ats_err *err);
void session_done(struct ctl_session *s);
/* The same, but registers only. */
ATS_NODISCARD int session_register(struct ctl *c, const struct session_ask *ask,
    struct ctl_session *s, struct ats_err *err);
/* Where ask wants it, as the vault takes it. */
ATS_NODISCARD int session_workspace(const struct session_ask *ask, char out[ATS_PATH_MAX],
    struct ats_err *err);
/* The id of ask->session, an id (taken as it is) or a name in the workspace; makes nothing.
 * fd is from brain_connect. -ATS_E_UNKNOWN_ID. */
ATS_NODISCARD int session_find(int fd, const struct session_ask *ask,
    struct ctl_session *s, struct ats_err *err);
/* A door without a session, to a running brain only. */
ATS_NODISCARD int brain_door(struct ctl *c, struct door *d, struct ats_err *err);
ATS_NODISCARD int ctl_random(uint64_t *ret);	/* never 0; -ATS_E_SYS */

#endif
