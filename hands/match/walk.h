/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a directory tree with a few threads. Threads take files from the directory that comes
 * first in path order, so that they stay near each other and an ordered search can stop
 * early. Directory symlinks are not followed. Paths are relative to the tool's root. */
#ifndef ATS_HANDS_MATCH_WALK_H
#define ATS_HANDS_MATCH_WALK_H

#include <pthread.h>
#include <stdint.h>

#include "common/err.h"
#include "hands/match/ignore.h"

#define WALK_PATH_MAX 8192u	/* longer paths are warned about, not entered */
#define WALK_THREADS_MAX 16u

struct fs_hidden;
struct gitrepo;
struct walk_file {		/* borrowed for the callback */
	int dirfd;
	const char *name;	/* in dirfd */
	const char *path;	/* from the root; path[path_len] is 0 */
	size_t path_len;
	bool symlink;
};
/* All but progress are called by any thread. ctx is walk_options.ctx. */
struct walk_ops {
	/* Whether to look below a directory / at a file at all; NULL: yes. Before ignore rules. */
	bool (*enter)(void *ctx, const char *path, size_t n);
	bool (*pick)(void *ctx, const char *path, size_t n);
	/* Whether the path comes behind all that is still of interest; NULL: no. */
	bool (*past)(void *ctx, const char *path, size_t n);
	void (*file)(void *ctx, void *thread, const struct walk_file *f);
	void (*warn)(void *ctx, const char *path, size_t n, int error); /* errno */
	/* A thread's own state; returning NULL ends the walk with -ATS_E_NOMEM. */
	void *(*thread_new)(void *ctx);
	void (*thread_free)(void *ctx, void *thread);
	/* On the calling thread, now and then. False stops the walk. */
	bool (*progress)(void *ctx, uint64_t files);
};
struct walk_options {
	const struct walk_ops *ops;
	void *ctx;
	int start_fd;			/* the directory to begin with; borrowed */
	const char *start;		/* its path from the root; "" for the root */
	const struct ignore_dir *above;	/* rules of the directories above it, or NULL */
	const struct fs_hidden *hidden;	/* names that are left out, or NULL */
	bool ignore;			/* read and obey rule files */
	const struct gitrepo *git;	/* for those outside of the tree, or NULL */
	bool ordered;			/* within a directory: by name */
	bool symlinks;			/* give symlinks to the callback as files */
	bool vcs;			/* enter .git and the like */
	unsigned threads;		/* 0: as many as CPUs we may use */
};
/* 0, or -ATS_E_NOMEM. Returns when all callbacks have ended. */
ATS_NODISCARD int walk_run(const struct walk_options *o, uint64_t *ret_files);

/* The order of an ordered walk: names compared component by component. */
int walk_path_cmp(const char *a, size_t an, const char *b, size_t bn);

/* Rules of the directories from the root down to, but not including, start. When start itself
 * or one above it is ignored, there are none: who names it wants to see it.
 * Returns owned (walk_above_free); NULL is fine and common. */
struct ignore_dir *walk_above(int root_fd, const char *start, const struct gitrepo *git);
void walk_above_free(struct ignore_dir *d);
bool walk_is_vcs(const char *name, size_t n);
/* A lock that is held for a moment only: who finds it taken looks again a few times before the
 * kernel is asked to wait, pthread_mutexattr_settype(3). */
void walk_lock_init(pthread_mutex_t *lock);

#endif
