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

#include "brain/ctl/mcp_relay.h"
#include "common/clock.h"

#define FLUSH_MS 1000u

void
mcp_end_soon(struct mcp_relay *r, uint64_t in_ms)
{
	uint64_t at = ats_clock_ms() + in_ms;

	if (r->end_ms == 0 || at < r->end_ms)
		r->end_ms = at;
}

static void
on_signal(struct mcp_relay *r)
{
	struct signalfd_siginfo si;

	while (r->signal_came && read(r->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		mcp_end_soon(r, 0);
	r->signal_came = false;
}

static bool
has_ended(const struct mcp_relay *r)
{
	if (r->gone || (r->end_ms != 0 && ats_clock_ms() >= r->end_ms))
		return true;
	return r->eof && !mcp_awaits(&r->lines) && r->to_client.len == 0 &&
	       r->to_engine.len == 0;
}

static void
wait_for_work(struct mcp_relay *r)
{
	bool read_in =
	    !r->eof && r->to_engine.len < MCP_QUEUE_HIGH && mcp_lines_room(&r->lines);
	short door = (short)((r->to_client.len < MCP_QUEUE_HIGH ? POLLIN : 0) |
	    (r->to_engine.len > r->sent ? POLLOUT : 0));
	struct pollfd p[] = {
		{ .fd = r->signals, .events = POLLIN },
		{ .fd = read_in ? r->in.fd : -1, .events = POLLIN },
		{ .fd = door != 0 ? r->session.door.fd : -1, .events = door },
		{ .fd = r->out.fd, .events = r->to_client.len > 0 ? POLLOUT : 0 },
		{ .fd = r->to_client.len < MCP_QUEUE_HIGH ? r->asks.fd : -1, .events = POLLIN },
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
lines_wait(const struct mcp_relay *r)
{
	return mcp_lines_room(&r->lines) && r->from_client.len > r->scanned &&
	    memchr(r->from_client.data, '\n', r->from_client.len) != NULL;
}

/* Cancels what is open and gives the line a moment to leave. */
static void
finish(struct mcp_relay *r)
{
	uint64_t end = ats_clock_ms() + FLUSH_MS, now;

	if (r->session.door.fd < 0 || mcp_cancel_all(&r->lines, &r->to_engine) < 0)
		return;
	while (mcp_flush_engine(r) && r->to_engine.len > r->sent &&
	       (now = ats_clock_ms()) < end) {
		struct pollfd p = { .fd = r->session.door.fd, .events = POLLOUT };

		(void)poll(&p, 1, (int)(end - now));
	}
	mcp_flush_client(r);
}

static int
loop(struct mcp_relay *r)
{
	int code;

	while (!has_ended(r)) {
		if (!r->eof && mcp_read_client(r) < 0)
			return ctl_fail(CTL_NOT_RUN, "mcp: out of memory");
		if (!mcp_flush_engine(r) || !mcp_read_engine(r)) {
			code = mcp_reconnect(r);
			if (code != 0) {
				mcp_flush_client(r);
				return code;
			}
			continue;
		}
		if (r->to_client.len < MCP_QUEUE_HIGH &&
		    asks_step(&r->asks, r->session.id, &r->to_client) < 0)
			return ctl_fail(CTL_NOT_RUN, "mcp: out of memory");
		mcp_flush_client(r);
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
run(struct mcp_relay *r)
{
	struct ats_err err = { 0 };
	sigset_t set;
	int code;

	if (mcp_open_session(r, &err) < 0)
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
	struct mcp_relay r = { .c = c, .session.door.fd = -1 };
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &r.ask.session },
		{ "workspace", 'w', CTL_OPT_STR, &r.ask.workspace },
	};
	char key[64];
	int code;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	parent_key(key, sizeof(key));
	r.ask.key = key;
	ats_buf_init(&r.from_client, MCP_LINE_MAX + 2 * MCP_READ_BYTES);
	ats_buf_init(&r.to_engine, MCP_QUEUE_MAX);
	ats_buf_init(&r.to_client, MCP_QUEUE_MAX);
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
