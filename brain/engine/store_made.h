/* SPDX-License-Identifier: Apache-2.0
 *
 * What scripts made, in the journal: table made. */
#ifndef ATS_ENGINE_STORE_MADE_H
#define ATS_ENGINE_STORE_MADE_H

#include <sys/queue.h>

#include "brain/engine/script_line.h"
#include "brain/engine/store.h"

struct store_made {
	TAILQ_ENTRY(store_made) link;	/* the reader's */
	char box[33];			/* the sandbox it was made for */
	char script[65];		/* the name of the script */
	struct made made;
	bool used;			/* else it is kept warm */
};

/* Inserts or replaces the row of (box, made.id). */
ATS_NODISCARD int store_made_save(struct store *st, const struct store_made *m,
    struct ats_err *err);
ATS_NODISCARD int store_made_drop(struct store *st, const char *box, const char *id,
    struct ats_err *err);
/* Calls fn for each row until it returns not 0, which is returned if negative. A row that nobody
 * can have written is passed over. */
ATS_NODISCARD int store_made_each(struct store *st,
    int (*fn)(void *ctx, const struct store_made *m), void *ctx, struct ats_err *err);

#endif
