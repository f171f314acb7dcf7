/* SPDX-License-Identifier: Apache-2.0
 *
 * Grants: that a person said yes to one call. A grant is for one tool, one SHA-256 of canonical
 * arguments, one session, one epoch of the vault, and until a time; it is taken by the first
 * call that has all of these, and is gone then. In memory only: a new vault has another epoch
 * and none of them. Pure; the caller says what time it is, always by the same clock. */
#ifndef ATS_POLICY_GRANTS_H
#define ATS_POLICY_GRANTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/digest.h"

struct grants;
struct grant_key {			/* all borrowed; each must match */
	const char *tool;		/* name as clients see it */
	const char *sha256;		/* policy_sha256 of the arguments */
	const char *session;
	uint64_t epoch;
};

/* max: how many there are at a time. Returns owned or NULL. */
struct grants *grants_new(size_t max);
void grants_free(struct grants *g);
/* Two of the same key are two grants. *ret_nr is its number, never used again, for the audit.
 * -ATS_E_INVAL (not a digest), -ATS_E_FULL (those that are past their time were dropped first),
 * -ATS_E_NOMEM. */
ATS_NODISCARD int grants_make(struct grants *g, const struct grant_key *key, int64_t expires_ms,
    int64_t now_ms, uint64_t *ret_nr);
/* Takes the grant: 0 once. -ATS_E_DENIED: there is none, or no more; digests are compared in a
 * time that tells nothing of them. */
ATS_NODISCARD int grants_consume(struct grants *g, const struct grant_key *key, int64_t now_ms,
    uint64_t *ret_nr);
/* Drops what has expired; returns how many. */
size_t grants_expire(struct grants *g, int64_t now_ms);
/* Drops those of a session that is closed; returns how many. */
size_t grants_session_closed(struct grants *g, const char *session);
size_t grants_count(const struct grants *g);

#endif
