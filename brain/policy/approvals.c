/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for a person, in the order in which they asked. Linked into the vault; the
 * arguments are an agent's, in canonical form, and are only kept here. */
#include "brain/policy/approvals.h"

#include <string.h>
#include <sys/queue.h>

#include "common/fault.h"

struct waiting {
	TAILQ_ENTRY(waiting) link;
	struct approval a;
};

struct approvals {
	TAILQ_HEAD(, waiting) all;
	size_t n, max;
};

struct approvals *
approvals_new(size_t max)
{
	struct approvals *a = ats_calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	TAILQ_INIT(&a->all);
	a->max = max;
	return a;
}

static struct waiting *
waiting_of(const struct approval *p)
{
	return (struct waiting *)((uintptr_t)p - offsetof(struct waiting, a));
}

void
approval_free(struct approval *p)
{
	if (p == NULL)
		return;
	free(p->session);
	free(p->gateway);
	free(p->tool);
	ats_buf_done(&p->args);
	free(waiting_of(p));
}

void
approvals_free(struct approvals *a)
{
	struct waiting *w;

	if (a == NULL)
		return;
	while ((w = TAILQ_FIRST(&a->all)) != NULL) {
		approvals_take(a, &w->a);
		approval_free(&w->a);
	}
	free(a);
}

static int
fill(struct approval *p, const struct approval_ask *ask, int64_t now_ms)
{
	ats_buf_init(&p->args, ask->args.n);
	p->call = ask->call;
	p->epoch = ask->epoch;
	p->asked_ms = now_ms;
	p->expires_ms = ask->expires_ms;
	p->owner = ask->owner;
	p->session = ats_strdup(ask->session);
	p->gateway = ats_strdup(ask->gateway);
	p->tool = ats_strdup(ask->tool);
	if (p->session == NULL || p->gateway == NULL || p->tool == NULL ||
	    ats_buf_add(&p->args, ask->args.p, ask->args.n) < 0)
		return -ATS_E_NOMEM;
	ats_sha256_hex(ask->args.p, ask->args.n, p->sha256);
	return ats_id_new("a", p->id, sizeof(p->id));
}

int
approvals_add(struct approvals *a, const struct approval_ask *ask, int64_t now_ms,
    struct approval **ret, struct ats_err *err)
{
	struct waiting *w;
	int rc;

	if (approvals_find_call(a, ask->call) != NULL)
		return ats_err_set(err, ATS_E_EXISTS, "this call waits for approval already");
	if (a->n >= a->max)
		return ats_err_set(err, ATS_E_FULL,
		    "%zu calls wait for approval, which is as many as may (limits.approvals)",
		    a->n);
	w = ats_calloc(1, sizeof(*w));
	if (w == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "approval");
	rc = fill(&w->a, ask, now_ms);
	if (rc == 0 && approvals_find(a, w->a.id) != NULL)	/* 48 random bits */
		rc = -ATS_E_EXISTS;
	if (rc < 0) {
		approval_free(&w->a);
		return ats_err_set(err, -rc, "approval: %s", ats_err_text(rc));
	}
	TAILQ_INSERT_TAIL(&a->all, w, link);
	a->n++;
	*ret = &w->a;
	return 0;
}

struct approval *
approvals_find(const struct approvals *a, const char *id)
{
	struct waiting *w;

	TAILQ_FOREACH(w, &a->all, link)
		if (strcmp(w->a.id, id) == 0)
			return &w->a;
	return NULL;
}

struct approval *
approvals_find_call(const struct approvals *a, uint64_t call)
{
	struct waiting *w;

	TAILQ_FOREACH(w, &a->all, link)
		if (w->a.call == call)
			return &w->a;
	return NULL;
}

struct approval *
approvals_each(const struct approvals *a, size_t *pos)
{
	struct waiting *w;
	size_t i = 0;

	TAILQ_FOREACH(w, &a->all, link) {
		if (i++ == *pos) {
			++*pos;
			return &w->a;
		}
	}
	return NULL;
}

size_t
approvals_count(const struct approvals *a)
{
	return a->n;
}

void
approvals_take(struct approvals *a, struct approval *p)
{
	TAILQ_REMOVE(&a->all, waiting_of(p), link);
	a->n--;
}

int
approvals_approve(struct approvals *a, const struct approval_yes *yes, struct grants *g,
    struct approval **ret, uint64_t *ret_grant, struct ats_err *err)
{
	struct approval *p = approvals_find(a, yes->id);
	struct grant_key key;
	int rc;

	if (p == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_ID,
		    "nothing waits for this approval: it was answered, its time is over, or its "
		    "caller does not wait any more");
	if (yes->now_ms >= p->expires_ms)
		return ats_err_set(err, ATS_E_TIMEOUT,
		    "the time for this approval is over; the call was not run");
	if (strcmp(p->sha256, yes->shown_sha256) != 0)
		return ats_err_set(err, ATS_E_CHANGED,
		    "what was shown is not what this call would do; look at it again");
	key = (struct grant_key){ p->tool, p->sha256, p->session, p->epoch };
	rc = grants_make(g, &key, yes->grant_until_ms, yes->now_ms, ret_grant);
	if (rc < 0)
		return ats_err_set(err, -rc, "the approval cannot be kept: %s; try again",
		    ats_err_text(rc));
	approvals_take(a, p);
	*ret = p;
	return 0;
}

struct approval *
approvals_expired(struct approvals *a, int64_t now_ms)
{
	struct waiting *w;

	TAILQ_FOREACH(w, &a->all, link) {
		if (now_ms >= w->a.expires_ms) {
			approvals_take(a, &w->a);
			return &w->a;
		}
	}
	return NULL;
}

int64_t
approvals_next_ms(const struct approvals *a)
{
	const struct waiting *w;
	int64_t next = INT64_MAX;

	TAILQ_FOREACH(w, &a->all, link)
		if (w->a.expires_ms < next)
			next = w->a.expires_ms;
	return next;
}
