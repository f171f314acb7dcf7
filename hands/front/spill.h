/* SPDX-License-Identifier: Apache-2.0
 *
 * Long outputs on disk, bounded: of each its first 32 MiB, in a file that the Read tool
 * can page, and its last 32 MiB, in a ring without a name that is put behind the first
 * part when the output has ended. A store bounds all of them together, by bytes, number and
 * age, and forgets the oldest, but none that is being written. */
#ifndef ATS_HANDS_FRONT_SPILL_H
#define ATS_HANDS_FRONT_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SPILL_FIRST (32u << 20)
#define SPILL_LAST (32u << 20)
#define SPILL_FILES 256u	 /* kept files */
#define SPILL_STORE (1ull << 30) /* bytes of all files */
#define SPILL_AGE_S (7 * 24 * 3600) /* a finished one is kept */
#define SPILL_STEP (1u << 20)	 /* bytes that one spill_finish copies */
#define SPILL_NAME 48u

struct spill;
struct spill_store;

/* dirfd is borrowed. Files of an earlier life are adopted, oldest first. Returns owned or
 * NULL. */
struct spill_store *spill_store_new(int dirfd);
/* The same, and none of them goes until spill_store_trim: some may be in use still. */
struct spill_store *spill_store_adopt(int dirfd);
void spill_store_trim(struct spill_store *st);
void spill_store_free(struct spill_store *st); /* files stay */
/* Bytes on disk that the store answers for. */
uint64_t spill_store_bytes(const struct spill_store *st);

/* The highest N of the kept files that are named prefix N suffix; 0 without any. */
unsigned spill_store_highest(const struct spill_store *st, const char *prefix);
/* Makes the file name (a plain name, shorter than SPILL_NAME). Returns owned in *ret;
 * -ATS_E_NOSPC, -ATS_E_FULL, -ATS_E_NOMEM, -ATS_E_SYS ... */
ATS_NODISCARD int spill_new(
    struct spill_store *st, const char *name, struct spill **ret, struct ats_err *err);
/* Adds bytes; they are counted also when they cannot be kept: the first failure sticks
 * and is returned from then on. */
int spill_add(struct spill *s, const char *p, size_t n);
/* Reads up to max kept bytes from position from on. What is not kept any more is skipped:
 * *ret_from is where the bytes begin. Returns the count, 0 at the end, or an error. */
ATS_NODISCARD long spill_read(
    struct spill *s, uint64_t from, char *out, size_t max, uint64_t *ret_from);
/* Puts the ring behind the first part, SPILL_STEP bytes a call. True when nothing is left
 * to do; afterwards spill_add is refused and spill_read goes on working. */
bool spill_finish(struct spill *s);
uint64_t spill_total(const struct spill *s);
/* Bytes that were not kept, so far. */
uint64_t spill_lost(const struct spill *s);
int spill_error(const struct spill *s); /* 0 or the failure that sticks */
const char *spill_name(const struct spill *s); /* of its file; borrowed */
/* ---- spill_move.c */
struct records;
ATS_NODISCARD int spill_save(const struct spill *s, struct records *r);
/* The next record; owned in *ret. */
ATS_NODISCARD int spill_load(struct spill_store *st, struct records *r, struct spill **ret);

/* ---- spill.c */
/* The file stays, in the store's care; drop removes it. NULL is fine. */
void spill_free(struct spill *s);
void spill_drop(struct spill *s);

#endif
