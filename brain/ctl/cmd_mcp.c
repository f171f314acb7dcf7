/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl mcp: an MCP server on stdin and stdout. It relays whole lines between the client
 * and the engine's door. When brain is lost it is started again, the same session and
 * nonce are attached, the handshake is replayed and open requests are sent again: the
 * engine knows them by nonce and id, so that nothing runs twice and the client sees a
 * pause. Process: atsctl. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/io.h"
#include "brain/ctl/mcp_asks.h"
#include "brain/ctl/mcp_lines.h"
#include "brain/ctl/mcp_meta.h"
#include "common/clock.h"

#define READ_BYTES (64u << 10)
#define QUEUE_HIGH (8u << 20)	/* queued bytes before the other side is not read */
#define QUEUE_MAX (160u << 20)
#define GRACE_MS 2000u		/* from the end of stdin to cancelling what is open */
#define FLUSH_MS 1000u
#define RETURN_MS 30000u	/* for a brain that somebody else starts again */
#define LOSSES_MAX 20u		/* in a row without an answer between them */

struct relay_mcp {
	struct ctl *c;
	struct session_ask ask;
	struct ctl_session session;
	struct io in, out;
	struct ats_buf from_client;	/* not yet a whole line */
	struct ats_buf to_engine, to_client;
	size_t sent;			/* of to_engine's first line */
	size_t scanned;			/* of from_client, without a newline */
	bool skipping;			/* the rest of a line that is too long */
	struct mcp_lines lines;
	struct mcp_asks asks;
	int signals;
	/* What poll saw: each is read once for it. */
	bool signal_came, client_came, engine_came;
	bool eof, gone;			/* no more from the client; it does not read */
	uint64_t end_ms;		/* when open requests are cancelled, 0: not yet */
	unsigned losses;
};

static void
end_soon(struct relay_mcp *r, uint64_t in_ms)
{
	uint64_t at = ats_clock_ms() + in_ms;

	if (r->end_ms == 0 || at < r->end_ms)
		r->end_ms = at;
}

/* ---- engine --------------------------------------------------------------------- */
/* False: the connection is lost. */
static bool
flush_engine(struct relay_mcp *r)
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
keep_notifications(struct relay_mcp *r, struct ats_buf *out)
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
leave(int signo)
{
	(void)signo;
	_exit(CTL_OK);
}

/* While brain is being reached nothing runs that could be cancelled: a signal ends us. */
static int
open_session(struct relay_mcp *r, struct ats_err *err)
{
	struct sigaction sa = { .sa_handler = leave };
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
	rc = session_open(r->c, &r->ask, &r->session, err);
	while (rc == -ATS_E_NOENT && r->losses > 0 && ats_clock_ms() < end) {
		(void)poll(NULL, 0, 100);
		rc = session_open(r->c, &r->ask, &r->session, err);
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc == 0 && ats_fd_nonblock(r->session.door.fd, true) < 0)
		rc = ats_err_sys(err, "O_NONBLOCK");
	return rc;
}

static int
reconnect(struct relay_mcp *r)
{
	struct ats_err err = { 0 };
	struct ats_buf again;
	int rc;

	session_done(&r->session);
	ats_buf_init(&again, QUEUE_MAX);
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
	    open_session(r, &err);
	if (rc == 0) {
		asks_brain_changed(&r->asks);
		return 0;
	}
	(void)!mcp_fail_all(&r->lines, &r->to_client, err.text);
	end_soon(r, 0);
	return ctl_fail_err(r->c, CTL_NOT_RUN, &err);
}

/* Room comes first: what is forgotten as answered must have a place in the queue, and a line
 * in it is whole. Without room the connection is given up, and the request sent again. */
static int
pass_line(struct relay_mcp *r, struct ats_slice line)
{
	enum mcp_fate fate;
	char *to;
	int rc = ats_buf_reserve(&r->to_client, line.n + 1, &to);

	if (rc == 0)
		rc = rounds_from_engine(&r->asks.rounds, &r->lines, line, &r->to_client);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	fate = mcp_from_engine(&r->lines, line);
	if (fate == MCP_RELISTEN)
		return mcp_relistened(line, &r->to_client);
	if (fate != MCP_PASS)
		return fate == MCP_DROP ? 0 : -ATS_E_PROTO;
	memcpy(to, line.p, line.n);
	to[line.n] = '\n';
	ats_buf_commit(&r->to_client, line.n + 1);
	return 0;
}

/* False: the connection is lost. */
static bool
read_engine(struct relay_mcp *r)
{
	struct ats_slice line;
	int filled;

	if (!r->engine_came || r->to_client.len >= QUEUE_HIGH)
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

/* ---- client --------------------------------------------------------------------- */
static void
flush_client(struct relay_mcp *r)
{
	ssize_t n;

	while (r->to_client.len > 0 && !r->gone) {
		n = io_write(&r->out, r->to_client.data, r->to_client.len);
		if (n == -ATS_E_AGAIN)
			return;
		if (n < 0) {
			r->gone = true;
			return;
		}
		ats_buf_consume(&r->to_client, (size_t)n);
	}
}

/* Whether the request that came last is one that may be asked about in its answer. */
static int
shows_dialogs(struct relay_mcp *r)
{
	const struct mcp_request *last = TAILQ_LAST(&r->lines.pending, mcp_request_list);
	struct ats_json_val params;
	struct mcp_meta meta;

	if (last == NULL || !last->forms)
		return 0;
	if (r->asks.state == ASKS_OFF &&
	    ats_json_get((struct ats_slice){ last->line, last->len }, "params", &params)) {
		mcp_meta_read(params.raw, &meta);
		asks_client_shows(&r->asks, meta.info);
	}
	return r->asks.rounds.watches ? 0 : rounds_watch(&r->asks.rounds, &r->to_engine);
}

static int
take_line(struct relay_mcp *r, const char *line, size_t n)
{
	struct round_decision said;
	int rc;

	while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
		n--;
	if (n == 0 || asks_take(&r->asks, line, n))
		return 0;
	rc = rounds_from_client(&r->asks.rounds, &r->lines, line, n, &r->to_client, &r->to_engine,
	    &said);
	if (rc > 0)
		asks_decide(&r->asks, &said);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = mcp_from_client(&r->lines, line, n);
	if (rc == 0)
		rc = shows_dialogs(r);
	if (rc == 0 && r->lines.initialize != NULL && r->lines.initialized != NULL)
		asks_client_ready(&r->asks, (struct ats_slice){ r->lines.initialize,
		    strlen(r->lines.initialize) });
	if (rc == 0)
		rc = ats_buf_add(&r->to_engine, line, n);
	if (rc == 0)
		rc = ats_buf_add_char(&r->to_engine, '\n');
	return rc;
}

static int
refuse_long_line(struct relay_mcp *r)
{
	r->skipping = true;
	ats_buf_reset(&r->from_client);
	r->scanned = 0;
	return ats_buf_addf(&r->to_client,
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":"
	    "-32600,\"message\":\"line over %u bytes\"}}\n",
	    MCP_LINE_MAX);
}

static int
take_lines(struct relay_mcp *r)
{
	struct ats_buf *b = &r->from_client;
	int rc = 0;

	while (rc == 0 && mcp_lines_room(&r->lines)) {
		const char *nl = memchr(b->data + r->scanned, '\n', b->len - r->scanned);
		size_t n;

		if (nl == NULL) {
			r->scanned = b->len;
			if (r->skipping)
				ats_buf_consume(b, b->len);
			else if (b->len > MCP_LINE_MAX)
				return refuse_long_line(r);
			r->scanned = b->len;
			return 0;
		}
		n = (size_t)(nl - b->data);
		if (!r->skipping)
			rc = take_line(r, b->data, n);
		r->skipping = false;
		ats_buf_consume(b, n + 1);
		r->scanned = 0;
	}
	return rc;
}

static int
read_client(struct relay_mcp *r)
{
	char *to;
	ssize_t n;
	int rc = take_lines(r);	/* those that waited for room */

	if (rc < 0 || !r->client_came || r->to_engine.len >= QUEUE_HIGH ||
	    !mcp_lines_room(&r->lines))
		return rc;
	r->client_came = false;
	rc = ats_buf_reserve(&r->from_client, READ_BYTES, &to);
	if (rc < 0)
		return rc;
	n = io_read(&r->in, to, READ_BYTES);
	if (n == -ATS_E_AGAIN)
		return 0;
	if (n > 0) {
		ats_buf_commit(&r->from_client, (size_t)n);
		return take_lines(r);
	}
	/* A last line without a newline is a line all the same. */
	if (r->from_client.len > 0 && !r->skipping)
		rc = take_line(r, r->from_client.data, r->from_client.len);
	ats_buf_reset(&r->from_client);
	r->eof = true;
	end_soon(r, GRACE_MS);
	return rc;
}

/* ---- loop ----------------------------------------------------------------------- */
static void
on_signal(struct relay_mcp *r)
{
	struct signalfd_siginfo si;

	while (r->signal_came && read(r->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		end_soon(r, 0);
	r->signal_came = false;
}

static bool
has_ended(const struct relay_mcp *r)
{
	if (r->gone || (r->end_ms != 0 && ats_clock_ms() >= r->end_ms))
		return true;
	return r->eof && !mcp_awaits(&r->lines) && r->to_client.len == 0 &&
	       r->to_engine.len == 0;
}

static void
wait_for_work(struct relay_mcp *r)
{
	bool read_in =
	    !r->eof && r->to_engine.len < QUEUE_HIGH && mcp_lines_room(&r->lines);
	short door = (short)((r->to_client.len < QUEUE_HIGH ? POLLIN : 0) |
	    (r->to_engine.len > r->sent ? POLLOUT : 0));
	struct pollfd p[] = {
		{ .fd = r->signals, .events = POLLIN },
		{ .fd = read_in ? r->in.fd : -1, .events = POLLIN },
		{ .fd = door != 0 ? r->session.door.fd : -1, .events = door },
		{ .fd = r->out.fd, .events = r->to_client.len > 0 ? POLLOUT : 0 },
		{ .fd = r->to_client.len < QUEUE_HIGH ? r->asks.fd : -1, .events = POLLIN },
	};
	uint64_t now = ats_clock_ms();
	int wait = r->end_ms == 0 ? -1 : r->end_ms > now ? (int)(r->end_ms - now) : 0;
	int ask = asks_wait_ms(&r->asks);

	if (ask >= 0 && (wait < 0 || ask < wait))
		wait = ask;
	if (poll(p, ATS_ARRAY_LEN(p), wait) < 0)
		return;
	r->signal_came = p[0].revents != 0;
	r->client_came = p[1].revents != 0;
	r->engine_came = p[2].revents != 0;
	if (p[3].revents & (POLLERR | POLLHUP | POLLNVAL))
		r->gone = true;
}

/* A whole line stands in from_client, and answers have made room for it. */
static bool
lines_wait(const struct relay_mcp *r)
{
	return mcp_lines_room(&r->lines) && r->from_client.len > r->scanned &&
	    memchr(r->from_client.data, '\n', r->from_client.len) != NULL;
}

/* Cancels what is open and gives the line a moment to leave. */
static void
finish(struct relay_mcp *r)
{
	uint64_t end = ats_clock_ms() + FLUSH_MS, now;

	if (r->session.door.fd < 0 || mcp_cancel_all(&r->lines, &r->to_engine) < 0)
		return;
	while (flush_engine(r) && r->to_engine.len > r->sent &&
	       (now = ats_clock_ms()) < end) {
		struct pollfd p = { .fd = r->session.door.fd, .events = POLLOUT };

		(void)poll(&p, 1, (int)(end - now));
	}
	flush_client(r);
}

static int
loop(struct relay_mcp *r)
{
	int code;

	while (!has_ended(r)) {
		if (!r->eof && read_client(r) < 0)
			return ctl_fail(CTL_NOT_RUN, "mcp: out of memory");
		if (!flush_engine(r) || !read_engine(r)) {
			code = reconnect(r);
			if (code != 0) {
				flush_client(r);
				return code;
			}
			continue;
		}
		if (r->to_client.len < QUEUE_HIGH &&
		    asks_step(&r->asks, r->session.id, &r->to_client) < 0)
			return ctl_fail(CTL_NOT_RUN, "mcp: out of memory");
		flush_client(r);
		if (!has_ended(r) && (r->eof || !lines_wait(r)))
			wait_for_work(r);
		on_signal(r);
	}
	finish(r);
	return CTL_OK;
}

/* mcp:PARENT:STARTTIME, so that a client that starts us again gets its session again. */
static void
parent_key(char *out, size_t size)
{
	char path[64], *text = NULL, *p;
	unsigned long long start = 0;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	if (ats_fd_slurp(-1, path, 4096, &text, &n, NULL) == 0) {
		p = strrchr(text, ')');	/* the name may hold anything */
		for (int field = 2; p != NULL && field < 22; field++)
			p = strchr(p + 1, ' ');
		if (p != NULL)
			start = strtoull(p, NULL, 10);
	}
	free(text);
	(void)snprintf(out, size, "mcp:%d:%llu", (int)getppid(), start);
}

static int
run(struct relay_mcp *r)
{
	struct ats_err err = { 0 };
	sigset_t set;
	int code;

	if (open_session(r, &err) < 0)
		return ctl_fail_err(r->c, CTL_NOT_RUN, &err);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signals < 0)
		return ctl_fail(CTL_NOT_RUN, "mcp: signalfd: %s", strerror(errno));
	if (isatty(STDIN_FILENO))
		(void)ctl_fail(0, "mcp: waits for JSON-RPC lines; an MCP client starts this, "
		    "see README. Ctrl-D ends it");
	io_open(&r->in, STDIN_FILENO, false);
	io_open(&r->out, STDOUT_FILENO, true);
	ats_fd_widen(r->out.fd);
	code = loop(r);
	io_close(&r->in);
	io_close(&r->out);
	(void)close(r->signals);
	return code;
}

int
cmd_mcp(struct ctl *c, int argc, char **argv)
{
	struct relay_mcp r = { .c = c, .session.door.fd = -1 };
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &r.ask.session },
		{ "workspace", 'w', CTL_OPT_STR, &r.ask.workspace },
	};
	char key[64];
	int code;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), false, 0, 0, argc, argv, &code) < 0)
		return code;
	parent_key(key, sizeof(key));
	r.ask.key = key;
	ats_buf_init(&r.from_client, MCP_LINE_MAX + 2 * READ_BYTES);
	ats_buf_init(&r.to_engine, QUEUE_MAX);
	ats_buf_init(&r.to_client, QUEUE_MAX);
	mcp_lines_init(&r.lines);
	code = asks_init(&r.asks, c) == 0 ? run(&r) :
	    ctl_fail(CTL_NOT_RUN, "mcp: getrandom failed");
	asks_done(&r.asks);
	session_done(&r.session);
	mcp_lines_done(&r.lines);
	ats_buf_done(&r.from_client);
	ats_buf_done(&r.to_engine);
	ats_buf_done(&r.to_client);
	return code;
}
