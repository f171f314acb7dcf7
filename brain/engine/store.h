/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal: one SQLite file that makes a call's answer survive the engine. Tables
 * sessions, reads, calls, made. WAL with synchronous=NORMAL: it survives the death of the
 * process; a power loss may cost the last moments. Held with an exclusive lock.
 *
 * A full disk: each write says -ATS_E_NOSPC and leaves the file as it was. */
#ifndef ATS_ENGINE_STORE_H
#define ATS_ENGINE_STORE_H

#include <stdint.h>

#include "brain/engine/outcome.h"

#define STORE_INLINE_MAX (64u << 10)	/* larger payloads go to a file beside the journal */

struct session;
struct store;

enum store_state { STORE_NONE, STORE_DISPATCHED, STORE_DONE };

/* A row of calls. Strings are borrowed on writing; on reading they live in the store until
 * its next call. */
struct store_call {
	uint64_t id;
	const char *session, *sandbox, *key, *tool, *digest;
	const char *boot;		/* of hands when it was sent */
	const char *path;		/* the file it names, or NULL */
	/* A person was asked about it: SHA-256 of what was shown, and whether the answer was yes.
	 * boot is "" as long as it was not sent. */
	const char *asked;
	bool permitted;
	unsigned hooks;			/* that follow it: enum hooks_due of hooks.h */
	struct ats_slice input;		/* what was sent, for these; p == NULL: not kept */
	enum store_state state;
	uint64_t attempt;
	int64_t created_ms, deadline_ms;	/* wall clock; 0 none */
	struct outcome outcome;		/* state DONE */
	bool payload_lost;		/* payload was too large and its file is gone */
	char payload_sha256[65];
	uint64_t payload_len;
};

/* dir: the engine's state directory. Opens or makes dir/journal.db; one that cannot be
 * read is put aside as journal.db.damaged-TIME (and logged), one such file is kept. So it is
 * with one whose damage is found later: the function that finds it says -ATS_E_NOT_STARTED,
 * the next works with a new file. Returns owned in *ret. */
ATS_NODISCARD int store_open(const char *dir, struct store **ret, struct ats_err *err);
void store_close(struct store *st);	/* NULL is fine */
/* An engine before this one left a journal that could not be read until now: calls may have run
 * of which nothing is known. */
bool store_is_unread(const struct store *st);
/* Why the journal could not be written to or read, until it could again; else "". Borrowed. */
const char *store_trouble(const struct store *st);
/* The id for the next call that is journaled: never given twice, not across restarts. */
uint64_t store_next_id(struct store *st);
/* Whether an id is one that was given. */
bool store_id_given(const struct store *st, uint64_t id);

/* Before a call is sent, or a person asked about it: inserts or replaces its row. One commit. */
ATS_NODISCARD int store_call_sent(struct store *st, const struct store_call *c,
    struct ats_err *err);
/* Hooks that follow it begin. One commit. */
ATS_NODISCARD int store_call_hooks(struct store *st, uint64_t id, unsigned hooks,
    struct ats_err *err);
/* After it ended: outcome and the session's changes. One commit. */
ATS_NODISCARD int store_call_done(struct store *st, uint64_t id, const struct outcome *o,
    struct session *s, struct ats_err *err);
/* Forgets a call that was never received. */
ATS_NODISCARD int store_call_drop(struct store *st, uint64_t id, struct ats_err *err);
/* 1 and *ret filled, 0 if there is none, or negative. */
ATS_NODISCARD int store_call_by_key(struct store *st, const char *session, const char *key,
    struct store_call *ret, struct ats_err *err);
ATS_NODISCARD int store_call_by_id(struct store *st, uint64_t id, struct store_call *ret,
    struct ats_err *err);
/* Calls fn for each row that was sent and has no answer; rows are not changed by fn. */
ATS_NODISCARD int store_calls_open(struct store *st,
    int (*fn)(void *ctx, const struct store_call *c), void *ctx, struct ats_err *err);

/* Fills cwd, shells and reads of a session from its rows; a row of another owner or
 * workspace is dropped. 0 also if there is none. */
ATS_NODISCARD int store_session_load(struct store *st, struct session *s, struct ats_err *err);
ATS_NODISCARD int store_session_save(struct store *st, struct session *s, struct ats_err *err);
ATS_NODISCARD int store_session_drop(struct store *st, const char *id, struct ats_err *err);
/* Forgets answers older than days, and the oldest over max_rows. */
void store_prune(struct store *st, int64_t now_ms, uint64_t days, uint64_t max_rows);
uint64_t store_rows(struct store *st);

#endif
