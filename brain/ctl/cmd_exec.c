/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl exec: a command in the sandbox on our stdin, stdout and stderr. Process: atsctl.
 * The engine splices between the pipes that are passed and its link. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/exit_code.h"
#include "brain/ctl/streams.h"
#include "brain/ctl/waits.h"
#include "common/digest.h"

#define ARGV_BYTES_MAX (512u << 10)
#define QUIET_MS 2000	/* after the answer: how long to wait for a silent output pipe */
#define CANCEL_AT 3	/* so many Ctrl-C end the call, one more ends us */

struct exec_run {
	struct ctl *c;
	struct ctl_session session;
	struct streams streams;
	struct session_ask ask;
	uint64_t timeout_ms;
	bool tty, no_stdin;
	char call_id[24];
	uint64_t request, order; /* ids of ats/exec and of the last ats/call.signal */
	int signals;			/* signalfd */
	unsigned interrupts;
	bool cancelled, answered, lost;
	int exit_code;
};

static void
write_argv(struct ats_json_w *w, int argc, char **argv)
{
	ats_json_w_array(w, "argv");
	for (int i = 0; i < argc; i++)
		ats_json_w_str(w, NULL, argv[i]);
	ats_json_w_end(w);
}

static int
check_argv(int argc, char **argv, struct ats_err *err)
{
	for (int i = 0; i < argc; i++) {
		size_t n = strlen(argv[i]);

		for (size_t k = 0; k < n;) {
			unsigned len = ats_utf8_seq(argv[i] + k, n - k);

			if (len == 0)
				return ats_err_set(err, ATS_E_UTF8,
				    "argument %d is not UTF-8; "
				    "use sh -c with an escape such as $'\\xff'",
				    i);
			k += len;
		}
	}
	return 0;
}

/* The kind of our terminal, if that is a plain name. */
static const char *
terminal(void)
{
	const char *s = getenv("TERM");

	if (s == NULL || s[0] == '\0' || strlen(s) > 63 ||
	    s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"0123456789.+-_")] != '\0')
		return NULL;
	return s;
}

static int
send_request(struct exec_run *x, int argc, char **argv, struct ats_err *err)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	unsigned rows, cols;
	struct ats_buf params;
	struct ats_json_w w;
	int fds[3], rc;
	size_t nfds = 0;

	ats_buf_init(&params, ARGV_BYTES_MAX);
	ats_json_w_init(&w, &params);
	ats_json_w_object(&w, NULL);
	write_argv(&w, argc, argv);
	ats_json_w_str(&w, "call_id", x->call_id);
	if (x->timeout_ms > 0)
		ats_json_w_u64(&w, "timeout_ms", x->timeout_ms);
	if (x->tty)
		ats_json_w_bool(&w, "tty", true);
	if (x->tty && terminal() != NULL)
		ats_json_w_str(&w, "term", terminal());
	if (x->tty && tty_size(&rows, &cols)) {
		ats_json_w_u64(&w, "rows", rows);
		ats_json_w_u64(&w, "cols", cols);
	}
	ats_json_w_array(&w, "fds");
	for (size_t i = 0; i < 3; i++) {
		if (x->streams.pass[i] < 0)
			continue;
		fds[nfds++] = x->streams.pass[i];
		ats_json_w_str(&w, NULL, names[i]);
	}
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	waits_watch(&x->session);
	rc = w.rc == 0 ? door_send(&x->session.door, "ats/exec", &params, fds, nfds,
	    &x->request, err) : ats_err_set(err, -w.rc, "the command line is too long");
	ats_buf_done(&params);
	streams_sent(&x->streams);
	return rc;
}

/* Returns the request's id. Errors show as a lost connection in the loop. */
static uint64_t
send_order(struct exec_run *x, const char *method, const char *k1, uint64_t v1,
    const char *k2, uint64_t v2)
{
	struct ats_buf params;
	struct ats_json_w w;
	uint64_t id = 0;

	ats_buf_init(&params, 256);
	ats_json_w_init(&w, &params);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "call_id", x->call_id);
	if (k1 != NULL)
		ats_json_w_u64(&w, k1, v1);
	if (k2 != NULL)
		ats_json_w_u64(&w, k2, v2);
	ats_json_w_end(&w);
	if (w.rc == 0)
		(void)!door_send(&x->session.door, method, &params, NULL, 0, &id, NULL);
	ats_buf_done(&params);
	return id;
}

static void
cancel(struct exec_run *x)
{
	if (!x->cancelled && !x->answered && !x->lost)
		(void)send_order(x, "ats/call.cancel", NULL, 0, NULL, 0);
	x->cancelled = true;
}

/* Returns false when the user wants out at once. */
static bool
on_signal(struct exec_run *x)
{
	struct signalfd_siginfo si;
	unsigned rows, cols;

	while (read(x->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGWINCH) {
			if (x->tty && tty_size(&rows, &cols))
				(void)send_order(
				    x, "ats/call.resize", "rows", rows, "cols", cols);
			continue;
		}
		x->interrupts++;
		if (x->answered || x->lost || x->interrupts > CANCEL_AT)
			return false;
		if (x->interrupts == CANCEL_AT)
			cancel(x);
		else
			x->order = send_order(
			    x, "ats/call.signal", "signal", si.ssi_signo, NULL, 0);
	}
	return true;
}

/* What brain says of a command that did not start; owned, or NULL. */
static char *
not_started(struct ats_slice result)
{
	struct ats_json_val v, block;
	struct ats_json_iter it;
	struct ats_slice key;

	if (!ats_json_get(result, "outcome", &v) || v.raw.n != strlen("\"not_started\"") ||
	    memcmp(v.raw.p, "\"not_started\"", v.raw.n) != 0 ||
	    !ats_json_get(result, "content", &v) || v.type != ATS_JSON_ARRAY)
		return NULL;
	ats_json_iter_init(&it, v.raw);
	if (!ats_json_next(&it, &key, &block) || block.type != ATS_JSON_OBJECT ||
	    !ats_json_get(block.raw, "text", &v) || v.type != ATS_JSON_STRING)
		return NULL;
	return ats_json_dup_str(&v);
}

static void
on_answer(struct exec_run *x, const struct door_msg *m)
{
	struct ats_err err = { 0 };
	const char *note = NULL;
	char *reason;

	x->answered = true;
	streams_stop_input(&x->streams);
	if (door_result(m, &err) < 0) {
		tty_restore();
		x->exit_code = ctl_fail_err(x->c, CTL_NOT_RUN, &err);
		return;
	}
	x->exit_code = exec_exit_code(m->result, &note);
	if (x->streams.broken)
		x->exit_code = 128 + SIGPIPE;
	else if (note != NULL) {
		tty_restore();
		reason = not_started(m->result);
		(void)ctl_fail(0, "exec: %s", reason != NULL ? reason : note);
		free(reason);
	}
	if (x->c->json) {
		(void)fwrite(m->result.p, 1, m->result.n, stderr);
		(void)fputc('\n', stderr);
	}
}

static void
on_door(struct exec_run *x)
{
	struct door_msg m;
	struct ats_err err;
	int rc, filled = door_fill(&x->session.door);

	if (filled == -ATS_E_AGAIN)
		return;
	while (!x->answered && (rc = door_line(&x->session.door, &m, &err)) != 0) {
		if (rc < 0)
			filled = rc;
		else if (door_is_answer(&m, x->request))
			on_answer(x, &m);
		else if (m.error.p != NULL && door_is_answer(&m, x->order))
			/* the signal found no process yet */
			cancel(x);
		else
			waits_look(&x->session, &m);
		if (rc < 0)
			break;
	}
	if (filled > 0 || x->answered)
		return;
	x->lost = true;
	streams_stop_input(&x->streams);
	tty_restore();
	(void)ctl_fail_code(CTL_NOT_RUN, ats_err_name(ATS_E_LOST),
	    "exec: brain was lost, and the command's outcome is unknown: it may have run, "
	    "look before you run it again");
}

static int
give_up(void)
{
	return ctl_fail(CTL_NOT_RUN,
	    "exec: given up; the outcome of the command is unknown");
}

/* Until the answer is here and all output has been written. */
static int
loop(struct exec_run *x)
{
	struct pollfd p[2 + STREAMS_POLL_MAX];
	size_t n;
	int ready;

	while (!(x->answered || x->lost) || !streams_output_ended(&x->streams)) {
		bool over = x->answered || x->lost;

		p[0] = (struct pollfd){ .fd = over ? -1 : x->session.door.fd,
			.events = POLLIN };
		p[1] = (struct pollfd){ .fd = x->signals, .events = POLLIN };
		n = streams_poll(&x->streams, p + 2);
		ready = poll(p, (nfds_t)(2 + n),
		    over && !streams_output_blocked(&x->streams) ? QUIET_MS : -1);
		if (ready < 0 && errno != EINTR)
			return ctl_fail(CTL_NOT_RUN, "exec: poll: %s", strerror(errno));
		if (ready == 0)
			break;
		if (ready < 0)
			continue;
		if (p[0].revents != 0)
			on_door(x);
		if (p[1].revents != 0 && !on_signal(x))
			return over ? x->exit_code : give_up();
		(void)streams_step(&x->streams, p + 2, n);
		if (x->streams.broken)
			cancel(x);
	}
	return x->exit_code;
}

static int
block_signals(void)
{
	static const int list[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ATS_ARRAY_LEN(list); i++)
		(void)sigaddset(&set, list[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
run(struct exec_run *x, int argc, char **argv)
{
	struct ats_err err = { 0 };
	int rc = check_argv(argc, argv, &err);

	if (rc == 0)
		rc = session_open(x->c, &x->ask, &x->session, &err);
	if (rc < 0)
		return ctl_fail_err(x->c, CTL_NOT_RUN, &err);
	rc = streams_open(&x->streams, !x->no_stdin, !x->tty, &err);
	if (rc == 0 && ats_id_new("x", x->call_id, sizeof(x->call_id)) < 0)
		rc = ats_err_sys(&err, "getrandom");
	/* before the request: from then on a signal is the command's */
	if (rc == 0 && (x->signals = block_signals()) < 0)
		rc = ats_err_sys(&err, "signalfd");
	if (rc == 0)
		rc = send_request(x, argc, argv, &err);
	if (rc < 0)
		return ctl_fail_err(x->c, CTL_NOT_RUN, &err);
	if (x->tty)
		tty_raw();
	rc = loop(x);
	tty_restore();
	return rc;
}

int
cmd_exec(struct ctl *c, int argc, char **argv)
{
	struct exec_run x = { .c = c, .signals = -1, .exit_code = CTL_NOT_RUN };
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &x.ask.session },
		{ "workspace", 'w', CTL_OPT_STR, &x.ask.workspace },
		{ "timeout", 0, CTL_OPT_MS, &x.timeout_ms },
		{ "tty", 't', CTL_OPT_FLAG, &x.tty },
		{ "no-stdin", 'n', CTL_OPT_FLAG, &x.no_stdin },
	};
	char key[32];
	int code, n;

	n = ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code);
	if (n < 0)
		return code;
	(void)snprintf(key, sizeof(key), "cli:%lu", (unsigned long)geteuid());
	x.ask.key = key;
	x.session.door.fd = -1;
	code = run(&x, n, argv + 1);
	streams_close(&x.streams);
	session_done(&x.session);
	if (x.signals >= 0)
		(void)close(x.signals);
	return code;
}
