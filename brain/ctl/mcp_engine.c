/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's side of atsctl mcp: lines to it, lines from it, and another brain when one is lost.
 * Process: atsctl; what the engine says is trusted, what it passes on is a sandbox's. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/leave.h"
#include "brain/ctl/mcp_relay.h"
#include "common/clock.h"
#include "proto/unsure.h"

#define RETURN_MS 30000u	/* for a brain that somebody else starts again */
#define LOSSES_MAX 20u		/* in a row without an answer between them */

bool
mcp_flush_engine(struct mcp_relay *r)
{
	const char *nl;
	ssize_t n;

	while (r->to_engine.len > r->sent) {
		n = ats_fd_send(r->session.door.fd, r->to_engine.data + r->sent,
		    r->to_engine.len - r->sent, NULL, 0);
		if (n == -ATS_E_AGAIN)
			break;
		if (n < 0)
			return false;
		r->sent += (size_t)n;
		/* Whole lines leave the queue; a torn one is for the next connection. */
		nl = memrchr(r->to_engine.data, '\n', r->sent);
		if (nl != NULL) {
			size_t whole = (size_t)(nl - r->to_engine.data) + 1;

			ats_buf_consume(&r->to_engine, whole);
			r->sent -= whole;
		}
	}
	return true;
}

/* Keeps the notifications that did not leave: requests are in lines. */
static int
keep_notifications(struct mcp_relay *r, struct ats_buf *out)
{
	const char *p = r->to_engine.data, *end = p + r->to_engine.len, *nl;
	int rc = 0;

	while (rc == 0 && p < end && (nl = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		if (mcp_is_notification(p, (size_t)(nl - p)))
			rc = ats_buf_add(out, p, (size_t)(nl - p) + 1);
		p = nl + 1;
	}
	return rc;
}

static void
end_at_once(int signo)
{
	(void)signo;
	_exit(CTL_OK);
}

/* While brain is being reached nothing runs that could be cancelled: a signal ends us, and so does
 * the end of stdin, as long as it is not seen by the loop. */
int
mcp_open_session(struct mcp_relay *r, struct ats_err *err)
{
	struct sigaction sa = { .sa_handler = end_at_once };
	struct leave leave = { .end_ms = r->end_ms, .owes = mcp_awaits(&r->lines) ||
		r->from_client.len > 0 || r->to_client.len > 0 };
	uint64_t end = ats_clock_ms() + RETURN_MS;
	sigset_t set, old;
	int rc;

	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_UNBLOCK, &set, &old);
	r->c->leave = &leave;
	rc = session_open(r->c, &r->ask, &r->session, err);
	while (rc == -ATS_E_NOENT && r->losses > 0 && ats_clock_ms() < end) {
		rc = leave_poll(&leave, NULL, 100, err);
		if (rc == 0)
			rc = session_open(r->c, &r->ask, &r->session, err);
	}
	r->c->leave = r->session.door.leave = NULL;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc == 0 && ats_fd_nonblock(r->session.door.fd, true) < 0)
		rc = ats_err_sys(err, "O_NONBLOCK");
	return rc;
}

int
mcp_reconnect(struct mcp_relay *r)
{
	struct ats_err err = { 0 };
	struct ats_buf again;
	int rc;

	session_done(&r->session);
	ats_buf_init(&again, MCP_QUEUE_MAX);
	rc = mcp_lose_nulls(&r->lines, &r->to_client);
	if (rc == 0 && r->asks.rounds.watches)
		rc = rounds_watch(&r->asks.rounds, &again);
	if (rc == 0)
		rc = mcp_replay(&r->lines, &again);
	if (rc == 0)
		rc = keep_notifications(r, &again);
	ats_buf_done(&r->to_engine);
	r->to_engine = again;
	r->sent = 0;
	if (rc < 0)
		return ctl_fail(CTL_NOT_RUN, "mcp: %s", ats_err_text(rc));
	r->losses++;
	rc = r->losses > LOSSES_MAX ?
	    ats_err_set(&err, ATS_E_EOF, "brain is lost again and again; see its log") :
	    mcp_open_session(r, &err);
	if (rc == 0) {
		asks_brain_changed(&r->asks);
		return 0;
	}
	(void)!mcp_fail_all(&r->lines, &r->to_client, err.text);
	mcp_end_soon(r, 0);
	return ctl_fail_err(r->c, CTL_NOT_RUN, &err);
}

/* What the client's pipe takes at once needs no place in the queue. n bytes at p; returns how many
 * of them are the client's. */
static size_t
pass_now(struct mcp_relay *r, const char *p, size_t n)
{
	size_t done = 0;
	ssize_t put;

	while (r->to_client.len == 0 && !r->gone && done < n) {
		put = io_write(&r->out, p + done, n - done);
		if (put == -ATS_E_AGAIN)
			break;
		r->gone = put < 0;
		done = r->gone ? n : done + (size_t)put;
	}
	return done;
}

/* Room comes first: what is forgotten as answered must have a place in the queue, and a line
 * in it is whole. Without room the connection is given up, and the request sent again. */
static int
pass_line(struct mcp_relay *r, struct ats_slice line)
{
	enum mcp_fate fate;
	size_t done;
	char *to;
	int rc = ats_buf_reserve(&r->to_client, line.n + sizeof(ATS_UNSURE) + 2, &to);

	if (rc == 0)
		rc = rounds_from_engine(&r->asks.rounds, &r->lines, line, &r->to_client);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	fate = mcp_from_engine(&r->lines, line);
	if (fate == MCP_RELISTEN)
		return mcp_relistened(line, &r->to_client);
	if (fate == MCP_UNSURE)
		return mcp_unsure(line, &r->to_client);
	if (fate != MCP_PASS)
		return fate == MCP_DROP ? 0 : -ATS_E_PROTO;
	line.n++;			/* its newline is behind it */
	done = pass_now(r, line.p, line.n);
	memcpy(to, line.p + done, line.n - done);
	ats_buf_commit(&r->to_client, line.n - done);
	return 0;
}

bool
mcp_read_engine(struct mcp_relay *r)
{
	struct ats_slice line;
	int filled;

	if (!r->engine_came || r->to_client.len >= MCP_QUEUE_HIGH)
		return true;
	r->engine_came = false;
	filled = door_fill(&r->session.door);
	if (filled <= 0)
		return filled == -ATS_E_AGAIN;
	while (door_take(&r->session.door, &line)) {
		r->losses = 0;
		if (pass_line(r, line) < 0)
			return false;
	}
	return true;
}
