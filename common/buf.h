/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable byte buffer that cannot be made without a cap. Bytes are consumed at the
 * front and added at the back. The content is data[0..len); a NUL always follows it, so
 * text in it can be used as a string. Pointers into it are valid until the next add. */
#ifndef ATS_COMMON_BUF_H
#define ATS_COMMON_BUF_H

#include <stddef.h>

#include "common/err.h"

struct ats_buf {
	char *data;	/* first unconsumed byte, or "" */
	size_t len;	/* unconsumed bytes */
	size_t max;	/* cap of len */
	char *base;	/* private: allocation */
	size_t cap;	/* private */
};

/* A borrowed run of bytes. */
struct ats_slice {
	const char *p;
	size_t n;
};

/* Its bytes with a NUL behind them; returns owned (free()), NULL without memory. */
ATS_NODISCARD char *ats_slice_dup(struct ats_slice s);

/* Empty; allocates nothing before the first add. */
void ats_buf_init(struct ats_buf *b, size_t max_bytes);
void ats_buf_done(struct ats_buf *b); /* NULL and zeroed structs are fine */
#define ATS_CLEANUP_BUF __attribute__((cleanup(ats_buf_done)))

/* Each returns 0, -ATS_E_NOMEM, or -ATS_E_TOOBIG (nothing was added). */
ATS_NODISCARD int ats_buf_add(struct ats_buf *b, const void *p, size_t n);
ATS_NODISCARD int ats_buf_add_str(struct ats_buf *b, const char *s);
ATS_NODISCARD int ats_buf_add_char(struct ats_buf *b, char c);
ATS_NODISCARD int ats_buf_addf(struct ats_buf *b, const char *fmt, ...) ATS_PRINTF(2, 3);
/* Makes room for n more bytes and gives where they go, until the next call; commit says how many
 * came, n at most. The same errors. */
ATS_NODISCARD int ats_buf_reserve(struct ats_buf *b, size_t n, char **ret_p);
void ats_buf_commit(struct ats_buf *b, size_t n);
void ats_buf_consume(struct ats_buf *b, size_t n);	/* from the front; at most len */
void ats_buf_reset(struct ats_buf *b);	/* empties, keeps at most 64 KiB allocated */
/* to, which has no memory, takes that of from, which is empty; each keeps its own cap of len. */
void ats_buf_take(struct ats_buf *to, struct ats_buf *from);
void ats_buf_truncate(struct ats_buf *b, size_t len);	/* keeps the first len, if it has more */
/* Gives the NUL-terminated content to the caller (returns owned, free()) and empties b.
 * NULL when out of memory. */
char *ats_buf_steal(struct ats_buf *b, size_t *ret_len);

#endif
