/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs that an earlier life left on disk: too many, too old, half made. */
#include "hands/front/spill.h"

#include "common/fd.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY 86400

static char dir[64];

static int
make_dir(void)
{
	int fd;

	(void)snprintf(dir, sizeof(dir), "/tmp/test-spill-XXXXXX");
	(void)unit_tmp(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void
remove_dir(int fd)
{
	char cmd[96];

	(void)close(fd);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static void
left(int dirfd, const char *name, time_t seconds_ago)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = time(NULL) - seconds_ago } };
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	ck_assert_int_eq(futimens(fd, t), 0);
	(void)close(fd);
}

static bool
there(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

START_TEST(spill_store_new_drops_what_is_old_or_half_made)
{
	static const struct {
		const char *name;
		time_t ago;
		bool kept;
	} rows[] = {
		{ "1.out", 0, true },
		{ "2.out", 6 * DAY, true },
		{ "3.out", 8 * DAY, false },
		{ "bash_4.out", 400 * DAY, false },
		{ ".5.out.ring", 0, false },
		{ "a-name-that-is-longer-than-any-that-the-store-gives.out", 0, false },
		{ "tomorrow.out", -DAY, true },
	};
	int fd = make_dir();
	struct spill_store *st;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		left(fd, rows[i].name, rows[i].ago);
	ck_assert_int_eq(mkdirat(fd, "d", 0755), 0);
	st = spill_store_new(fd);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(there(fd, rows[i].name) == rows[i].kept, "%s", rows[i].name);
	ck_assert(there(fd, "d"));
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_store_new_keeps_the_newest_of_too_many)
{
	int fd = make_dir();
	struct spill_store *st;
	struct spill *s = NULL;
	char name[32];

	/* In an order that no directory gives back. */
	for (unsigned i = 0; i < SPILL_FILES + 44; i++) {
		unsigned k = i * 7 % (SPILL_FILES + 44);

		(void)snprintf(name, sizeof(name), "%u.out", k);
		left(fd, name, 1000 - k);
	}
	st = spill_store_new(fd);
	for (unsigned i = 0; i < SPILL_FILES + 44; i++) {
		(void)snprintf(name, sizeof(name), "%u.out", i);
		ck_assert_msg(there(fd, name) == (i >= 44), "%s", name);
	}
	ck_assert_int_eq(spill_new(st, "new.out", &s, NULL), 0);
	ck_assert(!there(fd, "44.out") && there(fd, "45.out") && there(fd, "new.out"));
	spill_free(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

ATS_UNIT_MAIN("front_spill_age", spill_store_new_drops_what_is_old_or_half_made,
    spill_store_new_keeps_the_newest_of_too_many)
