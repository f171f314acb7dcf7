/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/match/ignore.c and gitconfig.c: single rules and configurations by table. Whole trees
 * against git: tests/diff/0100-ignore.py. */
#include "hands/match/gitrepo.h"
#include "hands/match/ignore.h"
#include "tests/lib/tool_env.h"

START_TEST(ignore_rules_decide_as_git_documents)
{
	static const struct {
		const char *rules, *path;
		bool is_dir;
		enum ignore_verdict want;
	} rows[] = {
		{ "foo", "foo", false, IGNORE_YES },
		{ "foo", "a/foo", false, IGNORE_YES },
		{ "foo", "foobar", false, IGNORE_NONE },
		{ "foo/", "foo", false, IGNORE_NONE },
		{ "foo/", "foo", true, IGNORE_YES },
		{ "foo/", "a/foo", true, IGNORE_YES },
		{ "/foo", "foo", false, IGNORE_YES },
		{ "/foo", "a/foo", false, IGNORE_NONE },
		{ "a/foo", "a/foo", false, IGNORE_YES },
		{ "a/foo", "b/a/foo", false, IGNORE_NONE },
		{ "**/foo", "b/a/foo", false, IGNORE_YES },
		{ "**/foo", "foo", false, IGNORE_YES },
		{ "a/**", "a", true, IGNORE_NONE },
		{ "a/**", "a/b/c", false, IGNORE_YES },
		{ "a/**/b", "a/b", false, IGNORE_YES },
		{ "a/**/b", "a/x/y/b", false, IGNORE_YES },
		{ "a/*/b", "a/x/y/b", false, IGNORE_NONE },
		{ "*.o", "a/x.o", false, IGNORE_YES },
		{ "*.o\n!x.o", "a/x.o", false, IGNORE_NO },
		{ "!x.o\n*.o", "a/x.o", false, IGNORE_YES },
		{ "*.[oa]", "x.a", false, IGNORE_YES },
		{ "*.[!oa]", "x.a", false, IGNORE_NONE },
		{ "x[[:digit:]]", "x7", false, IGNORE_YES },
		{ "a?c", "abc", false, IGNORE_YES },
		{ "a?c", "a/c", false, IGNORE_NONE },
		{ "# foo", "# foo", false, IGNORE_NONE },
		{ "\\#foo", "#foo", false, IGNORE_YES },
		{ "\\!foo", "!foo", false, IGNORE_YES },
		{ "foo  ", "foo", false, IGNORE_YES },
		{ "foo\\ ", "foo ", false, IGNORE_YES },
		{ "foo\t", "foo", false, IGNORE_NONE },
		{ "foo\r\nbar\r\n", "foo", false, IGNORE_YES },
		{ "bar\r", "bar", false, IGNORE_YES },
		{ "bar\r\r\n", "bar", false, IGNORE_NONE },
		/* what generated trees found */
		{ "[a/b]c", "bc", false, IGNORE_YES },
		{ "[a/b]c", "x/bc", false, IGNORE_NONE },
		{ "/a_b\\/foo*", "a_b/foo.c", true, IGNORE_YES },
		{ "*\\/x y", "A/x y", false, IGNORE_YES },
		{ "**/**\\/?", "a/b", false, IGNORE_YES },
		{ "**/**\\/?", "b", false, IGNORE_NONE },
		{ "/abc**\\/*/ba", "abc/d/ba", false, IGNORE_YES },
		{ "x/ab**/foo", "x/abfoo", false, IGNORE_YES },
		{ "x/ab**/foo", "x/abc/d/foo", false, IGNORE_YES },
		{ "x/a?**/foo", "x/abc/d/foo", false, IGNORE_NONE },
		/* what fuzzing found */
		{ "a**/*", "a", false, IGNORE_YES },
		{ "/ab**/**/*", "ab", false, IGNORE_YES },
		{ "a**/?", "a", false, IGNORE_NONE },
		{ "ab**/x", "ab", false, IGNORE_NONE },
		{ "[z-a]", "z", false, IGNORE_YES },
		{ "[z-a]", "m", false, IGNORE_NONE },
		{ "[[:cntrl:]]", "\v", false, IGNORE_YES },
		{ "/ab****/**", "ab", false, IGNORE_YES },
		{ "/ab**/**/**//", "ab", true, IGNORE_YES },
		{ "!*/*", "b", true, IGNORE_NONE },
		{ "/[^]/**/[-a]", "b", false, IGNORE_YES },
		{ "/[^]/**/[-a]", "[/x/a", false, IGNORE_NONE },
		{ "[[:nope:]a]", "a", false, IGNORE_NONE },
		{ "[[:x]", "x", false, IGNORE_YES },
		{ "[[:]", "[", false, IGNORE_YES },
		{ "[![:digit:]]", "x", false, IGNORE_YES },
		{ "a[[:space:]]", "a\v", false, IGNORE_NONE },
		{ "\xef\xbb\xbf" "foo\n", "foo", false, IGNORE_YES },
		{ "foo\\", "foo", false, IGNORE_NONE },
		{ "fo[o", "foo", false, IGNORE_NONE },
		{ "*", ".x", false, IGNORE_YES },
		{ "/*\n!/keep", "keep", false, IGNORE_NO },
		{ "a\\*b", "a*b", false, IGNORE_YES },
		{ "a\\*b", "axb", false, IGNORE_NONE },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ignore_rules *r = ignore_parse(rows[i].rules, strlen(rows[i].rules));
		const char *slash = strrchr(rows[i].path, '/');
		enum ignore_verdict got = IGNORE_NONE;

		if (r != NULL)
			got = ignore_match(r, rows[i].path, strlen(rows[i].path),
			    slash != NULL ? (size_t)(slash + 1 - rows[i].path) : 0,
			    rows[i].is_dir);
		ck_assert_msg(got == rows[i].want, "\"%s\" on %s: %d", rows[i].rules,
		    rows[i].path, got);
		ignore_free(r);
	}
}
END_TEST

START_TEST(ignore_parse_of_nothing_is_null)
{
	ck_assert_ptr_null(ignore_parse("", 0));
	ck_assert_ptr_null(ignore_parse("\n# only\n\n/\n!\n", 13));
}
END_TEST

/* ---- configurations ------------------------------------------------------------------------ */
START_TEST(gitrepo_config_value_is_the_last_excludes_file)
{
	static const struct {
		const char *text, *want;	/* NULL: none */
	} rows[] = {
		{ "", NULL },
		{ "[core]\nexcludesFile = /a\n", "/a" },
		{ "[core]excludesfile=~/a", "~/a" },
		{ "[CoRe]\r\n\tEXCLUDESFILE =  /a b  \r\n", "/a b" },
		{ "[core]\nexcludesFile = \"/a # b \" ; c\n", "/a # b " },
		{ "[core]\nexcludesFile = /a\\\n/b\n", "/a/b" },
		{ "[core]\nexcludesFile = /a\\\\b\\\"c\n", "/a\\b\"c" },
		{ "[core]\nexcludesFile = /a\nexcludesFile = /b\n", "/b" },
		{ "[core]\nexcludesFile =\n", "" },
		{ "[core \"x\"]\nexcludesFile = /a\n", NULL },
		{ "[core.x]\nexcludesFile = /a\n", NULL },
		{ "[alias \"a]\"]\nexcludesFile = /a\n[core]\nexcludesFile = /b", "/b" },
		{ "[user]\nname = [core]\nexcludesFile = /a\n", NULL },
		{ "[user]\nname = x \\\n[core]\nexcludesFile = /a\n", NULL },
		{ "# [core]\n; [core]\nexcludesFile = /a\n", NULL },
		{ "[core]\nexcludesFile = /a\\q\n", NULL },
		{ "[core]\nexcludesFile = \"/a\n", NULL },
		{ "[core]\nexcludesFile\n", NULL },
		{ "[core]\nexcludesFiles = /a\nexcludes = /b\n", NULL },
		{ "\xef\xbb\xbf[core]\nexcludesFile = /a\n", "/a" },
		{ "[core", NULL }, { "[", NULL }, { "[core]\nexcludesFile = \\", "" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		char got[64] = "(none)";
		bool found = gitrepo_config_value(rows[i].text, strlen(rows[i].text), got,
		    sizeof(got));

		ck_assert_msg(found == (rows[i].want != NULL), "%zu: %s", i, got);
		if (found)
			ck_assert_str_eq(got, rows[i].want);
	}
}
END_TEST

START_TEST(gitrepo_config_value_too_long_is_refused)
{
	static const char text[] = "[core]\nexcludesFile = /0123456789\n";
	char got[8];

	ck_assert(!gitrepo_config_value(text, sizeof(text) - 1, got, sizeof(got)));
}
END_TEST

ATS_UNIT_MAIN("ignore", ignore_rules_decide_as_git_documents, ignore_parse_of_nothing_is_null,
    gitrepo_config_value_is_the_last_excludes_file,
    gitrepo_config_value_too_long_is_refused)
