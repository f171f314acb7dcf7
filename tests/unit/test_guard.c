/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over protected names, with mounts that are the test's own: when a call may begin. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "hands/confine/guard.h"
#include "hands/confine/scan.h"
#include "hands/init/scratch.h"
#include "tests/lib/unit.h"

#define FDS 64

static bool fails, was_open[FDS];
static unsigned calls;
static unsigned misses;		/* so often there is nothing where something was */
static struct ats_err why;

static int
protect(const struct protect_dirs *dirs, const bool (*absent)[PROTECT_NAMES_MAX],
    struct ats_err *err)
{
	(void)dirs;
	(void)absent;
	calls++;
	if (misses > 0) {
		misses--;
		return ats_err_set(err, ATS_E_SYS, "it was exchanged");
	}
	return fails ? ats_err_set(err, ATS_E_SYS, "no more mounts") : 0;
}

static char dir[] = "/tmp/ats-guard-XXXXXX";

static const struct protect_from *
workspace(void)
{
	static struct protect_from from;

	for (int fd = 0; fd < FDS; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	from.workspace = dir;
	return &from;
}

static struct guard *
watch(const struct protect_from *from, guard_protect fn)
{
	struct guard *g = guard_new(from, fn, &why);

	ck_assert_ptr_nonnull(g);
	return g;
}

/* A guard is never freed. */
static void
close_its(void)
{
	scratch_remove(dir);
	for (int fd = 0; fd < FDS; fd++)
		if (!was_open[fd])
			(void)close(fd);
}

static void
put(const struct protect_from *from, const char *name)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", from->workspace, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
}

START_TEST(guard_new_fails_where_nothing_can_be_mounted)
{
	fails = true;
	ck_assert_ptr_null(guard_new(workspace(), protect, &why));
	ck_assert_str_eq(why.text, "no more mounts");
	close_its();
}
END_TEST

START_TEST(no_call_begins_until_what_is_there_is_mounted_over)
{
	const struct protect_from *from = workspace();
	struct guard *g = watch(from, protect);
	struct guard_mark mark;

	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), 0);
	ck_assert_int_eq(guard_end(g, &mark), GUARD_SAME);
	fails = true;
	put(from, ".mcp.json");
	guard_turn(g);
	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(why.text, "could not be made read-only"));
	/* The refused one has it tried again. */
	fails = false;
	calls = 0;
	guard_turn(g);
	ck_assert_uint_eq(calls, 1);
	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), 0);
	ck_assert_int_eq(guard_end(g, &mark), GUARD_SAME);
	close_its();
}
END_TEST

START_TEST(what_is_exchanged_meanwhile_is_mounted_over_the_next_time)
{
	const struct protect_from *from = workspace();
	struct guard *g = watch(from, protect);
	struct guard_mark mark;

	misses = 3;
	put(from, ".mcp.json");
	guard_turn(g);
	ck_assert_uint_eq(misses, 0);
	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), 0);
	ck_assert_int_eq(guard_end(g, &mark), GUARD_SAME);
	close_its();
}
END_TEST

START_TEST(what_a_call_makes_is_moved_aside_and_told)
{
	const struct protect_from *from = workspace();
	struct guard *g = watch(from, NULL);
	struct guard_mark mark;

	ck_assert(guard_is_whole(g) && guard_is_watched(g) && guard_has_contents(g));
	put(from, ".envrc");
	ck_assert_int_eq(guard_begin(g, 7, &mark, &why), 0);
	put(from, ".mcp.json");
	ck_assert_int_eq(guard_end(g, &mark), GUARD_MOVED);
	ck_assert_int_eq(guard_begin(g, 7, &mark, &why), 0);
	ck_assert_int_eq(guard_end(g, &mark), GUARD_SAME);
	ck_assert(guard_forget(g, 7));
	close_its();
}
END_TEST

/* Deeper than the look through a workspace goes: the first directory's path. */
static void
make_deep(const struct protect_from *from, char *ret_path, size_t size)
{
	int at = open(from->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC), next;

	(void)snprintf(ret_path, size, "%s/d", from->workspace);
	for (unsigned i = 0; i < SCAN_DEPTH_MAX + 2; i++) {
		ck_assert_int_eq(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	(void)close(at);
}

START_TEST(a_refused_call_has_the_workspace_looked_through_again)
{
	const struct protect_from *from = workspace();
	struct guard *g = watch(from, NULL);
	struct guard_mark mark;
	char deep[4096];

	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), 0);
	make_deep(from, deep, sizeof(deep));
	ck_assert_int_eq(guard_end(g, &mark), GUARD_SAME);
	guard_idle(g, -1);
	ck_assert_int_eq(guard_wait(g), -1);
	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(why.text, "cannot be looked through as a whole"));
	scratch_remove(deep);
	guard_turn(g);
	ck_assert_int_eq(guard_wait(g), GUARD_IDLE_MS);
	guard_idle(g, -1);
	ck_assert_int_eq(guard_begin(g, 0, &mark, &why), 0);
	ck_assert_int_eq(guard_end(g, &mark), GUARD_SAME);
	close_its();
}
END_TEST

ATS_UNIT_MAIN("guard", a_refused_call_has_the_workspace_looked_through_again,
    guard_new_fails_where_nothing_can_be_mounted,
    no_call_begins_until_what_is_there_is_mounted_over,
    what_a_call_makes_is_moved_aside_and_told,
    what_is_exchanged_meanwhile_is_mounted_over_the_next_time)
