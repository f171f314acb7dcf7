/* SPDX-License-Identifier: Apache-2.0
 *
 * What spill.c (one output), spill_store.c (all files) and spill_move.c share; nobody else
 * includes this. */
#ifndef ATS_HANDS_FRONT_SPILL_PRIVATE_H
#define ATS_HANDS_FRONT_SPILL_PRIVATE_H

#include "hands/front/spill.h"

struct spill_file {
	char name[SPILL_NAME];
	uint64_t bytes;
	int64_t born_s; /* wall clock */
	bool live;	/* a struct spill writes it */
};
struct spill_store {
	int dirfd;
	uint64_t bytes;
	size_t n;
	struct spill_file files[SPILL_FILES]; /* oldest first */
};
struct spill {
	struct spill_store *store;
	char name[SPILL_NAME];
	int fd, ring;	  /* ring is -1 until the first part is full */
	uint64_t total;	  /* bytes seen */
	uint64_t stored;  /* bytes kept or overwritten: position of the writer */
	uint64_t on_disk; /* what the store was told */
	int error;
	bool finished;
	uint64_t tail_from; /* finish: first byte of the tail */
	uint64_t tail_at;   /* finish: where it begins in fd */
	uint64_t copied;    /* finish: bytes of the tail that are there */
};

/* ---- spill_store.c */
/* The entry (borrowed, until the next one comes or goes), or NULL. */
struct spill_file *spill_file_find(struct spill_store *st, const char *name);
/* Removes file and entry. */
void spill_file_forget(struct spill_store *st, struct spill_file *f);
/* Room for one more of that name; a finished one that has it is forgotten, and so are the oldest
 * where there are too many. -ATS_E_EXISTS: it is being written; -ATS_E_FULL. */
ATS_NODISCARD int spill_store_room(struct spill_store *st, const char *name, struct ats_err *err);
/* Its entry, as one that is being written: there is room, and none of that name. */
void spill_store_enter(struct spill_store *st, const char *name);
/* n bytes more on disk of s; the oldest finished files go for them. False: too few do. */
bool spill_store_grow(struct spill *s, uint64_t n);

#endif
