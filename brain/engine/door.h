/* SPDX-License-Identifier: Apache-2.0
 *
 * The Unix socket where clients come in: accept, owner, lines, limits, back-pressure. */
#ifndef ATS_ENGINE_DOOR_H
#define ATS_ENGINE_DOOR_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/engine/batch.h"
#include "brain/engine/call_waiters.h"
#include "brain/engine/mcp_listen.h"

#define CLIENT_FDS_MAX 24
#define CLIENT_NONCE_MAX 64

struct event;

struct client {
	TAILQ_ENTRY(client) link;
	TAILQ_ENTRY(client) dirty_link;
	struct engine *e;
	int fd;
	struct event *readable, *writable;
	uint64_t uid;
	int pid;
	struct ats_buf in, out;
	size_t scanned;			/* of in, without a newline */
	uint64_t skipped;		/* bytes of a line that is too long */
	bool skipping;
	bool dead, dirty, paused, half_closed;
	int fds[CLIENT_FDS_MAX];	/* came, not yet named by a request */
	size_t nfds;
	struct session *session;	/* attached, or NULL */
	char nonce[CLIENT_NONCE_MAX + 1];
	const char *revision;		/* of MCP, agreed on; NULL before */
	bool initialised;		/* and the client has said that it is ready */
	struct asker asker;		/* of calls */
	size_t lists;			/* tools/list that wait (mcp_list.h) */
	struct mcp_listen_list listens;	/* subscriptions/listen that are open */
	size_t nlistens;
	bool watches;			/* wants to hear which of its calls wait for a person */
	struct batch_list batches;	/* whose answers are collected */
	size_t nbatched;
	bool subscribed;
	uint64_t events_lost;		/* not told of yet */
	char events_session[33], events_sandbox[33];	/* only what concerns these, or "" */
};

/* Takes the listening socket. Accepts from door_open on. Returns owned, or NULL without memory. */
struct door *door_new(struct engine *e, int listen_fd);
void door_free(struct door *d);
/* Writes what there is for clients now, as far as their sockets take it. */
void door_flush(struct door *d);
ATS_NODISCARD int door_open(struct door *d);
size_t door_count(const struct door *d);
/* The one that came after it (borrowed), NULL: the first; NULL behind the last. */
struct client *door_each(const struct door *d, struct client *after);
/* Buffers of clients that are empty hold no memory: it goes round, among the few that are at work.
 * lend gives b some, if b has none and the door has some left over. keep takes that of an empty b
 * back, where the heap would get it back in pieces. */
void door_lend(struct door *d, struct ats_buf *b);
void door_keep(struct door *d, struct ats_buf *b);
/* c->out has grown: written at the end of this turn. Drops a client over its bound. */
void client_flush(struct client *c);
/* Ends the connection now; c stays valid until the turn ends. */
void client_drop(struct client *c, const char *why);
/* Takes n descriptors in the order in which they came; -ATS_E_FIELD if fewer are here. */
ATS_NODISCARD int client_take_fds(struct client *c, int *ret, size_t n);
/* A session is closed: clients lose it. */
void door_session_closed(struct door *d, const struct session *s);

#endif
