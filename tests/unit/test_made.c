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

	ck_assert_ptr_nonnull(mkdtemp(dir));
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

START_TEST(repository_as_git_makes_it_stays)
{
	const char *dir = enter_dir();

	ck_assert_uint_eq(made_settle(dir, false), 0);	/* none */
	make_repository();
	ck_assert_uint_eq(made_settle(dir, false), 0);
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
	ck_assert_uint_eq(made_settle(dir, false), 3);
	ck_assert(!is_there(".git/hooks/pre-commit"));
	ck_assert(is_there(".git/hooks/pre-commit.quarantine"));
	ck_assert(!is_there(".git/config") && !is_there(".git/commondir"));
	ck_assert_uint_eq(made_settle(dir, false), 0);
	put(".git/config", "[core]\n\tfsmonitor = asked for\n");
	ck_assert_uint_eq(made_settle(dir, true), 0);
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
	ck_assert_uint_eq(made_settle(dir, false), 2);
	ck_assert(!is_there(".git/config") && !is_there(".git/hooks"));
	ck_assert_int_eq(rename(".git", "g"), 0);
	ck_assert_int_eq(symlink("g", ".git"), 0);
	ck_assert_uint_eq(made_settle(dir, false), 1);
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
	ck_assert_uint_eq(made_settle(dir, false), 1);
	ck_assert(is_there(".git/modules/a/config"));
	ck_assert(!is_there(".git/modules/a/hooks/post-checkout"));
}
END_TEST

ATS_UNIT_MAIN("made", config_that_git_writes_is_plain, config_with_more_is_not_plain,
    repository_as_git_makes_it_stays, what_a_tool_adds_is_moved_aside, links_are_moved_aside,
    repository_of_a_submodule_is_looked_at)
