/* SPDX-License-Identifier: Apache-2.0
 *
 * Long outputs on disk: bounds, the gap, the ring, what a reader gets. */
#include "hands/front/spill.h"

#include "common/fd.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MIB (1u << 20)

static char dir[64];

static int
make_dir(void)
{
	int fd;

	(void)snprintf(dir, sizeof(dir), "/tmp/test-spill-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void
remove_dir(int fd)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)) != NULL)
		(void)unlinkat(fd, e->d_name, 0);
	(void)closedir(d);
	(void)close(fd);
	(void)rmdir(dir);
}

/* The byte at a position of the output. */
static char
byte_at(uint64_t pos)
{
	return (char)('A' + (pos * 2654435761u >> 7) % 26);
}

static void
fill(struct spill *s, uint64_t from, uint64_t n)
{
	static char block[257 * 1024]; /* no divisor of the ring */

	while (n > 0) {
		size_t part = n < sizeof(block) ? (size_t)n : sizeof(block);

		for (size_t i = 0; i < part; i++)
			block[i] = byte_at(from + i);
		ck_assert_int_eq(spill_add(s, block, part), 0);
		from += part;
		n -= part;
	}
}

static struct spill *
new_spill(struct spill_store *st, const char *name)
{
	struct spill *s = NULL;
	struct ats_err err = { 0 };

	ck_assert_msg(spill_new(st, name, &s, &err) == 0, "%s", err.text);
	return s;
}

static uint64_t
size_of(int dirfd, const char *name)
{
	struct stat sb;

	ck_assert_int_eq(fstatat(dirfd, name, &sb, 0), 0);
	return (uint64_t)sb.st_size;
}

START_TEST(spill_small_output_is_kept_whole)
{
	int fd = make_dir();
	struct spill_store *st = spill_store_new(fd);
	struct spill *s = new_spill(st, "1.out");
	char got[64];
	uint64_t from;

	ck_assert_int_eq(spill_add(s, "hello", 5), 0);
	ck_assert_int_eq(spill_read(s, 1, got, sizeof(got), &from), 4);
	ck_assert_uint_eq(from, 1);
	ck_assert_int_eq(memcmp(got, "ello", 4), 0);
	ck_assert(spill_finish(s));
	ck_assert_uint_eq(size_of(fd, "1.out"), 5);
	ck_assert_uint_eq(spill_lost(s), 0);
	spill_free(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_long_output_keeps_first_and_last_part_with_a_marked_gap)
{
	int fd = make_dir();
	struct spill_store *st = spill_store_new(fd);
	struct spill *s = new_spill(st, "2.out");
	uint64_t total = 150ull * MIB + 12345, from, at, size;
	char got[4096], mark[256] = "";
	int file;

	fill(s, 0, total);
	ck_assert_uint_eq(spill_total(s), total);
	ck_assert_uint_eq(spill_lost(s), total - 64ull * MIB);
	ck_assert_uint_le(spill_store_bytes(st), 64ull * MIB);
	/* A reader that stands in the gap goes on behind it. */
	ck_assert_int_gt(spill_read(s, 40ull * MIB, got, sizeof(got), &from), 0);
	ck_assert_uint_eq(from, total - 32ull * MIB);
	ck_assert_int_eq(got[0], byte_at(from));
	while (!spill_finish(s))
		;
	/* The file: first part, marker, last part in order. */
	size = size_of(fd, "2.out");
	file = openat(fd, "2.out", O_RDONLY | O_CLOEXEC);
	ck_assert_int_gt(pread(file, mark, sizeof(mark) - 1, 32 * MIB), 0);
	ck_assert(strstr(mark, "bytes were not kept") != NULL);
	at = size - 32ull * MIB;
	for (uint64_t k = 0; k < 32ull * MIB; k += 99991) {
		ck_assert_int_eq(pread(file, got, 1, (off_t)(at + k)), 1);
		ck_assert_int_eq(got[0], byte_at(total - 32ull * MIB + k));
	}
	(void)close(file);
	/* Reading by position goes on working. */
	ck_assert_int_gt(spill_read(s, total - 10, got, sizeof(got), &from), 0);
	ck_assert_int_eq(got[0], byte_at(total - 10));
	ck_assert_int_eq(spill_read(s, total, got, sizeof(got), &from), 0);
	spill_free(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_output_of_exactly_both_parts_has_no_gap)
{
	int fd = make_dir();
	struct spill_store *st = spill_store_new(fd);
	struct spill *s = new_spill(st, "3.out");

	fill(s, 0, 64ull * MIB);
	while (!spill_finish(s))
		;
	ck_assert_uint_eq(spill_lost(s), 0);
	ck_assert_uint_eq(size_of(fd, "3.out"), 64ull * MIB);
	spill_free(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_store_forgets_the_oldest_finished_file)
{
	int fd = make_dir();
	struct spill_store *st = spill_store_new(fd);
	struct spill *live = new_spill(st, "live.out"), *s;
	char name[32];

	for (unsigned i = 0; i < SPILL_FILES + 5; i++) {
		(void)snprintf(name, sizeof(name), "%u.out", i);
		s = new_spill(st, name);
		ck_assert_int_eq(spill_add(s, "x", 1), 0);
		spill_free(s);
	}
	ck_assert_int_eq(faccessat(fd, "live.out", F_OK, 0), 0);
	ck_assert_int_ne(faccessat(fd, "0.out", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, name, F_OK, 0), 0);
	spill_drop(live);
	ck_assert_int_ne(faccessat(fd, "live.out", F_OK, 0), 0);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_store_new_adopts_files_and_knows_the_highest_number)
{
	int fd = make_dir();
	struct spill_store *st = spill_store_new(fd);
	struct timespec now[2];

	spill_free(new_spill(st, "bash_7.out"));
	spill_free(new_spill(st, "bash_12.out"));
	spill_free(new_spill(st, "bash_9.out"));
	/* the newest is not the highest */
	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now[0]), 0);
	now[0].tv_sec -= 60;
	now[1] = now[0];
	ck_assert_int_eq(utimensat(fd, "bash_12.out", now, 0), 0);
	spill_store_free(st);
	st = spill_store_new(fd);
	ck_assert_uint_eq(spill_store_highest(st, "bash_"), 12);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_new_refuses_names_that_are_paths)
{
	int fd = make_dir();
	struct spill_store *st = spill_store_new(fd);
	struct spill *s = NULL;

	ck_assert_int_eq(spill_new(st, "../x", &s, NULL), -ATS_E_INVAL);
	ck_assert_ptr_null(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

START_TEST(spill_add_on_a_full_disk_fails_once_and_for_all)
{
	struct rlimit limit = { 4096, RLIM_INFINITY };
	struct spill_store *st = spill_store_new(-1);
	struct spill *s = NULL;
	char block[8192] = "x";
	int fd;

	ck_assert_int_lt(spill_new(st, "a.out", &s, NULL), 0);
	ck_assert_ptr_null(s);
	spill_store_free(st);
	/* It fills in the middle of a write; what comes after is counted, not kept. */
	fd = make_dir();
	st = spill_store_new(fd);
	s = new_spill(st, "b.out");
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_lt(spill_add(s, block, sizeof(block)), 0);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_lt(spill_add(s, "more", 4), 0);
	ck_assert_int_lt(spill_error(s), 0);
	ck_assert_uint_eq(spill_total(s), sizeof(block) + 4);
	ck_assert_uint_eq(spill_lost(s), sizeof(block) + 4);
	ck_assert(spill_finish(s));
	spill_free(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

/* All files together have a bound, too: the oldest goes for a new one's bytes. */
START_TEST(spill_store_over_its_bytes_forgets_the_oldest)
{
	int fd = make_dir(), old = openat(fd, "old.out", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct spill_store *st;
	struct spill *s;
	struct statfs fs;

	ck_assert_int_eq(fstatfs(fd, &fs), 0);
	/* nearly all of it, without writing it; in memory it would be memory */
	if (fs.f_type == TMPFS_MAGIC ||
	    fallocate(old, 0, 0, (off_t)SPILL_STORE - (off_t)MIB) < 0) {
		printf("# no place for a file of %u MiB\n", (unsigned)(SPILL_STORE >> 20));
		(void)close(old);
		remove_dir(fd);
		return;
	}
	(void)close(old);
	st = spill_store_new(fd);
	ck_assert_uint_gt(spill_store_bytes(st), SPILL_STORE - 2ull * MIB);
	s = new_spill(st, "new.out");
	fill(s, 0, 3ull * MIB);
	ck_assert_int_ne(faccessat(fd, "old.out", F_OK, 0), 0);
	ck_assert_uint_eq(spill_store_bytes(st), 3ull * MIB);
	ck_assert_uint_eq(spill_lost(s), 0);
	spill_free(s);
	spill_store_free(st);
	remove_dir(fd);
}
END_TEST

ATS_UNIT_MAIN("front_spill", spill_small_output_is_kept_whole,
    spill_long_output_keeps_first_and_last_part_with_a_marked_gap,
    spill_output_of_exactly_both_parts_has_no_gap,
    spill_store_forgets_the_oldest_finished_file,
    spill_store_new_adopts_files_and_knows_the_highest_number,
    spill_new_refuses_names_that_are_paths,
    spill_add_on_a_full_disk_fails_once_and_for_all,
    spill_store_over_its_bytes_forgets_the_oldest)
