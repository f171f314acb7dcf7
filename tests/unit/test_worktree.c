/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/confine/worktree.c: which repository a .git that is a file may bring into the view. A
 * tool may have written every byte of it. */
#include "hands/confine/worktree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* Of each test: top/ws is the workspace, top/repo.git a repository with the administrative
 * directories of a work tree (worktrees/w) and of a submodule (modules/s). */
static char top[64], ws[96];

static const char *
at(const char *rel)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", top, rel);
	return path;
}

static void
put_bytes(const char *rel, const char *p, size_t n)
{
	FILE *f = fopen(at(rel), "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(p, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* A file of text, in which "%" stands for top. */
static void
put(const char *rel, const char *text)
{
	const char *mark = strchr(text, '%');
	char whole[512];
	int head = mark != NULL ? (int)(mark - text) : (int)strlen(text);

	(void)snprintf(whole, sizeof(whole), "%.*s%s%s", head, text, mark != NULL ? top : "",
	    mark != NULL ? mark + 1 : "");
	put_bytes(rel, whole, strlen(whole));
}

static void
repository(const char *rel)
{
	char path[256];

	ck_assert_int_eq(mkdir(at(rel), 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/objects", rel);
	ck_assert_int_eq(mkdir(at(path), 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/HEAD", rel);
	put(path, "ref: refs/heads/main\n");
}

static void
start(void)
{
	static const char *const dirs[] = { "ws", "other", "repo.git/worktrees",
		"repo.git/worktrees/w", "repo.git/modules" };

	(void)snprintf(top, sizeof(top), "/tmp/ats-worktree-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	(void)snprintf(ws, sizeof(ws), "%s/ws", top);
	repository("repo.git");
	for (size_t i = 0; i < ATS_ARRAY_LEN(dirs); i++)
		ck_assert_int_eq(mkdir(at(dirs[i]), 0755), 0);
	repository("repo.git/modules/s");
	put("repo.git/worktrees/w/commondir", "../..\n");
	put("repo.git/worktrees/w/gitdir", "%/ws/.git\n");
	put("repo.git/modules/s/config", "[core]\n\tbare = false\n\tworktree = ../../../ws\n");
	put("ws/.git", "gitdir: %/repo.git/worktrees/w\n");
}

static void
stop(void)
{
	char cmd[128];

	(void)snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	ck_assert_int_eq(system(cmd), 0);
}

static void
expect(const char *repository_rel)
{
	struct ats_err err = { 0 };
	char ret[4096];

	ck_assert_msg(worktree_find(ws, ret, &err) == 1, "%s", err.text);
	ck_assert_str_eq(ret, at(repository_rel));
}

/* Left out: with code 0 there is nothing to tell of. */
static void
expect_none(int code)
{
	struct ats_err err = { 0 };
	char ret[4096];

	ck_assert_int_eq(worktree_find(ws, ret, &err), 0);
	ck_assert_msg(err.code == code, "%d instead of %d: %s", err.code, code, err.text);
}

START_TEST(worktree_shares_the_repository_that_names_it)
{
	start();
	expect("repo.git");
	put("ws/.git", "gitdir: ../repo.git/worktrees/w");
	put("repo.git/worktrees/w/gitdir", "../../../ws/.git\r\n");
	put("repo.git/worktrees/w/commondir", "%/repo.git");
	expect("repo.git");
	stop();
}
END_TEST

START_TEST(submodule_has_the_repository_whose_configuration_names_it)
{
	start();
	put("ws/.git", "gitdir: ../repo.git/modules/s\n");
	expect("repo.git/modules/s");
	put("repo.git/modules/s/config", "[core]\nworktree = %/ws\n");
	expect("repo.git/modules/s");
	stop();
}
END_TEST

/* What a command could write to be shown a directory of the host. */
START_TEST(what_does_not_name_the_workspace_in_turn_is_left_out)
{
	start();
	put("ws/.git", "gitdir: /etc\n");
	expect_none(ATS_E_DENIED);
	put("ws/.git", "gitdir: ../repo.git\n");
	expect_none(ATS_E_DENIED);
	put("ws/.git", "gitdir: ../repo.git/worktrees/w\n");
	put("repo.git/worktrees/w/gitdir", "%/other/.git\n");
	expect_none(ATS_E_DENIED);
	put("repo.git/worktrees/w/gitdir", "%/ws/missing\n");
	expect_none(ATS_E_DENIED);
	stop();
}
END_TEST

START_TEST(a_common_directory_elsewhere_is_left_out)
{
	start();
	repository("secret.git");
	put("repo.git/worktrees/w/commondir", "%/secret.git\n");
	expect_none(ATS_E_DENIED);
	put("repo.git/worktrees/w/commondir", "..\n");
	expect_none(ATS_E_DENIED);
	ck_assert_int_eq(unlink(at("repo.git/worktrees/w/commondir")), 0);
	expect_none(ATS_E_DENIED);
	stop();
}
END_TEST

START_TEST(a_submodule_of_another_work_tree_is_left_out)
{
	static const char *const configs[] = { "[core]\n\tworktree = ../../../other\n",
		"[core]\n\tbare = true\n", "", "[core]\n\tworktree = ../../../missing\n",
		"[core]\n\tworktree = ../../../other\n\tworktree = ../../../ws\n" };

	start();
	put("ws/.git", "gitdir: ../repo.git/modules/s\n");
	for (size_t i = 0; i < ATS_ARRAY_LEN(configs); i++) {
		put_bytes("repo.git/modules/s/config", configs[i], strlen(configs[i]));
		expect_none(ATS_E_DENIED);
	}
	stop();
}
END_TEST

START_TEST(what_is_no_repository_is_left_out)
{
	start();
	ck_assert_int_eq(unlink(at("repo.git/HEAD")), 0);
	expect_none(ATS_E_DENIED);
	put("repo.git/HEAD", "ref: refs/heads/main\n");
	expect("repo.git");
	ck_assert_int_eq(rmdir(at("repo.git/objects")), 0);
	expect_none(ATS_E_DENIED);
	ck_assert_int_eq(symlink("/etc", at("repo.git/objects")), 0);
	expect_none(ATS_E_DENIED);
	stop();
}
END_TEST

START_TEST(a_repository_around_the_workspace_is_left_out)
{
	start();
	repository("repo.git/ws");
	(void)snprintf(ws, sizeof(ws), "%s/repo.git/ws", top);
	put("repo.git/ws/.git", "gitdir: ../worktrees/w\n");
	put("repo.git/worktrees/w/gitdir", "%/repo.git/ws/.git\n");
	expect_none(ATS_E_DENIED);
	stop();
}
END_TEST

START_TEST(a_repository_of_another_owner_is_left_out)
{
	start();
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(at("repo.git"), 12345, 12345), 0);
		expect_none(ATS_E_DENIED);
		ck_assert_int_eq(chown(ws, 12345, 12345), 0);
		expect("repo.git");
	} else {
		printf("# another owner: only root can make one\n");
	}
	stop();
}
END_TEST

START_TEST(a_repository_in_the_workspace_needs_no_view)
{
	start();
	repository("ws/.real");
	put("ws/.git", "gitdir: .real\n");
	expect_none(0);
	put("ws/.git", "gitdir: ../missing\n");
	expect_none(ATS_E_NOENT);
	stop();
}
END_TEST

/* Neither followed nor waited for. */
START_TEST(what_is_no_small_file_says_nothing)
{
	static char big[PATH_MAX + 16];

	start();
	put_bytes("ws/.git", "gitdir: ../repo.git\0/worktrees/w", 31);
	expect_none(0);
	memset(big, '/', sizeof(big));
	memcpy(big, "gitdir: ", 8);
	put_bytes("ws/.git", big, sizeof(big));
	expect_none(0);
	put("ws/.git", "");
	expect_none(0);
	put("ws/.git", "\n");
	expect_none(0);
	put("ws/.git", "GITDIR: ../repo.git/worktrees/w\n");
	expect_none(0);
	put("file", "gitdir: ../repo.git/worktrees/w\n");
	ck_assert_int_eq(unlink(at("ws/.git")), 0);
	expect_none(0);
	ck_assert_int_eq(symlink("../file", at("ws/.git")), 0);
	expect_none(0);
	ck_assert_int_eq(unlink(at("ws/.git")), 0);
	ck_assert_int_eq(mkfifo(at("ws/.git"), 0666), 0);
	expect_none(0);
	ck_assert_int_eq(unlink(at("ws/.git")), 0);
	ck_assert_int_eq(mkdir(at("ws/.git"), 0755), 0);
	expect_none(0);
	stop();
}
END_TEST

ATS_UNIT_MAIN("worktree", worktree_shares_the_repository_that_names_it,
    submodule_has_the_repository_whose_configuration_names_it,
    what_does_not_name_the_workspace_in_turn_is_left_out,
    a_common_directory_elsewhere_is_left_out,
    a_submodule_of_another_work_tree_is_left_out, what_is_no_repository_is_left_out,
    a_repository_around_the_workspace_is_left_out,
    a_repository_of_another_owner_is_left_out, a_repository_in_the_workspace_needs_no_view,
    what_is_no_small_file_says_nothing)
