/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for a person. Runs in the vault. Who answers is a process of the user on
 * vault.sock; what it approves is what it showed, by its SHA-256, and the grant that this makes is
 * used up here at once by the one call that waits. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/json.h"

#define GRANT_MS 5000			/* it is used up in the same turn of the loop */
#define ELICITATION "elicitation"

static void
on_expiry(evutil_socket_t fd, short what, void *arg);

static void
arm(struct vault *v)
{
	struct decide *d = v->decide;
	int64_t next = approvals_next_ms(d->approvals), wait;
	struct timeval t;

	if (d->expiry == NULL)
		return;
	(void)event_del(d->expiry);
	if (next == INT64_MAX)
		return;
	wait = next - decide_now_ms(v);
	wait = wait > 0 ? wait : 0;
	t = ats_timeval_ms((uint64_t)wait + 1);
	(void)event_add(d->expiry, &t);
}

int
approve_ask(struct vault *v, struct ask *a, struct ats_err *err)
{
	struct decide *d = v->decide;
	int64_t now = decide_now_ms(v);
	const struct approval_ask ask = { .session = a->session,
		.gateway = a->gateway != NULL ? a->gateway->src->conf.name : "", .tool = a->tool,
		.args = { a->args.data, a->args.len }, .call = a->id, .epoch = d->epoch,
		.expires_ms = now + (int64_t)v->conf->approval_expire_s * 1000, .owner = a };
	struct approval *p;
	int rc;

	if (d->expiry == NULL)
		d->expiry = evtimer_new(v->base, on_expiry, v);
	if (d->expiry == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	rc = approvals_add(d->approvals, &ask, now, &p, NULL);
	if (rc == -ATS_E_FULL)
		return ats_err_set(err, ATS_E_FULL, "As many calls as may wait for a person's "
		    "approval wait already (limits.approvals). It was not run; tell the user.");
	if (rc < 0)
		return ats_err_set(err, -rc, "Nobody can be asked: %s. It was not run.",
		    ats_err_text(rc));
	(void)snprintf(a->approval, sizeof(a->approval), "%s", p->id);
	if (ask_audit(v, a, "asked", NULL, 0, NULL, NULL) < 0) {
		approvals_take(d->approvals, p);
		approval_free(p);
		a->approval[0] = '\0';
		return ats_err_set(err, ATS_E_NOSPC, "It was not run: the audit log cannot be "
		    "written. Tell the user; brain.log has more.");
	}
	a->state = ASK_WAITS;
	a->say = GATEWAY_WAITS;
	a->owe_state = true;
	a->serial = ++d->serial;
	ats_buf_done(&a->args);		/* the approval has them */
	ats_buf_init(&a->args, ATS_GATEWAY_ARGS_MAX);
	arm(v);
	follow_new(v);
	return 0;
}

/* It is answered, expired or withdrawn: event is the audit's word, which followers hear, too. p is
 * out of the table, and freed. */
static void
leave(struct vault *v, struct ask *a, struct approval *p, const char *event, const char *told,
    int code, const char *text)
{
	struct ats_buf args = a->args;

	a->args = p->args;		/* as they were shown; a runs with these, if it does */
	p->args = args;
	(void)!ask_audit(v, a, event, NULL, code, text, NULL);
	follow_gone(v, a, told);
	approval_free(p);
	arm(v);
}

void
approve_withdraw(struct vault *v, struct ask *a)
{
	struct approval *p = approvals_find(v->decide->approvals, a->approval);

	if (p == NULL)
		return;
	approvals_take(v->decide->approvals, p);
	leave(v, a, p, "withdrawn", "cancelled", ATS_E_CANCELLED, NULL);
}

static void
on_expiry(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;
	struct approval *p;

	(void)fd;
	(void)what;
	while ((p = approvals_expired(v->decide->approvals, decide_now_ms(v))) != NULL) {
		struct ask *a = p->owner;

		leave(v, a, p, "expired", "expired", ATS_E_TIMEOUT, NULL);
		ask_end(v, a, ATS_E_DENIED, "Nobody approved it within %llu s. It was not run, and "
		    "this request is over. Go on without it, or ask the user to watch `atsctl "
		    "approvals` and call again when they say so.",
		    (unsigned long long)v->conf->approval_expire_s);
	}
	arm(v);
	engine_sync(v);
}

/* ---- of clients --------------------------------------------------------------------- */

int
approve_check_way(const struct vault *v, const char *way, struct ats_err *err)
{
	size_t n = strlen(ELICITATION);

	if (strcmp(way, "terminal") == 0)
		return 0;
	if (strncmp(way, ELICITATION, n) != 0 || (way[n] != ' ' && way[n] != '\0') ||
	    strlen(way) >= WAY_MAX || !ats_utf8_valid(way, strlen(way)))
		return ats_err_set(err, ATS_E_INVAL, "no such way to decide");
	for (const char *s = way; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return ats_err_set(err, ATS_E_INVAL, "no such way to decide");
	return v->conf->elicitation ? 0 : ats_err_set(err, ATS_E_PERM, "approvals.elicitation is "
	    "false: calls are approved by atsctl approve");
}

/* Only the owner learns that an id exists. */
static struct approval *
find(struct vault *v, uint64_t uid, const char *id, struct ats_err *err)
{
	struct approval *p = approvals_find(v->decide->approvals, id);
	const struct ask *a = p != NULL ? p->owner : NULL;

	if (a != NULL && a->uid == uid)
		return p;
	(void)ats_err_set(err, ATS_E_UNKNOWN_ID, "nothing waits by the id %.24s: it was approved, "
	    "denied or cancelled, or has expired", id);
	return NULL;
}

int
approve_yes(struct vault *v, uint64_t uid, const char *id, const char *sha256, const char *way,
    struct ats_err *err)
{
	struct decide *d = v->decide;
	int64_t now = decide_now_ms(v);
	struct approval *p = NULL;
	uint64_t nr = 0, used = 0;
	struct ask *a;
	int rc = approve_check_way(v, way, err);

	if (rc == 0 && find(v, uid, id, err) == NULL)
		rc = -ATS_E_UNKNOWN_ID;
	if (rc == 0)
		rc = approvals_approve(d->approvals, &(const struct approval_yes){ .id = id,
			.shown_sha256 = sha256, .now_ms = now,
			.grant_until_ms = now + GRANT_MS }, d->grants, &p, &nr, err);
	if (rc < 0)
		return rc;
	a = p->owner;
	rc = grants_consume(d->grants, &(const struct grant_key){ .tool = a->tool,
		.sha256 = a->sha256, .session = a->session, .epoch = d->epoch }, now, &used);
	(void)snprintf(a->way, sizeof(a->way), "%s", way);
	a->grant = used;
	leave(v, a, p, "approved", "approved", 0, NULL);
	if (rc < 0) {			/* the table is full of others, or it is our fault */
		ask_end(v, a, ATS_E_DENIED, "It was approved, but that could not be used. It was "
		    "not run; call again.");
		rc = ats_err_set(err, ATS_E_STATE, "it was approved, but could not be run");
	} else {
		ask_permit(v, a);
	}
	engine_sync(v);
	return rc;
}

int
approve_no(struct vault *v, uint64_t uid, const char *id, const char *reason, const char *way,
    struct ats_err *err)
{
	struct ats_buf shown ATS_CLEANUP_BUF = { 0 };
	struct approval *p;
	struct ask *a;
	int rc = approve_check_way(v, way, err);

	if (rc < 0)
		return rc;
	p = find(v, uid, id, err);
	if (p == NULL)
		return -ATS_E_UNKNOWN_ID;
	a = p->owner;
	ats_buf_init(&shown, 2048);
	(void)!ats_utf8_show(&shown, reason, strnlen(reason, 240));
	(void)snprintf(a->way, sizeof(a->way), "%s", way);
	approvals_take(v->decide->approvals, p);
	leave(v, a, p, "denied", "denied", ATS_E_DENIED, shown.data);
	ask_end(v, a, ATS_E_DENIED, "A person denied it%s%.240s. It was not run, and this is "
	    "final: do not call it again, nor get the same by another way. Ask what to do instead.",
	    shown.len > 0 ? ": " : "", shown.data);
	engine_sync(v);
	return 0;
}
