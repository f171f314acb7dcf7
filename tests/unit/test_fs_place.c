/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/place.c and protected.c. */
#include "hands/fs/file.h"
#include "tests/lib/tool_env.h"

START_TEST(place_names_are_lexical)
{
	static const struct { const char *name, *want; int code; } rows[] = {
		{ "a", "ws/a", 0 }, { "./a//b/", "ws/a/b", 0 }, { "a/../b", "ws/b", 0 },
		{ "~/x", "home/x", 0 }, { "~", "home", 0 }, { "~user", "ws/~user", 0 },
		{ "../home/y", "home/y", 0 }, { ".", "ws", 0 },
		{ "../ws-evil/a", NULL, ATS_E_ESCAPES }, { "..", NULL, ATS_E_ESCAPES },
		{ "/etc/passwd", NULL, ATS_E_ESCAPES }, { "/proc/self/mem", NULL, ATS_E_ESCAPES },
		{ "../../../../../../../..", NULL, ATS_E_ESCAPES }, { "", NULL, ATS_E_INVAL },
	};
	struct fake_env f;

	fake_start(&f);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fs_place pl;
		struct ats_err err = { 0 };
		int rc = fs_place(&f.env, rows[i].name, &pl, &err);

		ck_assert_msg(rc == -rows[i].code, "%s: %d %s", rows[i].name, rc, err.text);
		if (rc == 0)
			ck_assert_str_eq(pl.path, fake_path(&f, rows[i].want));
	}
	fake_stop(&f);
}
END_TEST

START_TEST(resolve_follows_links_inside_only)
{
	static const struct { const char *link, *target; bool abs; } links[] = {
		{ "ws/in", "dir/file", false }, { "ws/up", "../home/h", false },
		{ "ws/abs", "ws/dir", true }, { "ws/abs-home", "home", true },
		{ "ws/out", "../out/x", false }, { "ws/etc", "/etc", false },
		{ "ws/loop", "loop", false }, { "ws/a", "b", false }, { "ws/b", "a", false },
		{ "ws/evil", "ws-evil", true }, { "ws/back", "../out/../ws/dir", false },
		{ "ws/dangling", "dir/none", false }, { "ws/chain", "abs", false },
		{ "ws/proc", "/proc/self/root/etc/passwd", false },
	};
	static const struct { const char *name, *want; int code; } rows[] = {
		{ "in", "ws/dir/file", 0 }, { "up", "home/h", 0 }, { "abs/file", "ws/dir/file", 0 },
		{ "abs-home/h", "home/h", 0 }, { "out", NULL, ATS_E_ESCAPES },
		{ "etc/passwd", NULL, ATS_E_ESCAPES }, { "loop", NULL, ATS_E_INVAL },
		{ "a/x", NULL, ATS_E_INVAL }, { "evil/a", NULL, ATS_E_ESCAPES },
		{ "back/file", "ws/dir/file", 0 }, { "dangling", "ws/dir/none", 0 },
		{ "chain/file", "ws/dir/file", 0 }, { "new/deep/er", "ws/new/deep/er", 0 },
		{ "proc", NULL, ATS_E_ESCAPES }, { "dir/file", "ws/dir/file", 0 },
	};
	struct fake_env f;

	fake_start(&f);
	ck_assert_int_eq(mkdir(fake_path(&f, "ws/dir"), 0755), 0);
	fake_put_str(&f, "ws/dir/file", "x");
	fake_put_str(&f, "home/h", "x");
	for (size_t i = 0; i < ATS_ARRAY_LEN(links); i++)
		ck_assert_int_eq(symlink(links[i].abs ? fake_path(&f, links[i].target) :
		    links[i].target, fake_path(&f, links[i].link)), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fs_place pl, at;
		struct ats_err err = { 0 };
		int rc = fs_place(&f.env, rows[i].name, &pl, &err);

		ck_assert_int_eq(rc, 0);
		rc = fs_resolve(&f.env, &pl, &at, &err);
		ck_assert_msg(rc == -rows[i].code, "%s: %d %s", rows[i].name, rc, err.text);
		if (rc == 0)
			ck_assert_str_eq(at.path, fake_path(&f, rows[i].want));
		else if (rc == -ATS_E_ESCAPES)
			ck_assert_ptr_nonnull(strstr(err.text, "leads through a symbolic link to"));
	}
	fake_stop(&f);
}
END_TEST

START_TEST(protected_names)
{
	/* git knows a repository by what is in it, whatever its name */
	static const char *const dirs[] = { "ws/store", "ws/store/objects", "ws/store/refs",
		"ws/linked", "ws/plain", "ws/plain/objects", "ws/nohead", "ws/nohead/objects",
		"ws/nohead/refs", "ws/norefs", "ws/norefs/objects", "ws/noobjects",
		"ws/noobjects/refs", "ws/onlyhead", "ws/ready", "ws/ready/objects",
		"ws/ready/refs", "ws/made", "ws/made/objects", "ws/made/refs" };
	static const char *const files[] = { "ws/nohead/config", "ws/norefs/HEAD",
		"ws/norefs/config", "ws/noobjects/HEAD", "ws/noobjects/config",
		"ws/onlyhead/HEAD", "ws/plain/config", "ws/made/HEAD",
		"ws/made/config" };
	static const struct {
		const char *rel; bool want;
	} rows[] = {
		{ ".git/hooks/pre-commit", true },
		{ ".git/hooks", true },
		{ ".git/config", true },
		{ ".git/config.worktree", true },
		{ ".git/info/exclude", true },
		{ ".git", true },
		{ "sub/.git", true },
		{ "a/b/.git/config", true },
		{ ".GIT/Config", true },
		{ ".git/modules/x/hooks/update", true },
		{ ".git/worktrees/w/gitdir", true },
		{ "repo.git/hooks/update", true },
		{ "repo.git/config", true },
		{ ".mcp.json", true },
		{ "sub/.mcp.json", true },
		{ ".claude/settings.json", true },
		{ ".claude", true },
		{ ".vscode/tasks.json", true },
		{ ".idea/x", true },
		{ ".envrc", true },
		{ ".husky/pre-commit", true },
		{ ".bashrc", true },
		{ "x/.zshrc", true },
		{ ".profile", true },
		{ ".gitmodules", true },
		{ ".cursor/mcp.json", true },
		{ ".cursor/rules", true },
		{ ".devcontainer/devcontainer.json", true },
		{ ".devcontainer.json", true },
		{ ".zed/tasks.json", true },
		{ ".gemini/settings.json", true },
		{ ".codex/config.toml", true },
		{ ".kiro/settings/mcp.json", true },
		{ ".windsurf/hooks.json", true },
		{ "sub/.roo/mcp.json", true },
		{ ".opencode/plugin/x.js", true },
		{ "opencode.json", true },
		{ ".aider.conf.yml", true },
		{ "sub/.inputrc", true },
		{ ".config/fish/config.fish", true },
		{ ".hg/hgrc", true },
		{ ".jj/repo/config.toml", true },
		{ "store/hooks/update", true },
		{ "store/config", true },
		{ "store/worktrees/new/config.worktree", true },
		{ "linked/commondir", true },
		{ "linked/config.worktree", true },
		{ ".git/COMMIT_EDITMSG", false },
		{ ".gitignore", false },
		{ ".gitattributes", false },
		{ ".github/workflows/ci.yml", false },
		{ "src/config", false },
		{ "hooks/x", false },
		{ "x.mcp.json", false },
		{ ".claude.md", false },
		{ "info/exclude", false },
		{ ".vscodeignore", false },
		{ ".env", false },
		{ "a.git/src/config", false },
		{ ".", false },
		{ "CLAUDE.md", false },
		{ "store/HEAD", false },
		{ "plain/config", false },
		{ ".jj/config.toml", false },
		{ "repo/config.toml", false },
		{ "xfish/config.fish", false },
		{ "nohead/HEAD", true },
		{ "norefs/refs/heads/main", true },
		{ "norefs/refs", true },
		{ "noobjects/Objects/aa", true },
		{ "onlyhead/commondir", true },
		{ "ready/HEAD", false },
		{ "onlyhead/refs/x", false },
		{ "onlyhead/objects/x", false },
		{ "norefs/HEAD", false },
		{ "norefs/objects/aa", false },
		{ "plain/HEAD", false },
		{ "commondir", false },
		{ "made/objects/aa", false },
		{ "made/HEAD", false },
	};

	struct fake_env f;

	fake_start(&f);
	for (size_t i = 0; i < ATS_ARRAY_LEN(dirs); i++)
		ck_assert_int_eq(mkdir(fake_path(&f, dirs[i]), 0755), 0);
	fake_put_str(&f, "ws/linked/commondir", "../store\n");
	for (size_t i = 0; i < ATS_ARRAY_LEN(files); i++)
		fake_put_str(&f, files[i], "x\n");
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg((fs_protected(f.env.roots[0].fd, rows[i].rel) != NULL) ==
		    rows[i].want, "%s", rows[i].rel);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("fs_place", place_names_are_lexical, resolve_follows_links_inside_only,
    protected_names)
