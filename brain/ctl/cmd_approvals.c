/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl approvals: what waits for a person; with --follow what comes and goes, until Ctrl-C.
 * Process: atsctl. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/approval.h"
#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"
#include "brain/ctl/safe.h"
#include "common/clock.h"

#define WAIT_MS 200	/* between looks for a brain, with --follow */
#define ASK_SEQ 1u
#define TOOL_WIDTH 28u	/* the column of names in lines of --follow, as in atsctl audit */
#define LINE_MAX_BYTES (ATS_GATEWAY_ARGS_MAX + (64u << 10))

struct listing {
	struct ctl *c;
	struct session_ask ask;	/* session: NULL for all */
	bool follow, json;
	struct out_table table;
	size_t n;
	bool lost;		/* and it was said */
};

static void
print_line(struct ats_buf *b)
{
	(void)fwrite(b->data, 1, b->len, stdout);
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

/* event: "new" or "gone" of a stream, or NULL. */
static void
print_json(const struct approval *a, const char *event, const char *why)
{
	struct ats_buf b;
	struct ats_json_w w;

	ats_buf_init(&b, LINE_MAX_BYTES);
	ats_json_w_init(&w, &b);
	ats_json_w_object(&w, NULL);
	if (event != NULL)
		ats_json_w_str(&w, "event", event);
	ats_json_w_str(&w, "id", a->id);
	if (why != NULL) {
		ats_json_w_str(&w, "why", why);
	} else {
		ats_json_w_str(&w, "gateway", a->gateway);
		ats_json_w_str(&w, "tool", a->tool);
		ats_json_w_str(&w, "session", a->session);
		ats_json_w_str(&w, "workspace", a->workspace);
		ats_json_w_u64(&w, "asked_at", a->asked_ms);
		ats_json_w_u64(&w, "expires_at", a->expires_ms);
		ats_json_w_str(&w, "sha256", a->sha256);
		ats_json_w_raw(&w, "arguments", a->args.data, a->args.len);
	}
	ats_json_w_end(&w);
	if (w.rc == 0)
		print_line(&b);
	ats_buf_done(&b);
}

static void
cell(struct out_table *t, const char *s)
{
	out_table_cell(t, s, strlen(s));
}

static void
add_row(struct out_table *t, const struct approval *a)
{
	char asked[32], expires[32], bytes[32];

	approval_clock(a->asked_ms, asked);
	approval_clock(a->expires_ms, expires);
	(void)snprintf(bytes, sizeof(bytes), "%zu bytes", a->args.len);
	cell(t, a->id);
	cell(t, a->gateway[0] != '\0' ? a->gateway : "-");
	cell(t, a->tool);
	cell(t, a->session);
	cell(t, asked);
	cell(t, expires);
	cell(t, bytes);
	cell(t, a->workspace);
}

static void
print_event(const struct approval *a, const char *event, const char *why)
{
	char now[32], expires[32];
	struct ats_buf b;
	size_t at;
	int rc;

	approval_clock((uint64_t)ats_clock_wall_ms(), now);
	approval_clock(a->expires_ms, expires);
	ats_buf_init(&b, 65536);
	rc = ats_buf_addf(&b, "%s %-4s %s ", now, event, a->id);
	at = b.len;
	if (rc == 0)
		rc = safe_text(
		    &b, why != NULL ? why : a->tool, strlen(why != NULL ? why : a->tool));
	if (rc == 0 && why == NULL)
		rc = ats_buf_addf(&b, "%*s %s %zu bytes, expires %s",
		    b.len - at < TOOL_WIDTH ? (int)(TOOL_WIDTH - (b.len - at)) : 0, "",
		    a->session, a->args.len, expires);
	if (rc == 0)
		print_line(&b);
	ats_buf_done(&b);
}

static void
on_message(struct listing *l, const struct approval_msg *m)
{
	bool gone = m->event == APPROVAL_LEFT;

	if (m->event == APPROVAL_ANSWER || (gone && !l->follow))
		return;
	if (l->json)
		print_json(&m->a, !l->follow ? NULL : gone ? "gone" : "new",
		    gone ? m->text : NULL);
	else if (l->follow)
		print_event(&m->a, gone ? "gone" : "new", gone ? m->text : NULL);
	else
		add_row(&l->table, &m->a);
	l->n++;
}

/* Ask, then all that waits; with follow until brain or our reader leaves. */
static int
run_once(struct listing *l, struct approval_msg *m, struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	struct ctl_session s = { .door.fd = -1 };
	bool all = false;
	int rc = brain_connect(l->c, false, &fd, err);

	if (rc == 0 && l->ask.session != NULL)
		rc = session_find(fd, &l->ask, &s, err);
	if (rc == 0)
		rc = approval_ask(fd, ASK_SEQ, l->follow, s.id, APPROVAL_WAY_TERMINAL, err);
	while (rc == 0 && (!all || l->follow)) {
		struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = STDOUT_FILENO } };

		if (all && poll(p, ATS_ARRAY_LEN(p), -1) > 0 && p[1].revents != 0)
			return 0;		/* the reader left */
		rc = approval_read(fd, !all, m, err);
		if (rc <= 0)
			continue;
		rc = 0;
		l->lost = false;
		if (m->event == APPROVAL_ANSWER && m->code != 0)
			return ats_err_set(err, m->code, "%s", m->text);
		all = all || m->event == APPROVAL_ANSWER;
		on_message(l, m);
	}
	return rc;
}

static bool
is_passing(int rc)
{
	return rc == -ATS_E_EOF || rc == -ATS_E_NOENT || rc == -ATS_E_SILENT || rc == -ATS_E_BUSY;
}

static int
follow(struct listing *l, struct approval_msg *m, struct ats_err *err)
{
	struct pollfd reader = { .fd = STDOUT_FILENO };	/* POLLERR: it left */
	int rc = run_once(l, m, err);

	while (is_passing(rc)) {
		if (!l->lost)
			(void)ctl_fail(0, "approvals: %s; waiting for the next", rc == -ATS_E_EOF ?
			    "brain ended, and with it what waited" : err->text);
		l->lost = true;
		if (poll(&reader, 1, WAIT_MS) > 0)	/* nothing tells that a brain starts */
			return 0;
		rc = run_once(l, m, err);
	}
	return rc;
}

static void
print_table(struct listing *l)
{
	if (l->n > 0)
		out_table_print(&l->table, stdout);
	else
		(void)printf("nothing waits for approval\n");
}

int
cmd_approvals(struct ctl *c, int argc, char **argv)
{
	static const char *const head[] = { "ID", "GATEWAY", "TOOL", "SESSION", "ASKED", "EXPIRES",
		"ARGUMENTS", "WORKSPACE" };
	static struct approval_msg m;
	struct listing l = { .c = c };
	const struct ctl_opt opts[] = {
		{ "follow", 'f', CTL_OPT_FLAG, &l.follow },
		{ "session", 's', CTL_OPT_STR, &l.ask.session },
	};
	struct ats_err err = { 0 };
	int code, rc;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	l.json = c->json;
	out_table_init(&l.table, ATS_ARRAY_LEN(head));
	l.table.head = true;
	for (size_t i = 0; i < ATS_ARRAY_LEN(head); i++)
		cell(&l.table, head[i]);
	approval_init(&m.a);
	rc = l.follow ? follow(&l, &m, &err) : run_once(&l, &m, &err);
	if (rc == 0 && !l.follow && !l.json)
		print_table(&l);
	approval_done(&m.a);
	out_table_done(&l.table);
	if (rc == -ATS_E_NOENT)
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	return rc < 0 ? ctl_fail_err(c, CTL_FAIL, &err) : CTL_OK;
}
