/* SPDX-License-Identifier: Apache-2.0
 *
 * Approvals for the client of atsctl mcp. Process: atsctl. The engine has no part in it: it
 * neither sees the dialogs nor their answers. */
#include "brain/ctl/mcp_asks.h"

#include <string.h>

#include "brain/ctl/brain.h"
#include "common/clock.h"
#include "common/fd.h"

#define RETRY_MS 1000u		/* after a connection was lost or could not be had */

int
asks_init(struct mcp_asks *a, struct ctl *c)
{
	uint64_t secret;

	*a = (struct mcp_asks){ .c = c, .fd = -1 };
	approval_init(&a->msg.a);
	if (rounds_init(&a->rounds) < 0 || ctl_random(&secret) < 0)
		return -ATS_E_SYS;
	elicit_init(&a->dialogs, secret);
	return 0;
}

void
asks_done(struct mcp_asks *a)
{
	ats_fd_close(&a->fd);
	elicit_done(&a->dialogs);
	rounds_done(&a->rounds);
	approval_done(&a->msg.a);
}

static void
want(struct mcp_asks *a)
{
	a->state = ASKS_WANTED;
	a->retry_ms = ats_clock_ms();
}

void
asks_client_ready(struct mcp_asks *a, struct ats_slice initialize)
{
	if (a->requests || !elicit_can(initialize, a->way))
		return;
	a->requests = true;
	if (a->state == ASKS_OFF)
		want(a);
}

void
asks_client_shows(struct mcp_asks *a, struct ats_slice info)
{
	if (a->state != ASKS_OFF)
		return;
	elicit_way(info, a->way);
	want(a);
}

void
asks_brain_changed(struct mcp_asks *a)
{
	a->again = a->state == ASKS_ASKED;
	if (a->state != ASKS_REFUSED && a->state != ASKS_WANTED)
		return;
	want(a);
}

int
asks_wait_ms(const struct mcp_asks *a)
{
	uint64_t now = ats_clock_ms();

	if (a->state != ASKS_WANTED)
		return -1;
	return a->retry_ms > now ? (int)(a->retry_ms - now) : 0;
}

/* What waits may be the former brain's, which is void; what is not comes again. */
static int
lose(struct mcp_asks *a, struct ats_buf *out)
{
	ats_fd_close(&a->fd);
	a->state = ASKS_WANTED;
	a->retry_ms = ats_clock_ms() + RETRY_MS;
	rounds_all_gone(&a->rounds);
	return elicit_all_gone(&a->dialogs, "brain was lost", out);
}

static int
start(struct mcp_asks *a, const char *session, struct ats_buf *out)
{
	if (brain_connect(a->c, false, &a->fd, NULL) < 0 || ats_fd_nonblock(a->fd, true) < 0 ||
	    approval_ask(a->fd, ++a->seq, true, session, a->way, NULL) < 0)
		return lose(a, out);
	a->state = ASKS_ASKED;
	a->again = false;
	return 0;
}

static int
on_new(struct mcp_asks *a, struct ats_buf *out)
{
	int rc = a->requests ? elicit_show(&a->dialogs, &a->msg.a, out) :
	    rounds_approval(&a->rounds, &a->msg.a, out);

	if (rc == 0)
		(void)ctl_fail(0,
		    "mcp: %s waits for approval and is too long, or one too many, for a "
		    "dialog; atsctl approve %s",
		    a->msg.a.id, a->msg.a.id);
	return rc < 0 ? rc : 0;
}

static int
on_message(struct mcp_asks *a, struct ats_buf *out)
{
	switch (a->msg.event) {
	case APPROVAL_NEW:
		return on_new(a, out);
	case APPROVAL_LEFT:
		rounds_gone(&a->rounds, a->msg.a.id);
		return elicit_gone(&a->dialogs, a->msg.a.id, a->msg.text, out);
	case APPROVAL_ANSWER:
	default:
		break;
	}
	if (a->state == ASKS_ASKED && a->msg.code != 0) {
		/* Not by dialogs, then: atsctl approve is there. */
		ats_fd_close(&a->fd);
		a->state = ASKS_REFUSED;
		rounds_all_gone(&a->rounds);
		if (a->again)	/* it was the former brain that refused */
			want(a);
		return elicit_all_gone(&a->dialogs, "not by dialogs", out);
	}
	if (a->msg.code != 0)
		(void)ctl_fail(0, "mcp: brain did not take the decision of a dialog: %s",
		    a->msg.text);
	a->state = ASKS_ON;
	return 0;
}

int
asks_step(struct mcp_asks *a, const char *session, struct ats_buf *out)
{
	int rc = 0;

	if (asks_wait_ms(a) == 0)
		rc = start(a, session, out);
	while (rc == 0 && a->fd >= 0) {
		rc = approval_read(a->fd, false, &a->msg, NULL);
		if (rc == 0)
			return 0;
		rc = rc < 0 ? lose(a, out) : on_message(a, out);
	}
	return rc;
}

void
asks_decide(struct mcp_asks *a, const struct round_decision *d)
{
	int rc = a->fd < 0 ? -ATS_E_EOF : 0;

	if (d->said == ELICIT_APPROVE && rc == 0)
		rc = approval_approve(a->fd, ++a->seq, d->approval, d->sha256, d->way, NULL);
	else if (d->said == ELICIT_DENY && rc == 0)
		rc = approval_deny(a->fd, ++a->seq, d->approval, "", d->way, NULL);
	if (rc < 0 && (d->said == ELICIT_APPROVE || d->said == ELICIT_DENY))
		(void)ctl_fail(0, "mcp: brain was lost before it heard the decision of a dialog");
}

bool
asks_take(struct mcp_asks *a, const char *line, size_t n)
{
	struct round_decision say;
	struct elicit_dialog d;

	say.said = elicit_answer(&a->dialogs, line, n, &d);
	if (say.said == ELICIT_NOT_OURS || a->fd < 0)
		return say.said != ELICIT_NOT_OURS;
	if (say.said == ELICIT_NOTHING)
		return true;
	memcpy(say.approval, d.approval, sizeof(say.approval));
	memcpy(say.sha256, d.sha256, sizeof(say.sha256));
	memcpy(say.way, a->way, sizeof(say.way));
	asks_decide(a, &say);
	return true;
}

