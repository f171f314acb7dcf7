/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a session: one epoll descriptor for the runtime's loop, and what happens when it
 * is readable. Process: an agent runtime. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "brain/client/client.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"

#define LOSSES_MAX 4u		/* in a row */

bool
client_watch(struct ats *a, int op, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data = { .fd = fd } };

	return epoll_ctl(a->epoll, op, fd, &ev) == 0;
}

/* A child of the program's that was forked meanwhile may hold it, too: to close it does not take it
 * out, and a dead one would wake us for ever. */
void
client_close(struct ats *a, int *fd)
{
	if (*fd >= 0)
		(void)client_watch(a, EPOLL_CTL_DEL, *fd, 0);
	ats_fd_close(fd);
}

void
client_wake(struct ats *a, unsigned ms)
{
	struct itimerspec t = { .it_value = { .tv_sec = (time_t)(ms / 1000),
		.tv_nsec = ms == 0 ? 1 : (long)(ms % 1000) * 1000000 } };

	(void)timerfd_settime(a->timer, 0, &t, NULL);
}

void
client_fail(struct ats *a, int code, const char *fmt, ...)
{
	char text[sizeof(a->why.text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)ats_err_set(&a->why, code, "%s", text);
	client_close(a, &a->sock);
	client_close(a, &a->opener);
	a->state = CLIENT_FAILED;
	client_wake(a, 0);	/* calls are answered from ats_process alone */
}

void
client_lost(struct ats *a, const char *why)
{
	client_close(a, &a->sock);
	calls_unsent(a);
	/* Whoever ends brain does not want another one for a runtime that asks nothing. */
	if (a->state == CLIENT_OPEN && TAILQ_EMPTY(&a->calls))
		a->state = CLIENT_AWAY;
	else if (++a->losses > LOSSES_MAX)
		client_fail(a, ATS_E_EOF, "the connection to brain was lost again and again: %s",
		    why);
	else
		open_begin(a);
}

/* ---- making --------------------------------------------------------------------------- */

static bool
take_str(char **to, const char *from)
{
	if (from == NULL)
		return true;
	*to = strdup(from);
	return *to != NULL;
}

static int
take_workspace(struct ats *a, const char *dir)
{
	char cwd[ATS_PATH_MAX] = "/", out[2 * ATS_PATH_MAX];

	if (dir == NULL || dir[0] != '/')
		if (getcwd(cwd, sizeof(cwd)) == NULL)
			return ATS_ERR_SYSTEM;
	if (dir != NULL && dir[0] == '/')
		(void)snprintf(out, sizeof(out), "%s", dir);
	else
		(void)snprintf(out, sizeof(out), "%s%s%s", cwd, dir != NULL ? "/" : "",
		    dir != NULL ? dir : "");
	if (strlen(out) >= ATS_PATH_MAX)
		return ATS_ERR_ARG;
	return take_str(&a->workspace, out) ? 0 : ATS_ERR_MEMORY;
}

static int
take_options(struct ats *a, const struct ats_options *o)
{
	const char *url = o->url != NULL ? o->url : getenv("REMOTE_TOOLS_URL");

	if (o->size != sizeof(*o) || url == NULL || url[0] == '\0' ||
	    strlen(url) >= ATS_PATH_MAX || (o->flags & ~ATS_NO_START) != 0)
		return ATS_ERR_ARG;
	if (o->session != NULL && (o->session[0] == '\0' || o->session[0] == '-' ||
	    strlen(o->session) > CLIENT_name_bytes))
		return ATS_ERR_ARG;
	a->flags = o->flags;
	a->ours = o->session == NULL;
	if (!take_str(&a->url, url) || !take_str(&a->name, o->session) ||
	    !take_str(&a->socket, o->socket) || !take_str(&a->atsctl, o->atsctl))
		return ATS_ERR_MEMORY;
	return take_workspace(a, o->workspace);
}

static int
make_fds(struct ats *a)
{
	uint64_t r;

	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (a->epoll < 0 || a->timer < 0 || getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r) ||
	    !client_watch(a, EPOLL_CTL_ADD, a->timer, EPOLLIN))
		return ATS_ERR_SYSTEM;
	(void)snprintf(a->nonce, sizeof(a->nonce), "l-%016llx", (unsigned long long)r);
	return 0;
}

static void
drop(struct ats *a)
{
	ats_fd_close(&a->sock);
	ats_fd_close(&a->opener);
	ats_fd_close(&a->timer);
	ats_fd_close(&a->epoll);
	ats_buf_done(&a->said);
	ats_buf_done(&a->in);
	ats_buf_done(&a->out);
	free(a->url);
	free(a->workspace);
	free(a->name);
	free(a->socket);
	free(a->atsctl);
	free(a);
}

int
ats_start(const struct ats_options *o, struct ats **ret)
{
	static const struct ats_options none = { .size = sizeof(none) };
	struct ats *a;
	int rc;

	ats_fault_process("libats");
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return ATS_ERR_MEMORY;
	a->epoll = a->timer = a->opener = a->sock = -1;
	a->next_nr = 1;
	TAILQ_INIT(&a->calls);
	ats_buf_init(&a->said, CLIENT_opener_bytes);
	ats_buf_init(&a->in, CLIENT_line_bytes + CLIENT_FILL);
	ats_buf_init(&a->out, CLIENT_request_bytes + 2u * CLIENT_FILL);
	rc = take_options(a, o != NULL ? o : &none);
	if (rc == 0)
		rc = make_fds(a);
	if (rc < 0) {
		drop(a);
		return rc;
	}
	open_begin(a);
	*ret = a;
	return 0;
}

void
ats_close(struct ats *a)
{
	if (a == NULL)
		return;
	if (a->ours && a->session[0] != '\0')
		open_close_session(a);
	if (a->state != CLIENT_FAILED)
		client_fail(a, ATS_E_CANCELLED, "the session was closed");
	a->working = true;
	while (!TAILQ_EMPTY(&a->calls))		/* an answer may ask for another */
		calls_end_all(a);
	drop(a);
}

/* ---- being asked ----------------------------------------------------------------------- */

int
ats_state(const struct ats *a)
{
	if (a->state == CLIENT_FAILED)
		return ATS_ERR_OPEN;
	return a->state == CLIENT_OPEN || a->state == CLIENT_AWAY;
}

const char *
ats_why(const struct ats *a)
{
	return a->why.text;
}

const char *
ats_session(const struct ats *a)
{
	return a->session;
}

const char *
ats_workspace(const struct ats *a)
{
	return a->real_workspace;
}

int
ats_fd(const struct ats *a)
{
	return a->epoll;
}

/* ---- the loop's turn --------------------------------------------------------------------- */

static void
on_timer(struct ats *a)
{
	uint64_t ticks;

	(void)!read(a->timer, &ticks, sizeof(ticks));
	if (a->state >= CLIENT_OPEN)
		return;
	if (ats_clock_ms() >= a->open_by_ms)
		client_fail(a, ATS_E_TIMEOUT, "brain does not answer");
	else if (a->state == CLIENT_CONNECT)
		open_connect(a);
	else
		client_wake(a, (unsigned)(a->open_by_ms - ats_clock_ms()));
}

static void
on_event(struct ats *a, int fd)
{
	if (fd == a->timer)
		on_timer(a);
	else if (fd == a->opener && fd >= 0)
		open_on_said(a);
	else if (fd == a->sock && fd >= 0)
		calls_on_readable(a);
}

int
ats_process(struct ats *a)
{
	struct epoll_event ev[3];
	int n;

	if (a->working)
		return ats_state(a);
	a->working = true;
	n = epoll_wait(a->epoll, ev, 3, 0);
	for (int i = 0; i < n; i++)
		on_event(a, ev[i].data.fd);
	if (a->stale)
		calls_end_some(a);
	if (a->state == CLIENT_FAILED)
		calls_end_all(a);
	else if (a->sock >= 0)
		calls_pump(a);
	a->working = false;
	return ats_state(a);
}
