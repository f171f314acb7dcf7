/* SPDX-License-Identifier: Apache-2.0
 *
 * One tool call, or its checks alone. Process: atsctl. A call has an id of its own, so that
 * after a loss of brain the same call is asked for again, not made twice. */
#include "brain/ctl/calling.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "brain/ctl/data.h"
#include "brain/ctl/exit_code.h"
#include "brain/ctl/output.h"
#include "brain/ctl/waits.h"
#include "common/digest.h"

#define INPUT_MAX (16u << 20)
#define TRIES 4

struct call_run {
	struct ctl *c;
	struct session_ask ask;
	struct ctl_session session;
	struct ats_buf input, params;
	uint64_t timeout_ms;
	char call_id[24];
	int signals;
	bool cancelled;
	bool validate;
	bool maybe;		/* it was sent, and had no answer */
	const char *data_file;	/* the tool's raw bytes go there, or NULL */
	struct data data;
};

static int
read_input(struct call_run *r, const char *arg, struct ats_err *err)
{
	char *to;
	ssize_t n;
	int rc = 0;

	if (strcmp(arg, "-") != 0)
		return ats_buf_add_str(&r->input, arg);
	do {
		rc = ats_buf_reserve(&r->input, 65536, &to);
		if (rc < 0)
			return ats_err_set(err, -rc, "stdin: over %u bytes", INPUT_MAX);
		n = ats_fd_read(STDIN_FILENO, to, 65536);
		if (n < 0)
			return ats_err_sys(err, "stdin");
		ats_buf_commit(&r->input, (size_t)n);
	} while (n > 0);
	return 0;
}

static int
build(struct call_run *r, const char *tool, const char *arg, struct ats_err *err)
{
	struct ats_json_val v;
	struct ats_json_w w;
	int rc = read_input(r, arg, err);

	if (rc == 0)
		rc = ats_json_scan(r->input.data, r->input.len, err);
	if (rc < 0)
		return ats_err_wrap(err, "arguments of %s", tool);
	v = ats_json_value((struct ats_slice){ r->input.data, r->input.len });
	if (v.type != ATS_JSON_OBJECT)
		return ats_err_set(
		    err, ATS_E_FIELD, "arguments of %s: not a JSON object", tool);
	if (ats_id_new("k", r->call_id, sizeof(r->call_id)) < 0)
		return ats_err_sys(err, "getrandom");
	ats_json_w_init(&w, &r->params);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "name", tool);
	ats_json_w_raw(&w, "arguments", v.raw.p, v.raw.n);
	ats_json_w_str(&w, "call_id", r->call_id);
	if (r->data_file != NULL)
		ats_json_w_raw(&w, "fds", "[\"data\"]", 8);
	if (r->timeout_ms > 0)
		ats_json_w_u64(&w, "timeout_ms", r->timeout_ms);
	ats_json_w_end(&w);
	return w.rc < 0 ? ats_err_set(err, -w.rc, "arguments of %s", tool) : 0;
}

static void
cancel(struct call_run *r)
{
	struct ats_buf params;

	ats_buf_init(&params, 256);
	if (ats_buf_addf(&params, "{\"call_id\":\"%s\"}", r->call_id) == 0)
		(void)!door_send(
		    &r->session.door, "ats/call.cancel", &params, NULL, 0, NULL, NULL);
	ats_buf_done(&params);
}

/* Waits for the answer; a first Ctrl-C cancels, a second gives up. */
static int
await(struct call_run *r, uint64_t id, struct door_msg *m, struct ats_err *err)
{
	struct signalfd_siginfo si;
	int rc;

	for (;;) {
		struct pollfd p[] = { { .fd = r->session.door.fd, .events = POLLIN },
			{ .fd = r->signals, .events = POLLIN },
			{ .fd = r->data.pipe, .events = POLLIN } };

		while ((rc = door_line(&r->session.door, m, err)) > 0) {
			if (door_is_answer(m, id))
				return 0;
			waits_look(&r->session, m);
		}
		if (rc < 0)
			return rc;
		(void)poll(p, 3, -1);
		rc = data_move(&r->data, err);
		if (rc < 0)
			return rc;
		if (read(r->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
			if (r->cancelled)
				return ats_err_set(err, ATS_E_CANCELLED, "given up");
			r->cancelled = true;
			cancel(r);
		}
		rc = door_fill(&r->session.door);
		if (rc == 0)
			return ats_err_set(err, ATS_E_EOF, "brain was lost");
		if (rc < 0 && rc != -ATS_E_AGAIN)
			return ats_err_set(err, -rc, "answer: %s", ats_err_text(rc));
	}
}

/* A file may have any name and any content, and what a terminal is sent it obeys. */
static void
print_seen(const char *s, size_t n)
{
	while (n > 0) {
		size_t plain = 0;

		while (plain < n && s[plain] != '\n' && s[plain] != '\t')
			plain++;
		out_safe(stdout, s, plain);
		if (plain < n)
			(void)fputc(s[plain++], stdout);
		s += plain;
		n -= plain;
	}
}

/* True: it was printed, as a line of its own. */
static bool
print_text(const struct ats_json_val *v)
{
	struct ats_buf out;
	bool done;

	ats_buf_init(&out, DOOR_LINE_MAX);
	done = ats_json_to_str(v, &out) == 0;
	if (done) {
		if (isatty(STDOUT_FILENO))
			print_seen(out.data, out.len);
		else
			(void)fwrite(out.data, 1, out.len, stdout);
		if (out.len > 0 && out.data[out.len - 1] != '\n')
			(void)fputc('\n', stdout);
	} else if (v->type == ATS_JSON_STRING) {
		/* a NUL inside: as it stands, escaped */
		out_safe(stdout, v->raw.p, v->raw.n);
		(void)fputc('\n', stdout);
		done = true;
	}
	ats_buf_done(&out);
	return done;
}

static void
print_blocks(struct ats_slice result)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val content, b, v;
	char *mime;

	if (!ats_json_get(result, "content", &content))
		return;
	for (ats_json_iter_init(&it, content.raw); ats_json_next(&it, &key, &b);) {
		if (ats_json_get(b.raw, "text", &v) && print_text(&v))
			continue;
		if (ats_json_get(b.raw, "mimeType", &v)) {
			mime = ats_json_dup_str(&v);
			(void)fputc('[', stdout);
			out_safe(stdout, mime != NULL ? mime : "data",
			    strlen(mime != NULL ? mime : "data"));
			(void)printf("; --json shows it]\n");
			free(mime);
		}
	}
}

/* Ctrl-C ends us while nothing runs, and cancels once something does. */
static void
hold_signals(struct call_run *r, bool hold)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	if (r->signals < 0)
		r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
run(struct call_run *r)
{
	struct ats_err err = { 0 };
	struct ats_json_val v;
	struct door_msg m;
	uint64_t id;
	int rc = -ATS_E_EOF;

	/* Data that came cannot be taken back: such a call is tried once. */
	for (int i = 0; i < (r->data_file != NULL ? 1 : TRIES) && rc == -ATS_E_EOF; i++) {
		session_done(&r->session);
		hold_signals(r, false);
		rc = session_open(r->c, &r->ask, &r->session, &err);
		hold_signals(r, true);
		if (rc == 0 && !r->validate)
			waits_watch(&r->session);
		if (rc == 0)
			rc = door_send(&r->session.door,
			    r->validate ? "ats/tool.validate" : "ats/tool.call",
			    &r->params, &r->data.pass, r->data_file != NULL, &id, &err);
		data_passed(&r->data);
		if (rc == 0) {
			rc = await(r, id, &m, &err);
			r->maybe = r->maybe || (rc < 0 && !r->validate);
		}
		if (r->cancelled && rc == -ATS_E_EOF)
			break;
	}
	if (rc == 0)
		rc = door_result(&m, &err);
	if (rc < 0 && r->maybe)
		door_sent_before(&err);
	if (rc == 0)
		rc = data_rest(&r->data, &err);
	if (rc < 0)
		return ctl_fail_err(r->c, CTL_NOT_RUN, &err);
	if (r->c->json)
		out_result(r->c, m.result.p, m.result.n);
	else if (!r->validate && (r->data_file == NULL || call_exit_code(m.result) != 0))
		print_blocks(m.result);
	else if (ats_json_get(m.result, "text", &v) && print_text(&v) &&
	    ats_json_get(m.result, "notice", &v))
		(void)print_text(&v);
	return r->validate ? validate_exit_code(m.result) : call_exit_code(m.result);
}

int
calling_run(struct ctl *c, const struct calling *a, const char *tool, const char *json)
{
	struct call_run r = { .c = c, .ask = a->ask, .session.door.fd = -1, .signals = -1,
		.timeout_ms = a->timeout_ms, .validate = a->validate, .data_file = a->data_file,
		.data = { .file = -1, .pipe = -1, .pass = -1 } };
	struct ats_err err = { 0 };
	char key[32];
	int code;

	(void)snprintf(key, sizeof(key), "cli:%lu", (unsigned long)geteuid());
	r.ask.key = key;
	ats_buf_init(&r.input, INPUT_MAX);
	ats_buf_init(&r.params, INPUT_MAX + 4096);
	if ((r.data_file != NULL && data_open(&r.data, r.data_file, &err) < 0) ||
	    build(&r, tool, json, &err) < 0) {
		code = ctl_fail_err(c, CTL_NOT_RUN, &err);
	} else {
		code = run(&r);
		if (r.signals >= 0)
			(void)close(r.signals);
	}
	session_done(&r.session);
	data_close(&r.data);
	ats_buf_done(&r.input);
	ats_buf_done(&r.params);
	return code;
}
