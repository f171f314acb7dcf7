/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to libats: a session and its calls. Process: an agent runtime, which is not ours; one
 * thread at a time. */
#ifndef ATS_CLIENT_CLIENT_H
#define ATS_CLIENT_CLIENT_H

#include <sys/queue.h>

#include "brain/client/ats.h"
#include "common/json.h"
#include "common/path.h"

#define CLIENT_LIMIT(name, value, doc) CLIENT_##name = (value),
enum client_limit {
#include "brain/client/limits.def"
	CLIENT_FILL = 256 << 10
};
#undef CLIENT_LIMIT

enum client_state {
	CLIENT_OPENER,		/* atsctl registers the session, and starts brain if need be */
	CLIENT_CONNECT,		/* the door has no room for us yet */
	CLIENT_ATTACH,		/* its first two answers are awaited */
	CLIENT_OPEN,
	CLIENT_AWAY,		/* brain left while nothing was asked; the next call opens it */
	CLIENT_FAILED,
};
enum call_kind { CALL_TOOL, CALL_VALIDATE, CALL_HOOK };

struct client_call {
	TAILQ_ENTRY(client_call) link;	/* in the order they were asked for */
	uint64_t nr;			/* id of its request, on every connection */
	enum call_kind kind;
	char *line, *call_id;		/* owned */
	size_t line_len;
	ats_done_fn *done;
	void *arg;
	bool queued;			/* given to this connection */
	bool maybe;			/* a whole request has left us, once: it may have run */
	bool cancelled;
	uint64_t end_at;		/* where its line ends in what this connection is sent */
	unsigned tries;
};
TAILQ_HEAD(client_calls, client_call);

struct ats {
	enum client_state state;
	int epoll, timer, opener, sock;	/* -1: none */
	unsigned flags;
	char *url, *workspace, *name, *socket, *atsctl;	/* owned; as asked for */
	bool ours;			/* the session was made for this */
	bool working;			/* in ats_process */
	bool stale;			/* some calls may have to be answered by us */
	bool out_wanted;		/* the socket is watched for room */
	char session[64], sandbox[64], real_workspace[ATS_PATH_MAX], door[ATS_PATH_MAX];
	char nonce[24];
	uint64_t open_by_ms, next_nr, attach_nr, look_nr, given, written;
	unsigned losses;		/* in a row, without an answer between them */
	struct ats_buf said, in, out;
	size_t scanned;			/* of in, without a newline */
	struct client_calls calls;
	size_t ncalls, waiting;		/* and the bytes of their requests */
	struct ats_err why;
};

/* ---- open.c: a session found or made, the door, the first answers ---------------------- */
/* Starts the opener, atsctl; the state says what is waited for. */
void open_begin(struct ats *a);
void open_on_said(struct ats *a);	/* the opener's pipe is readable */
void open_connect(struct ats *a);	/* to the door; again in a moment when it has no room */
/* An answer that may be one of the first two. */
void open_take(struct ats *a, uint64_t nr, struct ats_slice result, struct ats_slice error);
/* Has atsctl close the session, and waits for nothing. */
void open_close_session(struct ats *a);
/* ---- session.c ------------------------------------------------------------------------ */
/* Makes ats_fd readable after so many ms (0: at once). */
void client_wake(struct ats *a, unsigned ms);
/* epoll_ctl(2) by op, of what ats_fd stands for. False: it failed. */
bool client_watch(struct ats *a, int op, int fd, uint32_t events);
void client_close(struct ats *a, int *fd);	/* one that is watched, perhaps */
/* The session is lost for good: every call is answered. err may be &a->why. */
void client_fail(struct ats *a, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* The connection is lost: a new one is made, calls go on over it. */
void client_lost(struct ats *a, const char *why);
/* ---- calls.c --------------------------------------------------------------------------- */
/* Gives the connection what it has room for, and writes. */
void calls_pump(struct ats *a);
/* The door's socket has something: answers are given, or the connection is lost. */
void calls_on_readable(struct ats *a);
/* The connection is gone: what was given to it is to be given again, or has had its tries. */
void calls_unsent(struct ats *a);
/* Answers what is not sent again. */
void calls_end_some(struct ats *a);
/* Answers all, as not started or unknown. */
void calls_end_all(struct ats *a);
/* One that is not answered, by the number that ats_send_tool gave; NULL. */
struct client_call *calls_find(struct ats *a, uint64_t nr);
/* Behind the call itself, on the connection that has it. */
void calls_give_cancel(struct ats *a, struct client_call *c);
/* Appends one request to out; params is a whole object. 0 or -ATS_E_*. */
ATS_NODISCARD int calls_request(struct ats_buf *out, uint64_t nr, const char *method,
    struct ats_slice params);
/* ---- answer.c --------------------------------------------------------------------------- */
/* Fills *ret from a result or an error; the texts are in text (cleared here), the rest borrowed.
 * false: no memory. */
bool answer_read(enum call_kind kind, struct ats_slice result, struct ats_slice error,
    struct ats_buf *text, char code[40], struct ats_answer *ret);

#endif
