/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of sessions: who (uid), where (workspace), under which key. Ids follow from
 * these, so the same registration finds the same session, also after a restart: the table
 * is kept in STATE/vault/sessions. */
#ifndef ATS_VAULT_REGISTER_H
#define ATS_VAULT_REGISTER_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/path.h"

#define SESSION_ID_MAX 33
#define SESSION_KEY_MAX 256

struct session {
	char id[SESSION_ID_MAX], box[SESSION_ID_MAX];
	uint64_t uid;
	char *workspace, *key;		/* owned */
	int64_t used_ms;		/* wall clock of the last registration */
	/* What the running engine knows; the vault's business. */
	bool told, confirmed;
	struct session *next;		/* in a list of its holder */
};
struct reg;

/* dir holds the file; max_age_ms and max drop old sessions. Returns owned in *ret. A line
 * that cannot be read is logged and left out. */
ATS_NODISCARD int reg_open(const char *dir, size_t max, int64_t max_age_ms, struct reg **ret,
    struct ats_err *err);
void reg_free(struct reg *r);
/* -ATS_E_INVAL when the way to a new workspace leads into a registered one and out again:
 * tools may have made the link. path as it was asked for, real what it resolves to. */
ATS_NODISCARD int reg_check_way(const struct reg *r, const char *path, const char *real,
    struct ats_err *err);
/* Finds or makes the session of a workspace that ats_workspace_check has resolved. *ret_gone is
 * a session that was forgotten to make room (owned by the caller) or NULL. -ATS_E_FULL,
 * -ATS_E_INVAL (key), -ATS_E_EXISTS (its id is that of another session or sandbox),
 * -ATS_E_NOMEM. */
ATS_NODISCARD int reg_add(struct reg *r, uint64_t uid, const char *real, const char *key,
    struct session **ret, struct session **ret_gone, struct ats_err *err);
struct session *reg_find(const struct reg *r, const char *id);
/* The session that reg_add would find, or NULL. */
struct session *reg_find_named(const struct reg *r, uint64_t uid, const char *real,
    const char *key);
/* Any session whose sandbox is box, or NULL. */
struct session *reg_find_box(const struct reg *r, const char *box);
/* Removes it from table and file; owned by the caller then. NULL if unknown. */
struct session *reg_take(struct reg *r, const char *id);
void session_free(struct session *s);
size_t reg_count(const struct reg *r);
struct session *reg_each(const struct reg *r, size_t *pos);
/* Marks a use; kept in the file at the next change. */
void reg_touch(struct session *s);

#endif
