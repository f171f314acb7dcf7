/* SPDX-License-Identifier: Apache-2.0
 *
 * What keep.c and its parts (keep_take.c, keep_same.c, keep_move.c) share: a snapshot of
 * protected names. */
#ifndef ATS_HANDS_CONFINE_KEEP_PRIVATE_H
#define ATS_HANDS_CONFINE_KEEP_PRIVATE_H

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "hands/confine/keep.h"

#define KEEP_NAMES_BYTES (2u << 20)

struct item {
	uint32_t dir;		/* of dirs */
	uint32_t rel;		/* offset of the name below it in names */
	uint32_t span;		/* of a protected name: items with those below it; else 0 */
	uint32_t data, len;	/* in bytes: a file's content, a link's target */
	mode_t mode;		/* 0: absent */
	bool shallow;		/* .git: the directory itself, not what is in it */
	bool whole;		/* data has the content */
	bool unsure;		/* made again while tools may run: what follows says nothing */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
};
struct snapshot {
	uint32_t nitems, nnames, nbytes;
	bool in_part;		/* there is more than items and names have room for */
	bool no_content;	/* of some of them */
	struct timespec taken;
	struct protect_dirs dirs;
	struct item items[KEEP_ITEMS_MAX];
	char names[KEEP_NAMES_BYTES];
	char bytes[KEEP_BYTES_MAX];
};

/* One is used while the other is made: a process that is killed meanwhile does no harm. */
struct keep {
	unsigned current;
	bool taken;
	struct snapshot of[2];
};

/* Notes what a name is now. */
void keep_note_stat(struct item *it, const struct stat *st);
/* Beneath dirfd, no link followed; a descriptor (CLOEXEC) or -1 and errno. */
int keep_open(int dirfd, const char *rel, uint64_t flags);
/* The directory of the last name of rel, and that name, which points into rel. */
int keep_open_parent(int dirfd, const char *rel, const char **ret_name);
int keep_stat(int dirfd, const char *rel, struct stat *ret);
/* Whether a protected name and all below it is as remembered; at is its directory. */
bool keep_is_same(const struct snapshot *s, const struct item *it, int at);

/* Gives a directory's owner all of it; what its mode was goes to *mode, which is 0 at first and
 * what keep_lock gives back. That leaves errno as it is. */
void keep_unlock(int dirfd, mode_t *mode);
void keep_lock(int dirfd, mode_t mode);
/* Of a directory beneath dirfd; -1 and errno. */
int keep_set_mode(int dirfd, const char *rel, mode_t mode);

#endif
