/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl audit: what the vault decided, from its log; with --follow also what it decides from now
 * on. It reads files and asks nobody, but for where they are. Process: atsctl. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "brain/ctl/audit.h"
#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"
#include "brain/ctl/safe.h"
#include "common/clock.h"

#define DAY_MS 86400000ull
#define DAYS_MAX 36500u

static const struct {
	const char *name;
	int width;
} columns[] = { { "event", 11 }, { "session", 14 }, { "tool", 28 }, { "decision", 8 },
	{ "outcome", 11 }, { "code", 15 }, { "way", 11 }, { "text", 0 } };

struct reading {
	struct ctl *c;
	struct audit_filter filter;
	struct audit log;
	uint64_t bad;		/* lines that are none */
};

/* "90m" and the like, or days: "7d". */
static int
parse_since(const char *s, uint64_t *ret_ms)
{
	char *end;
	unsigned long days;

	if (!isdigit((unsigned char)s[0]))
		return -ATS_E_INVAL;
	errno = 0;
	days = strtoul(s, &end, 10);
	if (strcmp(end, "d") != 0)
		return ctl_parse_ms(s, ret_ms);
	if (errno != 0 || days == 0 || days > DAYS_MAX)
		return -ATS_E_INVAL;
	*ret_ms = days * DAY_MS;
	return 0;
}

static int
log_dir(struct ctl *c, char out[ATS_PATH_MAX], struct ats_err *err)
{
	static struct ats_ipc_msg m;	/* 64 KiB */
	int ATS_CLEANUP_FD fd = -1;
	struct ats_json_val v;
	char *state = NULL;
	int n, rc = brain_connect(c, false, &fd, err);

	if (rc == 0 && brain_ask(fd, ATS_MSG_VAULT_STATUS, NULL, NULL, &m, NULL) == 0) {
		struct ats_slice status = { m.s[0], strlen(m.s[0]) };

		if (ats_json_scan(status.p, status.n, NULL) == 0 &&
		    ats_json_get(status, "state_dir", &v))
			state = ats_json_dup_str(&v);
		ats_ipc_done(&m);
	}
	if (rc < 0 && c->socket != NULL)
		return rc;
	rc = ats_places_find(&c->places, err);
	if (state == NULL && rc < 0)
		return rc;
	n = snprintf(out, ATS_PATH_MAX, "%s/vault", state != NULL ? state : c->places.state);
	free(state);
	return n > 0 && n < ATS_PATH_MAX ? 0 : ats_err_set(err, ATS_E_TOOBIG, "path too long");
}

static void
print_time(struct ats_slice line)
{
	struct ats_json_val v;
	char text[32] = "";
	struct tm tm;
	uint64_t ms = 0;
	time_t t;

	if (ats_json_get(line, "time", &v) && ats_json_to_u64(&v, &ms) == 0) {
		t = (time_t)(ms / 1000);
		if (localtime_r(&t, &tm) != NULL)
			(void)!strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	}
	(void)printf("%s.%03u", text, (unsigned)(ms % 1000));
}

static void
print_cell(struct ats_slice line, size_t col)
{
	struct ats_json_val v;
	struct ats_buf raw, b;

	ats_buf_init(&raw, AUDIT_LINE_MAX);
	ats_buf_init(&b, AUDIT_LINE_MAX * 6);
	if (!ats_json_get(line, columns[col].name, &v) || v.type == ATS_JSON_NULL)
		(void)!ats_buf_add_char(&b, '-');
	else if (v.type != ATS_JSON_STRING)
		(void)!safe_text(&b, v.raw.p, v.raw.n);
	else if (ats_json_to_str(&v, &raw) == 0 && raw.len > 0)
		(void)!safe_text(&b, raw.data, raw.len);
	else
		(void)!ats_buf_add_char(&b, '-');
	(void)printf(" %-*s", columns[col].width, b.data);
	ats_buf_done(&raw);
	ats_buf_done(&b);
}

static void
print_line(const struct ctl *c, struct ats_slice line)
{
	if (c->json) {
		(void)fwrite(line.p, 1, line.n, stdout);
	} else {
		print_time(line);
		for (size_t i = 0; i < ATS_ARRAY_LEN(columns); i++)
			print_cell(line, i);
	}
	(void)fputc('\n', stdout);
}

static void
print_head(const struct ctl *c)
{
	if (c->json || !isatty(STDOUT_FILENO))
		return;
	(void)printf("%-23s", "TIME");
	for (size_t i = 0; i < ATS_ARRAY_LEN(columns); i++) {
		(void)fputc(' ', stdout);
		for (const char *p = columns[i].name; *p != '\0'; p++)
			(void)fputc(toupper((unsigned char)*p), stdout);
		(void)printf("%*s", columns[i].width > 0 ?
		    columns[i].width - (int)strlen(columns[i].name) : 0, "");
	}
	(void)fputc('\n', stdout);
}

/* Until the end for now. */
static int
read_all(struct reading *r)
{
	char where[ATS_PATH_MAX + 64];
	struct ats_slice line = { 0 };
	int rc, wanted;

	while ((rc = audit_next(&r->log, &line)) != 0 && !ferror(stdout)) {
		wanted = rc == -ATS_E_TOOBIG ? rc : rc < 0 ? 0 : audit_wants(&r->filter, line);
		if (rc < 0 && rc != -ATS_E_TOOBIG)
			return rc;
		if (wanted > 0)
			print_line(r->c, line);
		if (wanted >= 0)
			continue;
		r->bad++;
		audit_where(&r->log, where, sizeof(where));
		(void)ctl_fail(0, "audit: %s: no line of the audit log (%s); passed over", where,
		    ats_err_text(wanted));
	}
	(void)fflush(stdout);
	return 0;
}

/* The directory tells of what is written, and of new files. */
static int
follow(struct reading *r, int watch)
{
	char events[4096] __attribute__((aligned(8)));
	struct pollfd p[] = { { .fd = watch, .events = POLLIN }, { .fd = STDOUT_FILENO } };
	int rc = 0;

	while (rc == 0 && !ferror(stdout)) {
		if (poll(p, ATS_ARRAY_LEN(p), -1) < 0)
			continue;
		if (p[1].revents != 0)		/* the reader left */
			break;
		(void)!ats_fd_read(watch, events, sizeof(events));
		rc = read_all(r);
	}
	return rc;
}

static int
show(struct reading *r, const char *dir, bool follows)
{
	int ATS_CLEANUP_FD watch = -1;
	struct ats_err err = { 0 };
	int rc;

	if (follows)
		watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (follows && (watch < 0 || inotify_add_watch(watch, dir,
	    IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0)) {
		(void)ats_err_sys(&err, "%s", dir);
		return ctl_fail_err(r->c, CTL_FAIL, &err);
	}
	rc = audit_open(&r->log, dir, &err);
	if (rc == 0) {
		print_head(r->c);
		rc = read_all(r);
		if (rc == 0 && follows)
			rc = follow(r, watch);
		if (rc < 0)
			(void)ats_err_set(&err, -rc, "%s: %s", dir, ats_err_text(rc));
	}
	audit_close(&r->log);
	if (rc < 0)
		return ctl_fail_err(r->c, CTL_FAIL, &err);
	return r->bad > 0 ? CTL_FAIL : CTL_OK;
}

int
cmd_audit(struct ctl *c, int argc, char **argv)
{
	bool follows = false;
	const char *since = NULL;
	struct reading r = { .c = c, .log.now.fd = -1 };
	const struct ctl_opt opts[] = {
		{ "follow", 'f', CTL_OPT_FLAG, &follows },
		{ "session", 's', CTL_OPT_STR, &r.filter.session },
		{ "tool", 't', CTL_OPT_STR, &r.filter.tool },
		{ "since", 0, CTL_OPT_STR, &since },
	};
	char dir[ATS_PATH_MAX];
	struct ats_err err = { 0 };
	uint64_t ago;
	int code;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	if (since != NULL && parse_since(since, &ago) < 0)
		return ctl_fail(CTL_USAGE, "audit: --since %s: not a time; use 10m, 1h, 7d", since);
	if (since != NULL)
		r.filter.since_ms = (uint64_t)ats_clock_wall_ms() - ago;
	if (log_dir(c, dir, &err) < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	return show(&r, dir, follows);
}
