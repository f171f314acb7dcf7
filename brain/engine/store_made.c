/* SPDX-License-Identifier: Apache-2.0
 *
 * What scripts made, in the journal. Runs in the engine. */
#include "brain/engine/store_made.h"

#include <stdio.h>
#include <string.h>

#include "brain/engine/store_db.h"

int
store_made_save(struct store *st, const struct store_made *m, struct ats_err *err)
{
	int rc = store_ready(st, err);
	sqlite3_stmt *q;

	if (rc < 0)
		return rc;
	q = st->stmt[STORE_STMT_MADE_SAVE];
	store_bind_str(q, 1, m->box);
	store_bind_str(q, 2, m->made.id);
	store_bind_str(q, 3, m->script);
	store_bind_str(q, 4, m->made.url);
	store_bind_u64(q, 5, m->used);
	return store_run(st, STORE_STMT_MADE_SAVE, "sandbox", err);
}

int
store_made_drop(struct store *st, const char *box, const char *id, struct ats_err *err)
{
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	store_bind_str(st->stmt[STORE_STMT_MADE_DROP], 1, box);
	store_bind_str(st->stmt[STORE_STMT_MADE_DROP], 2, id);
	return store_run(st, STORE_STMT_MADE_DROP, "sandbox", err);
}

/* False: it is missing, empty or too long. */
static bool
text(sqlite3_stmt *q, int i, char *out, size_t size)
{
	const char *s = (const char *)sqlite3_column_text(q, i);
	size_t n = s == NULL ? 0 : strlen(s);

	if (n == 0 || n >= size)
		return false;
	memcpy(out, s, n + 1);
	return true;
}

int
store_made_each(struct store *st, int (*fn)(void *ctx, const struct store_made *m), void *ctx,
    struct ats_err *err)
{
	int rc = store_ready(st, err), ret = 0;
	struct store_made m = { .used = false };
	sqlite3_stmt *q;

	if (rc < 0)
		return rc;
	q = st->stmt[STORE_STMT_MADE_EACH];
	while (ret == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		if (!text(q, 0, m.box, sizeof(m.box)) ||
		    !text(q, 1, m.made.id, sizeof(m.made.id)) ||
		    !text(q, 2, m.script, sizeof(m.script)) ||
		    !text(q, 3, m.made.url, sizeof(m.made.url)))
			continue;
		m.used = sqlite3_column_int(q, 4) != 0;
		ret = fn(ctx, &m);
	}
	(void)sqlite3_reset(q);
	if (ret == 0 && rc != SQLITE_DONE)
		return store_error(st, rc, "sandboxes", err);
	return ret < 0 ? ret : 0;
}
