/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: who owns them, where they stand, what they have read. The vault registers
 * them; the journal keeps them across restarts of the engine. */
#ifndef ATS_ENGINE_SESSIONS_H
#define ATS_ENGINE_SESSIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/err.h"

#define SESSION_ID_MAX 32
#define SESSION_SHELLS_MAX 64
#define SESSION_SHELL_ID_MAX 32

struct ats_map;
struct engine;
struct sandbox;

struct session_read {
	TAILQ_ENTRY(session_read) link;	/* newest last */
	uint64_t size, mtime_ns;
	uint64_t nr;			/* from 1; another each time that it is told of */
	char sha256[65];
	bool dirty;			/* newer than the journal's row */
	char path[];
};
TAILQ_HEAD(session_read_list, session_read);

struct session {
	char id[SESSION_ID_MAX + 1];
	uint64_t uid, nr;		/* nr: the lower, the older */
	struct sandbox *box;		/* NULL in unit tests only */
	char *workspace, *key;		/* owned */
	char cwd[4096];
	struct ats_map *reads;		/* path -> struct session_read */
	struct session_read_list order;
	size_t reads_max;
	uint64_t reads_nr;		/* the last that was given */
	struct session_read_list forgotten;	/* whose rows are still in the journal */
	size_t nforgotten;
	char shells[SESSION_SHELLS_MAX][SESSION_SHELL_ID_MAX + 1];
	size_t nshells;
	char *notice;			/* owned; told with the next answer, or NULL */
	bool dirty;			/* cwd or shells newer than the journal's row */
	bool dirty_reads;
	uint64_t row_of;		/* the journal that has its row, store_sessions.c; 0 none */
	uint64_t calls;			/* ended calls, for people */
	TAILQ_ENTRY(session) dirty_link;
	bool on_dirty_list;
};

/* One session by itself; the caller owns it. For sessions.c and tests. */
struct session *session_new(const char *id, uint64_t uid, const char *workspace,
    const char *key, size_t reads_max);
void session_free(struct session *s);	/* NULL is fine */
const struct session_read *session_read_find(const struct session *s, const char *path);
/* Remembers a file's state, forgetting the oldest at the cap. sha256 may be "". */
ATS_NODISCARD int session_read_put(struct session *s, const char *path, uint64_t size,
    uint64_t mtime_ns, const char *sha256, bool dirty);
/* The journal has everything: nothing is dirty, what was forgotten is out of it. */
void session_saved(struct session *s);
void session_cwd_set(struct session *s, const char *cwd);
/* -ATS_E_FULL over SESSION_SHELLS_MAX; known ids are fine. */
ATS_NODISCARD int session_shell_add(struct session *s, const char *id);
void session_shell_del(struct session *s, const char *id);
/* Adds a line to the notice (bounded; errors lose only the notice). */
void session_notice_add(struct session *s, const char *text);

struct sessions *sessions_new(struct engine *e);	/* owned; NULL without memory */
void sessions_free(struct sessions *t);
/* The vault's SESSION: makes it, or finds it when it is the same one (uid, workspace and
 * sandbox equal, else -ATS_E_EXISTS). Reads its row of the journal. */
ATS_NODISCARD int sessions_register(struct sessions *t, const char *id, const char *box_id,
    uint64_t uid, const char *workspace, const char *key, struct ats_err *err);
void sessions_close(struct sessions *t, const char *id);
/* Borrowed until it is closed; NULL: there is none of that id. */
struct session *sessions_find(const struct sessions *t, const char *id);
/* The same, but NULL unless uid owns it: foreign and unknown look alike. */
struct session *sessions_find_owned(const struct sessions *t, const char *id, uint64_t uid);
/* All of them, for pos from 0 on; borrowed, NULL behind the last. */
struct session *sessions_each(const struct sessions *t, size_t *pos);
size_t sessions_count(const struct sessions *t);
/* Background shells of all sessions. */
size_t sessions_shells(const struct sessions *t);
/* The sandbox ended: forget the shells of its sessions and leave them a notice. */
void sessions_box_lost(struct sessions *t, const struct sandbox *box);
/* The session has changed: written with the next commit, or soon. */
void sessions_touch(struct sessions *t, struct session *s);
/* Writes what is dirty into the journal, in the transaction that is open or its own. */
void sessions_flush(struct sessions *t);

#endif
