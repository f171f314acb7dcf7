/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl approve: shows all of one call on the terminal, and lets it run when a person says yes
 * there. Nothing but the terminal is asked: a program that calls this has none, or not the
 * person's. Process: atsctl; an agent wrote the arguments. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "brain/ctl/approval.h"
#include "brain/ctl/brain.h"
#include "brain/ctl/safe.h"

#define ASK_SEQ 1u
#define APPROVE_SEQ 2u
#define SAID_MAX 64u

enum said { SAID_NOTHING, SAID_YES, SAID_NO, SAID_GONE };

struct approving {
	struct ctl *c;
	const char *id;
	int vault, tty;
	struct approval a;	/* as it is shown */
	bool found;
	char gone[256];		/* why it is no more, or empty */
};

/* One message of the stream; a.id is ours or it does not concern us. */
static void
on_message(struct approving *p, struct approval_msg *m)
{
	if (m->event == APPROVAL_NEW && !p->found && strcmp(m->a.id, p->id) == 0) {
		p->a = m->a;
		approval_init(&m->a);
		p->found = true;
	} else if (m->event == APPROVAL_LEFT && strcmp(m->a.id, p->id) == 0) {
		(void)snprintf(p->gone, sizeof(p->gone), "%s", m->text);
	}
}

/* Follows, so that it is known when there is nothing left to decide. */
static int
find(struct approving *p, struct approval_msg *m, struct ats_err *err)
{
	int rc = approval_ask(p->vault, ASK_SEQ, true, "", APPROVAL_WAY_TERMINAL, err);

	while (rc == 0) {
		rc = approval_read(p->vault, true, m, err);
		if (rc < 0)
			return rc;
		rc = 0;
		on_message(p, m);
		if (m->event != APPROVAL_ANSWER)
			continue;
		if (m->code != 0)
			return ats_err_set(err, m->code, "%s", m->text);
		if (!p->found)
			return ats_err_set(err, ATS_E_UNKNOWN_ID, "no approval of this id waits; "
			    "atsctl approvals shows those that do");
		return 0;
	}
	return rc;
}

/* Everything, and at the end once more what it is about: the beginning may have scrolled away. */
static int
show(const struct approving *p, struct ats_err *err)
{
	struct ats_buf b;
	int rc;

	ats_buf_init(&b, APPROVAL_TEXT_MAX);
	rc = approval_show(&b, &p->a);
	if (rc == 0)
		rc = ats_buf_add_str(&b, "\nLet ");
	if (rc == 0)
		rc = safe_text(&b, p->a.tool, strlen(p->a.tool));
	if (rc == 0)
		rc = ats_buf_addf(&b, " run with these arguments, once? [y/N] ");
	if (rc < 0)
		rc = ats_err_set(err, -rc, "its arguments cannot be shown whole: %s",
		    ats_err_text(rc));
	/* What was typed before it was seen is no answer. */
	if (rc == 0 && (tcflush(p->tty, TCIFLUSH) < 0 ||
			   ats_fd_write_all(p->tty, b.data, b.len) < 0))
		rc = ats_err_sys(err, "terminal");
	ats_buf_done(&b);
	return rc;
}

/* What the terminal gave: a line, or nothing yet. */
static enum said
read_said(struct approving *p, char *line, size_t *n)
{
	ssize_t got = ats_fd_read(p->tty, line + *n, SAID_MAX - 1 - *n);

	if (got <= 0)
		return SAID_NO;
	*n += (size_t)got;
	line[*n] = '\0';
	if (memchr(line, '\n', *n) == NULL)
		return *n >= SAID_MAX - 1 ? SAID_NO : SAID_NOTHING;
	line[strcspn(line, " \t\r\n")] = '\0';
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0 ? SAID_YES : SAID_NO;
}

static enum said
hear(struct approving *p, struct approval_msg *m)
{
	char line[SAID_MAX];
	size_t n = 0;
	enum said said = SAID_NOTHING;

	while (said == SAID_NOTHING) {
		struct pollfd fds[] = { { .fd = p->tty, .events = POLLIN },
			{ .fd = p->vault, .events = POLLIN } };

		if (poll(fds, 2, -1) < 0)
			continue;		/* EINTR: nothing else is handled */
		if (fds[1].revents != 0) {
			if (approval_read(p->vault, false, m, NULL) < 0)
				(void)snprintf(p->gone, sizeof(p->gone), "brain ended");
			else
				on_message(p, m);
			if (p->gone[0] != '\0')
				said = SAID_GONE;
		} else if (fds[0].revents != 0) {
			said = read_said(p, line, &n);
		}
	}
	return said;
}

static int
say_approved(const struct approving *p)
{
	if (p->c->json)
		(void)printf("{\"id\":\"%s\",\"decision\":\"approved\"}\n", p->id);
	else
		(void)printf("%s is approved; the call goes on\n", p->id);
	return CTL_OK;
}

static int
decide(struct approving *p, struct approval_msg *m)
{
	struct ats_err err = { 0 };
	int rc = find(p, m, &err);

	if (rc == 0)
		rc = show(p, &err);
	if (rc < 0)
		return ctl_fail_err(p->c, CTL_FAIL, &err);
	switch (hear(p, m)) {
	case SAID_GONE:
		(void)!ats_fd_write_all(p->tty, "\n", 1);
		return ctl_fail_code(CTL_FAIL, ats_err_name(ATS_E_UNKNOWN_ID),
		    "approve: %s waits no more: %s", p->id, p->gone);
	case SAID_YES:
		break;
	case SAID_NO:
	case SAID_NOTHING:
	default:
		return ctl_fail(CTL_FAIL, "approve: %s is not approved, and still waits; "
		    "atsctl deny %s refuses it", p->id, p->id);
	}
	rc = approval_approve(p->vault, APPROVE_SEQ, p->id, p->a.sha256, APPROVAL_WAY_TERMINAL,
	    &err);
	if (rc == 0)
		rc = approval_await(p->vault, APPROVE_SEQ, m, &err);
	return rc < 0 ? ctl_fail_err(p->c, CTL_FAIL, &err) : say_approved(p);
}

int
cmd_approve(struct ctl *c, int argc, char **argv)
{
	static struct approval_msg m;
	struct approving p = { .c = c, .vault = -1, .tty = -1 };
	struct ats_err err = { 0 };
	int code, rc;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	p.id = argv[1];
	if (!ats_id_valid(p.id))
		return ctl_fail_code(CTL_FAIL, ats_err_name(ATS_E_UNKNOWN_ID),
		    "approve: %s: no id; atsctl approvals shows the ids", p.id);
	p.tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (p.tty < 0)
		return ctl_fail(CTL_NOT_RUN,
		    "approve: a person approves at a terminal, and there is "
		    "none here (/dev/tty: %s); run it in one",
		    strerror(errno));
	approval_init(&m.a);
	approval_init(&p.a);
	rc = brain_connect(c, false, &p.vault, &err);
	if (rc == -ATS_E_NOENT)
		code = ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	else
		code = rc < 0 ? ctl_fail_err(c, CTL_FAIL, &err) : decide(&p, &m);
	approval_done(&m.a);
	approval_done(&p.a);
	ats_fd_close(&p.vault);
	ats_fd_close(&p.tty);
	return code;
}
