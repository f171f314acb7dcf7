/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a name as it is remembered, where its times cannot tell: a change within the tick in which
 * it was remembered. The times here are made the same, whatever the kernel's are. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hands/confine/keep_private.h"
#include "hands/init/scratch.h"
#include "tests/lib/unit.h"

static struct keep *keep;
static struct protect_dirs dirs;
static char top[] = "/tmp/ats-keep-XXXXXX";
static int at;

/* A workspace with .claude/agents/a and .claude/link, and what keep remembers of it. */
static void
begin(void)
{
	struct ats_err err = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(top));
	at = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(at, ".claude", 0700), 0);
	ck_assert_int_eq(mkdirat(at, ".claude/agents", 0700), 0);
	ck_assert_int_eq(mkdirat(at, ".claude/agents/a", 0700), 0);
	ck_assert_int_eq(symlinkat("here", at, ".claude/link"), 0);
	keep = keep_new(&err);
	ck_assert_ptr_nonnull(keep);
	dirs.n = 1;
	dirs.v[0].kind = PROTECT_TREE;
	(void)snprintf(dirs.v[0].path, sizeof(dirs.v[0].path), "%s", top);
	keep_take(keep, &dirs, false);
	ck_assert(keep_is_whole(keep) && keep_has_contents(keep));
}

static void
end(void)
{
	scratch_remove(top);
	(void)close(at);
}

static struct item *
item_of(const char *rel)
{
	struct snapshot *s = &keep->of[keep->current];

	for (uint32_t i = 0; i < s->nitems; i++)
		if (strcmp(s->names + s->items[i].rel, rel) == 0)
			return &s->items[i];
	ck_abort_msg("%s is not remembered", rel);
}

/* From now on it is remembered as it is, by its times: changed ms before that was noted. */
static void
note(const char *rel, unsigned ms)
{
	struct snapshot *s = &keep->of[keep->current];
	struct stat st;

	ck_assert_int_eq(keep_stat(at, rel, &st), 0);
	keep_note_stat(item_of(rel), &st);
	s->taken = st.st_ctim;
	s->taken.tv_sec += ms / 1000;
}

static bool
is_same(void)
{
	return keep_is_same(&keep->of[keep->current], item_of(".claude"), at);
}

START_TEST(what_is_made_in_a_directory_within_its_tick_is_seen)
{
	begin();
	note(".claude/agents", 0);
	ck_assert(is_same());
	ck_assert_int_eq(mkdirat(at, ".claude/agents/evil", 0700), 0);
	note(".claude/agents", 0);
	ck_assert(!is_same());
	note(".claude/agents", 1000);
	ck_assert(is_same());		/* a time of long ago tells */
	end();
}
END_TEST

START_TEST(a_link_that_leads_elsewhere_within_its_tick_is_seen)
{
	begin();
	note(".claude/link", 0);
	ck_assert(is_same());
	ck_assert_int_eq(unlinkat(at, ".claude/link", 0), 0);
	ck_assert_int_eq(symlinkat("away", at, ".claude/link"), 0);
	note(".claude", 0);
	note(".claude/link", 0);
	ck_assert(!is_same());
	note(".claude/link", 1000);
	ck_assert(is_same());
	end();
}
END_TEST

START_TEST(a_directory_that_is_shut_is_told_by_its_time)
{
	bool same;

	begin();
	ck_assert_int_eq(fchmodat(AT_FDCWD, top, 0755, 0), 0);
	ck_assert_int_eq(fchmodat(at, ".claude", 0755, 0), 0);
	ck_assert_int_eq(fchmodat(at, ".claude/agents", 0, 0), 0);
	note(".claude", 0);
	note(".claude/agents", 0);
	item_of(".claude/agents/a")->mode = 0;	/* a shut one's were not remembered */
	ck_assert_int_eq(seteuid(geteuid() == 0 ? 65534 : geteuid()), 0);
	same = is_same();
	ck_assert_int_eq(seteuid(getuid()), 0);
	ck_assert(same);
	ck_assert_int_eq(fchmodat(at, ".claude/agents", 0700, 0), 0);
	end();
}
END_TEST

ATS_UNIT_MAIN("keep", what_is_made_in_a_directory_within_its_tick_is_seen,
    a_link_that_leads_elsewhere_within_its_tick_is_seen,
    a_directory_that_is_shut_is_told_by_its_time)
