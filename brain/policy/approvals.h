/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for a person. Whoever approves says which arguments were shown, by their
 * SHA-256; the answer is a grant (grants.h) that only the call that waits can use. An approval
 * is answered once: approved, denied, expired or cancelled, it is out of the table. Pure; the
 * caller says what time it is, always by the same clock. */
#ifndef ATS_POLICY_APPROVALS_H
#define ATS_POLICY_APPROVALS_H

#include "brain/policy/grants.h"
#include "common/buf.h"

#define APPROVAL_ID_MAX 24

struct approvals;
struct approval {
	char id[APPROVAL_ID_MAX];	/* a-XXXXXXXXXXXX */
	char *session, *gateway, *tool;	/* owned; gateway is "" for a tool of the sandbox */
	struct ats_buf args;		/* canonical form */
	char sha256[ATS_SHA256_HEX];	/* of args */
	uint64_t call;			/* the call that waits */
	uint64_t epoch;
	int64_t asked_ms, expires_ms;
	void *owner;			/* the caller's, borrowed; untouched here */
};
struct approval_ask {			/* all borrowed */
	const char *session, *gateway, *tool;
	struct ats_slice args;		/* canonical form */
	uint64_t call, epoch;
	int64_t expires_ms;
	void *owner;
};

/* max: how many wait at a time. Returns owned or NULL. */
struct approvals *approvals_new(size_t max);
void approvals_free(struct approvals *a);
/* *ret is borrowed, until it is taken. -ATS_E_FULL, -ATS_E_EXISTS (the call waits already),
 * -ATS_E_NOMEM, -ATS_E_SYS (no random bytes). */
ATS_NODISCARD int approvals_add(struct approvals *a, const struct approval_ask *ask,
    int64_t now_ms, struct approval **ret, struct ats_err *err);
/* Borrowed, or NULL. */
struct approval *approvals_find(const struct approvals *a, const char *id);
struct approval *approvals_find_call(const struct approvals *a, uint64_t call);
/* In the order in which they were asked: for (pos = 0; (p = approvals_each(a, &pos)); ). */
struct approval *approvals_each(const struct approvals *a, size_t *pos);
size_t approvals_count(const struct approvals *a);
struct approval_yes {			/* what a person has said; all borrowed */
	const char *id, *shown_sha256;	/* of which approval, and of the arguments that he saw */
	int64_t now_ms, grant_until_ms;
};
/* Makes the grant in g, until yes->grant_until_ms, and takes the approval out: owned in *ret
 * (approval_free), so that the caller can go on with the call;
 * *ret_grant as grants_make. -ATS_E_UNKNOWN_ID: nobody waits; -ATS_E_CHANGED: something else was
 * shown; -ATS_E_TIMEOUT: too late, and it waits to be expired; others as grants_make. err has a
 * text for the person. Nothing is changed on failure. */
ATS_NODISCARD int approvals_approve(struct approvals *a, const struct approval_yes *yes,
    struct grants *g, struct approval **ret, uint64_t *ret_grant, struct ats_err *err);
/* Denied, or its caller is gone: out of the table, and owned by the caller. */
void approvals_take(struct approvals *a, struct approval *p);
void approval_free(struct approval *p);
/* The next one whose time is over, out of the table and owned, or NULL. */
struct approval *approvals_expired(struct approvals *a, int64_t now_ms);
/* When the next one expires; INT64_MAX: none waits. */
int64_t approvals_next_ms(const struct approvals *a);

#endif
