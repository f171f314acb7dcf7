/* SPDX-License-Identifier: Apache-2.0
 *
 * Grants in a list: there are few. Linked into the vault; tools and sessions come from its own
 * tables, the time from its clock. */
#include "brain/policy/grants.h"

#include <string.h>
#include <sys/queue.h>

#include "common/fault.h"

struct grant {
	TAILQ_ENTRY(grant) link;
	uint64_t nr, epoch;
	int64_t expires_ms;
	unsigned char sha256[ATS_SHA256_BYTES];
	char *tool, *session;		/* owned */
};

struct grants {
	TAILQ_HEAD(, grant) all;
	size_t n, max;
	uint64_t next;
};

struct grants *
grants_new(size_t max)
{
	struct grants *g = ats_calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	TAILQ_INIT(&g->all);
	g->max = max;
	g->next = 1;
	return g;
}

static void
grant_free(struct grant *one)
{
	free(one->tool);
	free(one->session);
	free(one);
}

static void
drop(struct grants *g, struct grant *one)
{
	TAILQ_REMOVE(&g->all, one, link);
	g->n--;
	grant_free(one);
}

void
grants_free(struct grants *g)
{
	struct grant *one;

	if (g == NULL)
		return;
	while ((one = TAILQ_FIRST(&g->all)) != NULL)
		drop(g, one);
	free(g);
}

/* Hex of a digest, the only form that policy_sha256 gives. */
static bool
read_digest(const char *hex, unsigned char ret[ATS_SHA256_BYTES])
{
	return strlen(hex) == ATS_SHA256_HEX - 1 && ats_unhex(hex, ret, ATS_SHA256_BYTES);
}

int
grants_make(struct grants *g, const struct grant_key *key, int64_t expires_ms, int64_t now_ms,
    uint64_t *ret_nr)
{
	struct grant *one;

	if (g->n >= g->max)
		(void)grants_expire(g, now_ms);
	if (g->n >= g->max)
		return -ATS_E_FULL;
	one = ats_calloc(1, sizeof(*one));
	if (one == NULL)
		return -ATS_E_NOMEM;
	if (!read_digest(key->sha256, one->sha256)) {
		free(one);
		return -ATS_E_INVAL;
	}
	one->tool = ats_strdup(key->tool);
	one->session = ats_strdup(key->session);
	if (one->tool == NULL || one->session == NULL) {
		grant_free(one);
		return -ATS_E_NOMEM;
	}
	one->epoch = key->epoch;
	one->expires_ms = expires_ms;
	one->nr = g->next++;
	TAILQ_INSERT_TAIL(&g->all, one, link);
	g->n++;
	*ret_nr = one->nr;
	return 0;
}

int
grants_consume(struct grants *g, const struct grant_key *key, int64_t now_ms, uint64_t *ret_nr)
{
	unsigned char digest[ATS_SHA256_BYTES];
	struct grant *one, *found = NULL;

	if (!read_digest(key->sha256, digest))
		return -ATS_E_DENIED;
	(void)grants_expire(g, now_ms);
	/* All are looked at: the time does not tell which one was near. */
	TAILQ_FOREACH(one, &g->all, link)
		if (ats_digest_equal(one->sha256, digest, sizeof(digest)) &&
		    one->epoch == key->epoch &&
		    strcmp(one->tool, key->tool) == 0 &&
		    strcmp(one->session, key->session) == 0 && found == NULL)
			found = one;
	if (found == NULL)
		return -ATS_E_DENIED;
	*ret_nr = found->nr;
	drop(g, found);
	return 0;
}

size_t
grants_expire(struct grants *g, int64_t now_ms)
{
	struct grant *one, *next;
	size_t n = 0;

	for (one = TAILQ_FIRST(&g->all); one != NULL; one = next) {
		next = TAILQ_NEXT(one, link);
		if (now_ms < one->expires_ms)
			continue;
		drop(g, one);
		n++;
	}
	return n;
}

size_t
grants_session_closed(struct grants *g, const char *session)
{
	struct grant *one, *next;
	size_t n = 0;

	for (one = TAILQ_FIRST(&g->all); one != NULL; one = next) {
		next = TAILQ_NEXT(one, link);
		if (strcmp(one->session, session) != 0)
			continue;
		drop(g, one);
		n++;
	}
	return n;
}

size_t
grants_count(const struct grants *g)
{
	return g->n;
}
