/* SPDX-License-Identifier: Apache-2.0
 *
 * Repositories that tools make: what of them is moved aside, and which configurations are git's
 * own. The texts are what git 2.39 writes, and ways to say more than that. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "hands/confine/made.h"
#include "tests/lib/unit.h"

#define HEAD "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n" \
	"\tlogallrefupdates = true\n"

static bool
is_plain(const char *text, bool inner)
{
	return made_config_is_plain(text, strlen(text), inner);
}

START_TEST(config_that_git_writes_is_plain)
{
	static const char *const plain[] = { "", "\n", HEAD,
		HEAD "[remote \"origin\"]\n\turl = https://example.org/a/b.git\n"
		"\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
		"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
		HEAD "[user]\n\tname = A B\n\temail = a@b\n", "# a word\n; another\n" HEAD,
		"[core]\n\tbare = false", "[submodule \"a/b\"]\n\turl = ../x\n\tactive = true\n",
		"[Core]\n\tfileMode = true\n[extensions]\n\tobjectformat = sha256\n" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(plain); i++)
		ck_assert_msg(is_plain(plain[i], false), "%s", plain[i]);
	ck_assert(is_plain("[core]\n\tworktree = ../../../sub\n", true));
}
END_TEST

START_TEST(config_with_more_is_not_plain)
{
	static const char *const bad[] = { "[core]\n\tfsmonitor = evil\n",
		"[core] fsmonitor = evil\n", "[core]fsmonitor=evil\n",
		"[CORE]\nFsMonitor = evil\n", HEAD "[core]\n\thooksPath = evil\n",
		HEAD "[core]\n\tsshCommand = evil\n", HEAD "[filter \"x\"]\n\tclean = evil\n",
		HEAD "[alias]\n\tst = !evil\n", HEAD "[include]\n\tpath = ../evil\n",
		HEAD "[includeIf \"gitdir:/\"]\n\tpath = e\n",
		HEAD "[diff \"x\"]\n\ttextconv = evil\n",
		HEAD "[credential]\n\thelper = !evil\n", HEAD "[gpg]\n\tprogram = evil\n",
		HEAD "[submodule \"x\"]\n\tupdate = !evil\n",
		HEAD "[remote \"o\"]\n\tuploadpack = evil\n", HEAD "[remote \"o\"]\n\tvcs = x\n",
		"[core]\n\tbare = false \\\n\tfsmonitor = evil\n",
		"# \\\n[core]\n\tfsmonitor = e\n", "[remote.origin]\n\turl = x\n",
		"[core]\n\tworktree = ../x\n", "[core \"x\"]\n\tbare = 1\n",
		"[remote \"a\\\"]\n\turl = x\n", "[remote \"a\"] url = x\n", "url = x\n",
		"\xef\xbb\xbf[core]\n\tbare = 1\n", "[core]\r\n\tbare = false\r\n", "[core\n",
		"[user]\n\tname\n" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++)
		ck_assert_msg(!is_plain(bad[i], false), "%s", bad[i]);
	ck_assert(!is_plain("[core]\n\tworktree = /home/u\n", true));
	ck_assert(!made_config_is_plain("[core]\n\tbare = 1\0\n", 18, false));
}
END_TEST

static void
put(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static bool
is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* The test's own process: it ends there. */
static const char *
enter_dir(void)
{
	static char dir[] = "/tmp/ats-made-XXXXXX";

	(void)unit_tmp(dir);
	ck_assert_int_eq(chdir(dir), 0);
	return dir;
}

static void
make_repository(void)
{
	ck_assert_int_eq(mkdir(".git", 0755), 0);
	ck_assert_int_eq(mkdir(".git/hooks", 0755), 0);
	put(".git/HEAD", "ref: refs/heads/main\n");
	put(".git/config", HEAD);
	put(".git/hooks/pre-commit.sample", "x");
}

/* Where nothing stays. */
static unsigned
settled(const char *dir, bool config_is_open)
{
	const char *stays = NULL;
	unsigned n = made_settle(dir, config_is_open, &stays);

	ck_assert_ptr_null(stays);
	return n;
}

/* The test's own process: root opens whatever is shut. */
static void
be_nobody(const char *dir)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chown(dir, 12345, 12345), 0);
	ck_assert_int_eq(setresgid(12345, 12345, 12345), 0);
	ck_assert_int_eq(setresuid(12345, 12345, 12345), 0);
}

START_TEST(repository_as_git_makes_it_stays)
{
	const char *dir = enter_dir();

	ck_assert_uint_eq(settled(dir, false), 0);	/* none */
	make_repository();
	ck_assert_uint_eq(settled(dir, false), 0);
	ck_assert(is_there(".git/hooks/pre-commit.sample") && is_there(".git/config"));
}
END_TEST

START_TEST(what_a_tool_adds_is_moved_aside)
{
	const char *dir = enter_dir();

	make_repository();
	put(".git/hooks/pre-commit", "evil");
	put(".git/config", "[core]\n\tfsmonitor = evil\n");
	put(".git/commondir", "../evil\n");
	ck_assert_uint_eq(settled(dir, false), 3);
	ck_assert(!is_there(".git/hooks/pre-commit"));
	ck_assert(is_there(".git/hooks/pre-commit.quarantine"));
	ck_assert(!is_there(".git/config") && !is_there(".git/commondir"));
	ck_assert_uint_eq(settled(dir, false), 0);
	put(".git/config", "[core]\n\tfsmonitor = asked for\n");
	ck_assert_uint_eq(settled(dir, true), 0);
}
END_TEST

START_TEST(links_are_moved_aside)
{
	const char *dir = enter_dir();

	make_repository();
	put("other", HEAD);
	ck_assert_int_eq(unlink(".git/config"), 0);
	ck_assert_int_eq(link("other", ".git/config"), 0);
	ck_assert_int_eq(rename(".git/hooks", "h"), 0);
	ck_assert_int_eq(symlink("../h", ".git/hooks"), 0);
	ck_assert_uint_eq(settled(dir, false), 2);
	ck_assert(!is_there(".git/config") && !is_there(".git/hooks"));
	ck_assert_int_eq(rename(".git", "g"), 0);
	ck_assert_int_eq(symlink("g", ".git"), 0);
	ck_assert_uint_eq(settled(dir, false), 1);
	ck_assert(!is_there(".git"));
}
END_TEST

START_TEST(repository_of_a_submodule_is_looked_at)
{
	const char *dir = enter_dir();

	make_repository();
	ck_assert_int_eq(mkdir(".git/modules", 0755), 0);
	ck_assert_int_eq(mkdir(".git/modules/a", 0755), 0);
	ck_assert_int_eq(mkdir(".git/modules/a/hooks", 0755), 0);
	put(".git/modules/a/HEAD", "x");
	put(".git/modules/a/config", "[core]\n\tworktree = ../../../a\n");
	put(".git/modules/a/hooks/post-checkout", "evil");
	put(".git/modules/a/commondir", "../../../evil\n");
	ck_assert_uint_eq(settled(dir, false), 2);
	ck_assert(is_there(".git/modules/a/config"));
	ck_assert(!is_there(".git/modules/a/hooks/post-checkout"));
	ck_assert(!is_there(".git/modules/a/commondir"));
}
END_TEST

START_TEST(linked_work_tree_stays_in_its_repository)
{
	static const char *const bad[] = { "../../../evil\n", "../..", "/evil\n", "../..\nx" };
	const char *dir = enter_dir();

	make_repository();
	ck_assert_int_eq(mkdir(".git/worktrees", 0755), 0);
	ck_assert_int_eq(mkdir(".git/worktrees/w", 0755), 0);
	put(".git/worktrees/w/HEAD", "x");
	put(".git/worktrees/w/gitdir", "/somewhere/w/.git\n");
	put(".git/worktrees/w/commondir", "../..\n");
	ck_assert_uint_eq(settled(dir, false), 0);
	put(".git/worktrees/w/config.worktree", "");
	ck_assert_uint_eq(settled(dir, false), 1);
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		put(".git/worktrees/w/commondir", bad[i]);
		ck_assert_uint_eq(settled(dir, false), 1);
		ck_assert_msg(!is_there(".git/worktrees/w/commondir"), "%s", bad[i]);
	}
}
END_TEST

START_TEST(what_is_shut_is_looked_at)
{
	static const mode_t modes[] = { 0, 0100, 0300, 0500, 0600 };
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	const char *dir = enter_dir();

	be_nobody(dir);
	for (size_t i = 0; i < ATS_ARRAY_LEN(modes); i++) {
		make_repository();
		put(".git/hooks/pre-commit", "evil");
		ck_assert_int_eq(chmod(".git", modes[i]), 0);
		ck_assert_int_eq(chmod(".", modes[i]), 0);
		ck_assert_uint_eq(settled(dir, false), 1);
		ck_assert_int_eq(chmod(".", 0700), 0);
		ck_assert_int_eq(chmod(".git", 0700), 0);
		ck_assert(!is_there(".git/hooks/pre-commit"));
		ck_assert_int_eq(chmod(".git/hooks", modes[i]), 0);
		(void)settled(dir, false);	/* kept, or moved if unreadable */
		ck_assert(is_there(".git/hooks") == ((modes[i] & 0400) != 0));
		ck_assert_int_eq(rename(".git", names[i]), 0);
	}
}
END_TEST

START_TEST(repository_with_a_shut_part_is_moved_aside)
{
	static const char *const shut[] = { ".git/modules", ".git/modules/a",
		".git/modules/a/modules" };
	const char *dir = enter_dir();

	be_nobody(dir);
	for (size_t i = 0; i < ATS_ARRAY_LEN(shut); i++) {
		make_repository();
		ck_assert_int_eq(mkdir(".git/modules", 0755), 0);
		ck_assert_int_eq(mkdir(".git/modules/a", 0755), 0);
		put(".git/modules/a/HEAD", "x");
		ck_assert_int_eq(mkdir(".git/modules/a/modules", 0755), 0);
		ck_assert_int_eq(chmod(shut[i], 0), 0);
		ck_assert_uint_eq(settled(dir, false), 1);
		ck_assert_msg(!is_there(".git"), "%s", shut[i]);
	}
}
END_TEST

/* The names that make a directory a repository. */
static void
make_bare(void)
{
	ck_assert_int_eq(mkdir("objects", 0755), 0);
	ck_assert_int_eq(mkdir("refs", 0755), 0);
	put("HEAD", "ref: refs/heads/main\n");
}

static unsigned
settled_bare(const char *dir, bool config_is_open)
{
	const char *stays = NULL;
	unsigned n = made_settle_bare(dir, config_is_open, &stays);

	ck_assert_ptr_null(stays);
	return n;
}

START_TEST(bare_one_as_git_makes_it_stays)
{
	const char *dir = enter_dir();

	put("config", "a project's own");
	ck_assert(!made_is_bare(dir));
	ck_assert_uint_eq(settled_bare(dir, false), 0);	/* none */
	put("config", HEAD);
	make_bare();
	ck_assert_int_eq(mkdir("hooks", 0755), 0);
	put("hooks/update.sample", "x");
	ck_assert(made_is_bare(dir));
	ck_assert_uint_eq(settled_bare(dir, false), 0);
	ck_assert_int_eq(unlink("config"), 0);
	ck_assert_uint_eq(settled_bare(dir, false), 0);
	ck_assert(is_there("HEAD"));
}
END_TEST

START_TEST(bare_one_with_more_is_none_any_more)
{
	static const char *const more[] = { "config", "hooks", "hooks/update", "commondir",
		"gitdir", "config.worktree" };
	const char *dir = enter_dir();

	make_bare();
	for (size_t i = 0; i < ATS_ARRAY_LEN(more); i++) {
		if (strcmp(more[i], "hooks/update") == 0)
			ck_assert_int_eq(mkdir("hooks", 0755), 0);
		put(more[i], "evil = evil\n");
		ck_assert_msg(settled_bare(dir, false) == 1, "%s", more[i]);
		ck_assert(!made_is_bare(dir) && is_there(more[i]));
		ck_assert_int_eq(unlink(more[i]), 0);
		ck_assert_int_eq(rename("HEAD.quarantine", "HEAD"), 0);
		ck_assert_uint_eq(settled_bare(dir, false), 0);
	}
	put("config", "[core]\n\tfsmonitor = asked for\n");
	ck_assert_uint_eq(settled_bare(dir, true), 0);
	ck_assert_int_eq(rename("refs", "r"), 0);	/* which the common one has */
	put("commondir", "evil\n");
	ck_assert_uint_eq(settled_bare(dir, true), 1);
	ck_assert(!is_there("HEAD"));
}
END_TEST

START_TEST(what_cannot_be_moved_is_told)
{
	const char *dir = enter_dir(), *stays = NULL;

	if (geteuid() != 0)
		return;		/* it takes a file of somebody else's */
	make_repository();
	put(".git/hooks/pre-commit", "evil");
	ck_assert_int_eq(chmod(".git/hooks", 01777), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	ck_assert_int_eq(setresuid(12345, 12345, 12345), 0);
	ck_assert_uint_eq(made_settle(dir, false, &stays), 0);
	ck_assert_ptr_nonnull(stays);
}
END_TEST

ATS_UNIT_MAIN("made", config_that_git_writes_is_plain, config_with_more_is_not_plain,
    repository_as_git_makes_it_stays, what_a_tool_adds_is_moved_aside, links_are_moved_aside,
    repository_of_a_submodule_is_looked_at, linked_work_tree_stays_in_its_repository,
    what_is_shut_is_looked_at, repository_with_a_shut_part_is_moved_aside,
    bare_one_as_git_makes_it_stays, bare_one_with_more_is_none_any_more,
    what_cannot_be_moved_is_told)
