/* SPDX-License-Identifier: Apache-2.0
 *
 * The disk account. Runs in shell zygotes and monitors, with the rights of the tools that wrote
 * the trees: names, depths and modes in them are hostile. What cannot be counted (a directory
 * without rights, too many names) is taken from the growth of the file system instead, which a
 * tool cannot hide. Monitors that end at one time may count twice, no more. */
#include "hands/confine/budget_disk.h"

#include <ftw.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "hands/confine/box.h"

#define ENTRIES_MAX 1000000u	/* some seconds of one command in many */
#define FDS 16

static struct {			/* of one count; nftw has no argument */
	uint64_t bytes;
	unsigned entries;
	bool whole;
} count;

static int
count_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)path;
	(void)at;
	if (kind == FTW_DNR || kind == FTW_NS)
		count.whole = false;
	else	/* of several names of one file each has its share */
		count.bytes += (uint64_t)st->st_blocks * 512 /
		    (kind == FTW_D || st->st_nlink == 0 ? 1 : st->st_nlink);
	if (++count.entries < ENTRIES_MAX)
		return 0;
	count.whole = false;
	return 1;
}

/* False: there is more than could be counted. */
static bool
held_by(const struct box *b, uint64_t *ret)
{
	const char *const trees[] = { b->workspace, b->home };

	count.bytes = count.entries = 0;
	count.whole = true;
	for (size_t i = 0; i < ATS_ARRAY_LEN(trees); i++)
		if (nftw(trees[i], count_one, FDS, FTW_PHYS | FTW_MOUNT) != 0)
			count.whole = false;
	*ret = count.bytes;
	return count.whole;
}

/* Of the file systems that hold the trees: one, as a rule. */
static uint64_t
used_by_all(const struct box *b)
{
	struct statvfs ws = { 0 }, home = { 0 };
	uint64_t sum = 0;

	if (statvfs(b->workspace, &ws) == 0)
		sum = (ws.f_blocks - ws.f_bfree) * ws.f_frsize;
	if (statvfs(b->home, &home) == 0 && home.f_fsid != ws.f_fsid)
		sum += (home.f_blocks - home.f_bfree) * home.f_frsize;
	return sum;
}

struct budget_disk *
budget_disk_new(const struct box *b)
{
	struct budget_disk *d;

	if (b->budget.disk_mib == 0)
		return NULL;
	d = mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (d == MAP_FAILED)
		return NULL;
	d->used = used_by_all(b);
	return d;
}

bool
budget_disk_is_exceeded(struct budget_disk *d, const struct box *b, uint64_t written,
    uint64_t *ret_mib)
{
	uint64_t max = b->budget.disk_mib << 20, used, held, grown;

	if (d == NULL)
		return false;
	used = used_by_all(b);
	if (used < d->used)
		d->used = used;
	grown = used - d->used;
	d->written += written;
	/* Either may say too little: others free space, and a tmpfs does not count writes. */
	if (d->counted && d->held <= max && grown <= max - d->held &&
	    d->written <= max - d->held)
		return false;
	if (!held_by(b, &held) && d->held + grown > held)
		held = d->held + grown;
	*d = (struct budget_disk){ .counted = true, .held = held, .used = used };
	*ret_mib = (held + (1u << 20) - 1) >> 20;
	return held > max;
}
