/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection of the door: lines in, lines out, descriptors, bounds. Runs in the engine;
 * everything that comes is the client's. */
#include "brain/engine/client.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/hooks.h"
#include "brain/engine/mcp_list.h"
#include "brain/engine/rpc.h"
#include "brain/engine/upgrade.h"
#include "common/fd.h"
#include "common/log.h"

#define READ_A_TURN ((64u << 10) - 1)	/* with its NUL what an empty buffer keeps */
#define SKIP_MAX (256u << 20)		/* of one line that is too long */
#define OUT_HIGH (4u << 20)		/* above it nothing more is read from this client */
#define OUT_LOW (1u << 20)
#define OUT_SMALL (64u << 10)		/* the door's to keep */
#define OUT_KEEP (1u << 20)		/* and for KEEP_S after an answer */
#define KEEP_S 1

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

struct client *
client_new(struct engine *e, int fd, uint64_t uid, int pid)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		(void)close(fd);
		return NULL;
	}
	c->e = e;
	c->fd = fd;
	ats_fd_widen(fd);
	c->uid = uid;
	c->pid = pid;
	client_asker_init(c);
	TAILQ_INIT(&c->batches);
	TAILQ_INIT(&c->listens);
	ats_buf_init(&c->in, e->set.line_bytes + 2 * READ_A_TURN);
	ats_buf_init(&c->out, e->set.client_out_bytes);
	c->readable = event_new(e->base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->writable = event_new(e->base, fd, EV_WRITE, on_writable, c);
	if (c->readable == NULL || c->writable == NULL || event_add(c->readable, NULL) < 0) {
		client_free(c);
		return NULL;
	}
	return c;
}

static void
shut(struct client *c)
{
	size_t i;

	if (c->readable != NULL)
		event_free(c->readable);
	if (c->writable != NULL)
		event_free(c->writable);
	c->readable = c->writable = NULL;
	for (i = 0; i < c->nfds; i++)
		(void)close(c->fds[i]);
	c->nfds = 0;
	ats_fd_close(&c->fd);
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	shut(c);
	batch_drop_all(c);
	mcp_listens_drop(c);
	ats_buf_done(&c->in);
	ats_buf_done(&c->out);
	free(c);
}

void
client_drop(struct client *c, const char *why)
{
	if (c->dead)
		return;
	c->dead = true;
	ats_log(ATS_LOG_DEBUG, "client gone", "uid=%llu pid=%d why=\"%s\"",
	    (unsigned long long)c->uid, c->pid, why);
	events_unsubscribe(c);
	shut(c);
	door_bury(c->e->door, c);
	mcp_lists_client_gone(c);
	hooks_client_gone(c);
	call_asker_gone(&c->asker);
	upgrade_client_gone(c);
	c->session = NULL;
	engine_idle_check(c->e);
}

int
client_take_fds(struct client *c, int *ret, size_t n)
{
	if (n > c->nfds)
		return -ATS_E_FIELD;
	memcpy(ret, c->fds, n * sizeof(*ret));
	c->nfds -= n;
	memmove(c->fds, c->fds + n, c->nfds * sizeof(*c->fds));
	return 0;
}

void
client_flush(struct client *c)
{
	if (c->dead || c->out.len == 0)
		return;
	/* With the socket full, on_writable goes on. */
	if (!event_pending(c->writable, EV_WRITE, NULL))
		door_dirty(c->e->door, c);
}

/* ---- in -------------------------------------------------------------------------- */

static void
too_long(struct client *c)
{
	struct ats_slice none = { NULL, 0 };

	c->skipping = true;
	c->skipped = c->in.len;
	ats_buf_done(&c->in);
	c->scanned = 0;
	rpc_error(c, none, RPC_INVALID, "a line of more than %llu bytes",
	    (unsigned long long)c->e->set.line_bytes);
}

/* Passes the rest of a line that is too long. */
static void
skip(struct client *c)
{
	char *nl = memchr(c->in.data, '\n', c->in.len);
	size_t n = nl == NULL ? c->in.len : (size_t)(nl - c->in.data) + 1;

	c->skipped += n;
	ats_buf_consume(&c->in, n);
	c->skipping = nl == NULL;
	if (c->skipped > SKIP_MAX)
		client_drop(c, "a line without end");
}

static void
one_line(struct client *c, size_t n)
{
	struct ats_slice line = { c->in.data, n };
	size_t blank = 0;

	while (blank < n && (line.p[blank] == ' ' || line.p[blank] == '\t' ||
	        line.p[blank] == '\r'))
		blank++;
	if (blank < n)
		rpc_line(c, line);
	if (c->dead)
		return;
	ats_buf_consume(&c->in, n + 1);
	c->scanned = 0;
}

static void
process(struct client *c)
{
	char *nl;

	while (!c->dead && c->in.len > 0) {
		if (c->skipping) {
			skip(c);
			continue;
		}
		if (c->out.len > OUT_HIGH)
			break;		/* goes on when the client has read */
		nl = memchr(c->in.data + c->scanned, '\n', c->in.len - c->scanned);
		if (nl != NULL && (size_t)(nl - c->in.data) <= c->e->set.line_bytes) {
			one_line(c, (size_t)(nl - c->in.data));
		} else if (nl != NULL || c->in.len > c->e->set.line_bytes) {
			too_long(c);
			if (nl != NULL)
				c->skipping = false;
		} else {
			c->scanned = c->in.len;
			break;
		}
	}
	if (c->dead)
		return;
	if (c->in.len == 0) {
		door_keep(c->e->door, &c->in);
		/* Descriptors come with the line that names them. */
		if (c->nfds > 0)
			client_drop(c, "descriptors that no request named");
	}
}

static void
pause_or_resume(struct client *c)
{
	if (c->dead || c->half_closed)
		return;
	if (!c->paused && c->out.len > OUT_HIGH) {
		c->paused = true;
		(void)event_del(c->readable);
	} else if (c->paused && c->out.len < OUT_LOW) {
		c->paused = false;
		(void)event_add(c->readable, NULL);
	}
}

static bool
waits_for_nothing(const struct client *c)
{
	return c->asker.nwaiters == 0 && c->lists == 0;
}

/* The peer closed one direction, or all. */
static void
on_eof(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };

	if (poll(&p, 1, 0) != 1 || (p.revents & (POLLHUP | POLLERR)) != 0 ||
	    (waits_for_nothing(c) && c->out.len == 0)) {
		client_drop(c, "closed");
		return;
	}
	c->half_closed = true;
	(void)event_del(c->readable);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	size_t nfds = 0;
	ssize_t n;
	char *to;

	if ((what & EV_TIMEOUT) != 0) {
		(void)event_remove_timer(c->readable);
		if (c->out.len == 0)
			door_keep(c->e->door, &c->out);
		return;
	}
	door_lend(c->e->door, &c->in);
	if (ats_buf_reserve(&c->in, READ_A_TURN, &to) < 0) {
		client_drop(c, "no memory for a line");
		return;
	}
	n = ats_fd_recv(fd, to, READ_A_TURN, c->fds + c->nfds,
	    CLIENT_FDS_MAX - c->nfds < ATS_FD_PASS_MAX ? CLIENT_FDS_MAX - c->nfds :
							 ATS_FD_PASS_MAX,
	    &nfds);
	if (n <= 0 && c->in.len == 0)
		door_keep(c->e->door, &c->in);
	if (n == -ATS_E_AGAIN)
		return;
	if (n == 0) {
		on_eof(c);
		return;
	}
	if (n < 0) {
		client_drop(c, n == -ATS_E_PROTO ? "too many descriptors" : "read failed");
		return;
	}
	c->nfds += nfds;
	ats_buf_commit(&c->in, (size_t)n);
	door_lend(c->e->door, &c->out);
	process(c);
	if (!c->dead && c->out.len == 0 && c->out.cap <= OUT_SMALL)
		door_keep(c->e->door, &c->out);
	pause_or_resume(c);
}

/* ---- out ------------------------------------------------------------------------- */

/* An answer goes into pages that are there, when the last one was not long ago. */
static void
keep_memory(struct client *c)
{
	static const struct timeval a_while = { KEEP_S, 0 };

	if (c->out.cap <= OUT_SMALL || c->out.cap > OUT_KEEP || c->paused || c->half_closed ||
	    event_add(c->readable, &a_while) < 0)
		door_keep(c->e->door, &c->out);
}

static void
write_out(struct client *c)
{
	ssize_t n;

	if (c->dead)
		return;
	while (c->out.len > 0) {
		n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			(void)event_add(c->writable, NULL);
			break;
		}
		if (n < 0) {
			client_drop(c, "write failed");
			return;
		}
		ats_buf_consume(&c->out, (size_t)n);
	}
	if (c->out.len == 0) {
		keep_memory(c);
		events_drained(c);
		if (c->half_closed && waits_for_nothing(c))
			client_drop(c, "closed");
	}
}

void
client_write(struct client *c)
{
	write_out(c);
	if (c->dead)
		return;
	/* Lines that wait are gone on with in a turn of their own. */
	if (c->paused)
		(void)event_add(c->writable, NULL);
	else
		pause_or_resume(c);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	bool was_paused = c->paused;

	(void)fd;
	(void)what;
	write_out(c);
	pause_or_resume(c);
	if (c->dead || !was_paused || c->paused)
		return;
	process(c);
	pause_or_resume(c);
}
