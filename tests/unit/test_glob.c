/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/match/glob.c. */
#include "hands/match/glob.h"
#include "tests/lib/unit.h"

START_TEST(glob_match_of_paths)
{
	static const struct {
		const char *pattern, *path;
		bool want;
	} rows[] = {
		{ "*.c", "a.c", true },
		{ "*.c", "dir/a.c", true },
		{ "*.c", ".hidden.c", true },
		{ "*.c", "a.cc", false },
		{ "**/*.c", "a.c", true },
		{ "**/*.c", "x/y/a.c", true },
		{ "src/*.c", "src/a.c", true },
		{ "src/*.c", "x/src/a.c", false },
		{ "src/*.c", "src/x/a.c", false },
		{ "/a.c", "a.c", true },
		{ "/a.c", "x/a.c", false },
		{ "./a.c", "a.c", true },
		{ "*/a.c", "x/a.c", true },
		{ "*/a.c", "x/y/a.c", false },
		{ "src/**", "src/a/b", true },
		{ "src/**", "src", false },
		{ "src/**/b", "src/b", true },
		{ "**", "a/b", true },
		{ "**/a/**/b", "x/a/y/z/b", true },
		{ "**/a/*.c", "a/b.c", true }, { "**/a/*.c", "x/y/a/b.c", true },
		{ "**/a/*.c", "a/x/b.c", false }, { "**/a/*.c", "b.c", false },
		{ "a/**/b/c", "a/b/c", true }, { "a/**/b/c", "a/b/b/c", true },
		{ "a/**/b/c", "a/c", false }, { "a/**/a/c", "a/c", false },
		{ "*.c", ".c", true }, { "*.c", "c", false }, { "*a*.c", "xa.c", true },
		{ "*\\.c", "a.c", true },
		{ "a**b", "axyb", true },
		{ "a**b/c", "ax/b/c", false },
		{ "*.{c,h}", "x/a.h", true },
		{ "*.{c,h}", "x/a.x", false },
		{ "{src,lib}/**/*.js", "lib/a/b.js", true },
		{ "{a,b{c,d}}.x", "bd.x", true },
		/* a class is its own text, whatever a member puts behind it */
		{ "{{p,[[:a]}:,y}]]", "p:]]", true }, { "{{p,[[:a]}:,y}]]", "[:]]", true },
		{ "{{p,[[:a]}:,y}]]", "y]]", true }, { "{{p,[[:a]}:,y}]]", "x:]]", false },
		{ "a{,.bak}", "a", true },
		{ "a{,.bak}", "a.bak", true },
		{ "{x/*.c,*.h}", "y/a.h", true },
		{ "{x/*.c,*.h}", "y/a.c", false },
		{ "\\{a,b\\}", "{a,b}", true },
		{ "[ab].c", "b.c", true },
		{ "[!ab].c", "b.c", false },
		{ "[^ab].c", "c.c", true },
		{ "[]].c", "].c", true },
		{ "[[:upper:]]*", "Ab", true },
		{ "[a-c]", "b", true },
		{ "?", "\xc3", true }, { "?", "\xc3\xa4", true }, { "??", "\xc3\xa4", false },
		{ "*??", "\xe5\x8f\x98", false }, { "[!a]", "\xc3\xa4", true },
		{ "[\xc3\xa4-\xc3\xb6]x", "\xc3\xb6x", true },
		{ "[\xc3\xa4-\xc3\xb6]x", "\xc3\x84x", false },
		{ "?\xff", "\xc3\xa4\xff", true }, { "[\xff]", "\xff", true },
		{ "[\xc3\xbf]", "\xff", false },
		{ "a\\*b", "a*b", true },
		{ "a\\*b", "axb", false },
		{ "app/[id]/page.tsx", "app/[id]/page.tsx", true },
		{ "app/[id]/page.tsx", "app/i/page.tsx", true },
		{ "[...slug].ts", "x/[...slug].ts", true },
		{ "*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
		{ "}a", "}a", true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct glob *g = NULL;

		ck_assert_msg(glob_new(rows[i].pattern, GLOB_ANYWHERE | GLOB_BRACKET_NAMES, &g,
		    NULL) == 0, "%s", rows[i].pattern);
		ck_assert_msg(glob_match(g, rows[i].path, strlen(rows[i].path)) == rows[i].want,
		    "%s on %s", rows[i].pattern, rows[i].path);
		glob_free(g);
	}
}
END_TEST

START_TEST(glob_may_descend_only_where_something_can_match)
{
	static const struct {
		const char *pattern, *dir;
		bool want;
	} rows[] = {
		{ "*.c", "any", true },
		{ "src/*.c", "src", true },
		{ "src/*.c", "lib", false },
		{ "src/*.c", "src/x", false },
		{ "src/**/a", "src/x/y", true },
		{ "{a,b}/c/d", "b/c", true },
		{ "{a,b}/c/d", "b/d", false },
		{ "a*/b", "ax", true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct glob *g = NULL;

		ck_assert_int_eq(glob_new(rows[i].pattern, GLOB_ANYWHERE, &g, NULL), 0);
		ck_assert_msg(glob_may_descend(g, rows[i].dir, strlen(rows[i].dir)) ==
		    rows[i].want, "%s in %s", rows[i].pattern, rows[i].dir);
		glob_free(g);
	}
}
END_TEST

START_TEST(glob_new_of_a_bad_pattern_shows_where)
{
	static const struct {
		const char *pattern, *want;
	} rows[] = {
		{ "a[b", "[ without ] at byte 2" },
		{ "{a,b", "{ without } at byte 1" },
		{ "x{a,{b}", "{ without } at byte 2" },
		{ "a\\", "backslash at the end at byte 2" },
		{ "[z-a]", "runs backwards" },
		{ "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than 1024" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct glob *g = NULL;

		ck_assert_int_eq(glob_new(rows[i].pattern, 0, &g, &err), -ATS_E_INVAL);
		ck_assert_msg(strstr(err.text, rows[i].want) != NULL, "%s: %s", rows[i].pattern,
		    err.text);
	}
}
END_TEST

ATS_UNIT_MAIN("glob", glob_match_of_paths, glob_may_descend_only_where_something_can_match,
    glob_new_of_a_bad_pattern_shows_where)
