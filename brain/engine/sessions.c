/* SPDX-License-Identifier: Apache-2.0
 *
 * One session: what it has read, where it stands, its background shells. Runs in the
 * engine; changes come from checked deltas only. */
#include "brain/engine/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define NOTICE_MAX 2048

struct session *
session_new(const char *id, uint64_t uid, const char *workspace, const char *key,
    size_t reads_max)
{
	struct session *s;

	if (strlen(id) > SESSION_ID_MAX || strlen(workspace) >= sizeof(s->cwd))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	TAILQ_INIT(&s->order);
	TAILQ_INIT(&s->forgotten);
	memcpy(s->id, id, strlen(id) + 1);
	memcpy(s->cwd, workspace, strlen(workspace) + 1);
	s->uid = uid;
	s->workspace = strdup(workspace);
	s->key = strdup(key);
	s->reads = ats_map_new(reads_max + 1);
	s->reads_max = reads_max;
	if (s->workspace == NULL || s->key == NULL || s->reads == NULL) {
		session_free(s);
		return NULL;
	}
	return s;
}

static void
read_drop(struct session *s, struct session_read *r)
{
	(void)ats_map_del_str(s->reads, r->path);
	TAILQ_REMOVE(&s->order, r, link);
	free(r);
}

static void
free_forgotten(struct session *s, size_t keep)
{
	struct session_read *r;

	while (s->nforgotten > keep) {
		r = TAILQ_FIRST(&s->forgotten);
		TAILQ_REMOVE(&s->forgotten, r, link);
		s->nforgotten--;
		free(r);
	}
}

/* The oldest makes room. Its row goes with the next save; while none works (a full disk), as
 * many are remembered as there may be reads: a row that is left over only takes space. */
static void
forget_oldest(struct session *s)
{
	struct session_read *r = TAILQ_FIRST(&s->order);

	(void)ats_map_del_str(s->reads, r->path);
	TAILQ_REMOVE(&s->order, r, link);
	TAILQ_INSERT_TAIL(&s->forgotten, r, link);
	s->nforgotten++;
	free_forgotten(s, s->reads_max);
}

void
session_saved(struct session *s)
{
	struct session_read *r;

	if (s->dirty_reads)
		TAILQ_FOREACH(r, &s->order, link)
			r->dirty = false;
	s->dirty_reads = false;
	s->dirty = false;
	free_forgotten(s, 0);
}

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	free_forgotten(s, 0);
	while (!TAILQ_EMPTY(&s->order))
		read_drop(s, TAILQ_FIRST(&s->order));
	ats_map_free(s->reads);
	free(s->workspace);
	free(s->key);
	free(s->notice);
	free(s);
}

const struct session_read *
session_read_find(const struct session *s, const char *path)
{
	return ats_map_get_str(s->reads, path);
}

static struct session_read *
read_new(struct session *s, const char *path)
{
	size_t n = strlen(path) + 1;
	struct session_read *r = calloc(1, sizeof(*r) + n);

	if (r == NULL)
		return NULL;
	memcpy(r->path, path, n);
	while (ats_map_count(s->reads) >= s->reads_max && !TAILQ_EMPTY(&s->order))
		forget_oldest(s);
	if (ats_map_put_str(s->reads, r->path, r) < 0) {
		free(r);
		return NULL;
	}
	return r;
}

int
session_read_put(struct session *s, const char *path, uint64_t size, uint64_t mtime_ns,
    const char *sha256, bool dirty)
{
	struct session_read *r = ats_map_get_str(s->reads, path);
	bool is_new = r == NULL;

	if (!is_new)
		TAILQ_REMOVE(&s->order, r, link);
	else
		r = read_new(s, path);
	if (r == NULL)
		return -ATS_E_NOMEM;
	/* Reading again what is known costs the journal nothing. */
	if (is_new || r->size != size || r->mtime_ns != mtime_ns ||
	    strcmp(r->sha256, sha256) != 0) {
		r->size = size;
		r->mtime_ns = mtime_ns;
		strncpy(r->sha256, sha256, sizeof(r->sha256) - 1);
		r->sha256[sizeof(r->sha256) - 1] = '\0';
		r->dirty = dirty;
		s->dirty_reads |= dirty;
	}
	r->nr = ++s->reads_nr;
	TAILQ_INSERT_TAIL(&s->order, r, link);
	return 0;
}

void
session_cwd_set(struct session *s, const char *cwd)
{
	size_t n = strlen(cwd);

	if (n >= sizeof(s->cwd))
		return;
	memcpy(s->cwd, cwd, n + 1);
	s->dirty = true;
}

int
session_shell_add(struct session *s, const char *id)
{
	size_t i, n = strlen(id);

	if (n > SESSION_SHELL_ID_MAX)
		return -ATS_E_FULL;
	for (i = 0; i < s->nshells; i++)
		if (strcmp(s->shells[i], id) == 0)
			return 0;
	if (s->nshells == SESSION_SHELLS_MAX)
		return -ATS_E_FULL;
	memcpy(s->shells[s->nshells++], id, n + 1);
	s->dirty = true;
	return 0;
}

void
session_shell_del(struct session *s, const char *id)
{
	size_t i;

	for (i = 0; i < s->nshells; i++) {
		if (strcmp(s->shells[i], id) != 0)
			continue;
		s->nshells--;
		memmove(s->shells[i], s->shells[i + 1],
		    (s->nshells - i) * sizeof(s->shells[0]));
		s->dirty = true;
		return;
	}
}

void
session_notice_add(struct session *s, const char *text)
{
	size_t have = s->notice == NULL ? 0 : strlen(s->notice);
	size_t n = strlen(text);
	char *bigger;

	if (have + n + 2 > NOTICE_MAX)
		return;
	bigger = realloc(s->notice, have + n + 2);
	if (bigger == NULL)
		return;
	s->notice = bigger;
	if (have > 0)
		s->notice[have++] = '\n';
	memcpy(s->notice + have, text, n + 1);
}
