/* SPDX-License-Identifier: Apache-2.0
 *
 * One directory of a walk: its entries and its rules. Private to walk.c. */
#ifndef ATS_HANDS_MATCH_WALK_DIR_H
#define ATS_HANDS_MATCH_WALK_DIR_H

#include "hands/match/walk.h"

enum walk_kind { WALK_FILE, WALK_DIR, WALK_LINK };
struct walk_entry {
	uint64_t key;		/* first bytes of the name, big-endian: for sorting */
	uint32_t name;		/* offset in names */
	uint16_t len;
	uint8_t kind;
};
struct walk_dir {
	struct walk_dir *parent;	/* holds a reference */
	struct ignore_dir rules;	/* up: the chain above */
	const struct ignore_dir *chain;	/* what holds below: own rules, or up */
	unsigned users;			/* of fd and entries: threads, and the stack */
	unsigned refs;			/* of the struct: users (one together), children */
	int fd;
	bool borrowed;			/* fd */
	struct walk_entry *entries;
	char *names;			/* each with a NUL */
	size_t n, next;			/* next: under the walk's lock */
	size_t path_len;
	char path[];			/* "" or with a slash at the end */
};
struct walk_reader {			/* buffers of one thread */
	char *path;			/* WALK_PATH_MAX + a name */
	char *raw;
};

/* 0 or -ATS_E_NOMEM; walk_reader_done frees it in either case. */
ATS_NODISCARD int walk_reader_init(struct walk_reader *r);
void walk_reader_done(struct walk_reader *r);
/* Each gives one user. 0, -ATS_E_NOMEM, or another code: warned about, nothing to do. */
ATS_NODISCARD int walk_dir_start(struct walk_reader *r, const struct walk_options *o,
    struct walk_dir **ret);
/* r->path[0..n) is the entry's path (walk_dir_path). */
ATS_NODISCARD int walk_dir_open(struct walk_reader *r, const struct walk_options *o,
    struct walk_dir *parent, const struct walk_entry *e, size_t n, struct walk_dir **ret);
void walk_dir_close(struct walk_dir *d);	/* the last user has gone */
/* Writes the entry's path to r->path; returns its length. */
size_t walk_dir_path(struct walk_reader *r, const struct walk_dir *d,
    const struct walk_entry *e);

#endif
