/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl events: one line an event, until Ctrl-C or until brain ends. Process: atsctl. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"
#include "common/clock.h"
#include "common/fd.h"

#define WAIT_MS 200	/* between looks for a brain, with --follow */

static void
print_time(const struct ats_json_val *v)
{
	char text[32];
	struct tm tm;
	uint64_t ms;
	time_t t;

	if (ats_json_to_u64(v, &ms) < 0)
		return;
	t = (time_t)(ms / 1000);
	if (localtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof(text), "%H:%M:%S", &tm) == 0)
		return;
	(void)printf("%s.%03u", text, (unsigned)(ms % 1000));
}

static void
print_event(const struct ctl *c, struct ats_slice event)
{
	static const char *const names[] = { "kind", "session", "sandbox", "call",
		"text" };
	struct ats_json_val v;
	char *s;

	if (c->json) {
		(void)fwrite(event.p, 1, event.n, stdout);
		(void)fputc('\n', stdout);
		(void)fflush(stdout);
		return;
	}
	if (ats_json_get(event, "ts", &v))
		print_time(&v);
	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		if (!ats_json_get(event, names[i], &v))
			continue;
		(void)fputc(' ', stdout);
		s = ats_json_dup_str(&v);
		out_safe(
		    stdout, s != NULL ? s : v.raw.p, s != NULL ? strlen(s) : v.raw.n);
		free(s);
	}
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

/* What atsctl itself has to say about the stream, as one of its events. */
static void ATS_PRINTF(3, 4)
say(const struct ctl *c, const char *kind, const char *fmt, ...)
{
	struct ats_buf out;
	struct ats_json_w w;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ats_buf_init(&out, 4096);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_u64(&w, "ts", (uint64_t)ats_clock_wall_ms());
	ats_json_w_str(&w, "kind", kind);
	ats_json_w_str(&w, "text", text);
	ats_json_w_end(&w);
	if (w.rc == 0)
		print_event(c, (struct ats_slice){ out.data, out.len });
	ats_buf_done(&out);
}

/* What is asked for, and who is followed, so that what changes can be said. */
struct followed {
	struct session_ask ask;	/* session: NULL for all */
	const char *after_text;	/* --after, or NULL */
	uint64_t after;		/* the newest event that was seen; 0: from now on */
	pid_t pid;		/* of the vault; 0: none yet */
	bool lost;		/* and it was said */
};

static int
write_params(const struct followed *f, int fd, struct ats_buf *out, struct ats_err *err)
{
	struct ctl_session s = { .door.fd = -1 };
	struct ats_json_w w;
	int rc = f->ask.session == NULL ? 0 : session_find(fd, &f->ask, &s, err);

	if (rc < 0)
		return rc;
	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	if (f->ask.session != NULL)
		ats_json_w_str(&w, "session", s.id);
	if (f->after != 0)
		ats_json_w_u64(&w, "after", f->after);
	ats_json_w_end(&w);
	return w.rc < 0 ? ats_err_set(err, -w.rc, "out of memory") : 0;
}

static int
subscribe(struct ctl *c, const struct followed *f, struct door *d, pid_t *ret_pid,
    struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf params = { 0 };
	int ATS_CLEANUP_FD fd = -1;
	struct door_msg m;
	int rc = brain_connect(c, false, &fd, err);

	ats_buf_init(&params, 4096);
	if (rc == 0)
		rc = door_connect(d, c, err);
	if (rc == 0)
		rc = write_params(f, fd, &params, err);
	if (rc == 0)
		rc = door_call(d, "ats/events.subscribe", &params, &m, err);
	if (rc == 0 && ats_fd_peer(fd, NULL, NULL, ret_pid) < 0)
		*ret_pid = 0;
	return rc;
}

static void
say_lost(const struct ctl *c, struct followed *f, bool follow)
{
	if (!f->lost)
		say(c, "brain.lost", "%s%s",
		    f->pid != 0 ? "brain, or its engine, ended" : "no brain runs",
		    follow ? "; waiting for the next" : "");
	f->lost = true;
}

static void
say_found(const struct ctl *c, struct followed *f, pid_t pid)
{
	if (f->lost && pid == f->pid)
		say(c, "brain.found", "brain (pid %ld) has a new engine; what the one before did "
		    "meanwhile is not shown", (long)pid);
	else if (f->lost)
		say(c, "brain.found", "a brain runs (pid %ld)", (long)pid);
	f->pid = pid;
	f->lost = false;
}

static void
take_event(const struct ctl *c, struct followed *f, struct ats_slice event)
{
	struct ats_json_val v;
	uint64_t seq;

	if (ats_json_get(event, "seq", &v) && ats_json_to_u64(&v, &seq) == 0 && seq > f->after)
		f->after = seq;
	print_event(c, event);
}

/* Until the connection or stdout ends. */
static int
follow_one(struct ctl *c, struct followed *f, struct ats_err *err)
{
	struct door d = { .fd = -1 };
	struct door_msg m;
	pid_t pid = 0;
	int rc = subscribe(c, f, &d, &pid, err);

	if (rc == 0)
		say_found(c, f, pid);
	while (rc == 0 && !ferror(stdout)) {
		rc = door_next(&d, -1, &m, err);
		if (rc == 0 && m.method.p != NULL && m.params.p != NULL)
			take_event(c, f, m.params);
	}
	door_close(&d);
	return rc;
}

static bool
read_seq(const char *s, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(s, &end, 10);
	return s[0] >= '0' && s[0] <= '9' && *end == '\0' && errno == 0 && *ret > 0;
}

/* Whether the next look may find a brain: it ends, starts, or is between two engines. */
static bool
is_passing(int rc)
{
	return rc == -ATS_E_EOF || rc == -ATS_E_NOENT || rc == -ATS_E_SYS ||
	    rc == -ATS_E_SILENT || rc == -ATS_E_BUSY;
}

int
cmd_events(struct ctl *c, int argc, char **argv)
{
	bool follow = false;
	struct followed f = { 0 };
	const struct ctl_opt opts[] = {
		{ "follow", 'f', CTL_OPT_FLAG, &follow },
		{ "session", 's', CTL_OPT_STR, &f.ask.session },
		{ "after", 0, CTL_OPT_STR, &f.after_text },
	};
	struct pollfd reader = { .fd = STDOUT_FILENO };	/* POLLERR: it left */
	struct ats_err err = { 0 };
	int code, rc;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	if (f.after_text != NULL && !read_seq(f.after_text, &f.after)) {
		(void)ats_err_set(&err, ATS_E_INVAL, "--after: expected the seq of an event, as "
		    "events --json shows it");
		return ctl_fail_err(c, CTL_USAGE, &err);
	}
	rc = follow_one(c, &f, &err);
	while (follow && !ferror(stdout) && is_passing(rc)) {
		say_lost(c, &f, true);
		if (poll(&reader, 1, WAIT_MS) > 0)	/* nothing tells that a brain starts */
			return CTL_OK;
		rc = follow_one(c, &f, &err);
	}
	if (rc == -ATS_E_NOENT)
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	if (rc == -ATS_E_EOF)
		say_lost(c, &f, false);
	if (rc == -ATS_E_EOF || rc == 0)	/* brain ended, or the reader left */
		return CTL_OK;
	return ctl_fail_err(c, CTL_FAIL, &err);
}
