/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of long outputs: which files there are, and which go when there are too many. Runs in
 * hands' front; what lies in its directory was made by a front, this one or one before it. */
#include "hands/front/spill_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct spill_file *
spill_file_find(struct spill_store *st, const char *name)
{
	for (size_t i = 0; i < st->n; i++) {
		if (strcmp(st->files[i].name, name) == 0)
			return &st->files[i];
	}
	return NULL;
}

void
spill_file_forget(struct spill_store *st, struct spill_file *f)
{
	size_t i = (size_t)(f - st->files);

	(void)unlinkat(st->dirfd, f->name, 0);
	st->bytes -= f->bytes;
	st->n--;
	memmove(f, f + 1, (st->n - i) * sizeof(*f));
}

/* Forgets the oldest finished file. False: there is none. */
static bool
evict_one(struct spill_store *st)
{
	for (size_t i = 0; i < st->n; i++) {
		if (!st->files[i].live) {
			spill_file_forget(st, &st->files[i]);
			return true;
		}
	}
	return false;
}

/* Outputs that nobody has come back for. */
static void
evict_aged(struct spill_store *st)
{
	int64_t now = ats_clock_wall_ms() / 1000;

	for (size_t i = 0; i < st->n;) {
		if (!st->files[i].live && now - st->files[i].born_s > SPILL_AGE_S)
			spill_file_forget(st, &st->files[i]);
		else
			i++;
	}
}

bool
spill_store_grow(struct spill *s, uint64_t n)
{
	struct spill_store *st = s->store;
	struct spill_file *f;

	while (st->bytes + n > SPILL_STORE) {
		if (!evict_one(st))
			return false;
	}
	st->bytes += n;
	s->on_disk += n;
	if ((f = spill_file_find(st, s->name)) != NULL)
		f->bytes += n;
	return true;
}

int
spill_store_room(struct spill_store *st, const char *name, struct ats_err *err)
{
	struct spill_file *f = spill_file_find(st, name);

	if (f != NULL && f->live)
		return ats_err_set(err, ATS_E_EXISTS, "%s is being written", name);
	if (f != NULL)
		spill_file_forget(st, f);
	evict_aged(st);
	if (st->n == SPILL_FILES && !evict_one(st))
		return ats_err_set(
		    err, ATS_E_FULL, "%u outputs are being kept", SPILL_FILES);
	return 0;
}

void
spill_store_enter(struct spill_store *st, const char *name)
{
	struct spill_file *f = &st->files[st->n++];

	*f = (struct spill_file){ .born_s = ats_clock_wall_ms() / 1000, .live = true };
	memcpy(f->name, name, strlen(name) + 1);
}

/* ---- life -------------------------------------------------------------------------- */
static int
by_age(const void *a, const void *b)
{
	const struct spill_file *x = a, *y = b;

	return (x->born_s > y->born_s) - (x->born_s < y->born_s);
}

/* A file found on disk; of too many the oldest ones go. */
static void
adopt_one(struct spill_store *st, const char *name, const struct stat *sb)
{
	struct spill_file f = {
		.bytes = (uint64_t)sb->st_blocks * 512,
		.born_s = sb->st_mtim.tv_sec,
	};
	size_t oldest = 0;

	memcpy(f.name, name, strlen(name) + 1);
	if (st->n == SPILL_FILES) {
		for (size_t i = 1; i < st->n; i++)
			oldest = by_age(&st->files[i], &st->files[oldest]) < 0 ? i : oldest;
		if (by_age(&f, &st->files[oldest]) < 0) {
			(void)unlinkat(st->dirfd, name, 0);
			return;
		}
		spill_file_forget(st, &st->files[oldest]);
	}
	st->files[st->n++] = f;
	st->bytes += f.bytes;
}

/* What an earlier life left. A ring that still has a name is one whose end was never
 * written: nothing can be read of it. */
static void
adopt(struct spill_store *st)
{
	int fd = openat(st->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat sb;

	if (d == NULL) {
		ats_fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (fstatat(st->dirfd, e->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(sb.st_mode))
			continue;
		if (e->d_name[0] == '.' || strlen(e->d_name) >= SPILL_NAME)
			(void)unlinkat(st->dirfd, e->d_name, 0);
		else
			adopt_one(st, e->d_name, &sb);
	}
	(void)closedir(d);
	qsort(st->files, st->n, sizeof(st->files[0]), by_age);
}

struct spill_store *
spill_store_adopt(int dirfd)
{
	struct spill_store *st = ats_calloc(1, sizeof(*st));

	if (st == NULL)
		return NULL;
	st->dirfd = dirfd;
	adopt(st);
	return st;
}

void
spill_store_trim(struct spill_store *st)
{
	evict_aged(st);
	while (st->bytes > SPILL_STORE && evict_one(st))
		;
}

struct spill_store *
spill_store_new(int dirfd)
{
	struct spill_store *st = spill_store_adopt(dirfd);

	if (st != NULL)
		spill_store_trim(st);
	return st;
}

void
spill_store_free(struct spill_store *st)
{
	free(st);
}

/* ---- what is known of it ----------------------------------------------------------- */
uint64_t
spill_store_bytes(const struct spill_store *st)
{
	return st->bytes;
}

unsigned
spill_store_highest(const struct spill_store *st, const char *prefix)
{
	size_t len = strlen(prefix);
	unsigned long n, highest = 0;

	for (size_t i = 0; i < st->n; i++) {
		if (strncmp(st->files[i].name, prefix, len) != 0)
			continue;
		n = strtoul(st->files[i].name + len, NULL, 10);
		if (n > highest && n < 1000000000)
			highest = n;
	}
	return (unsigned)highest;
}
