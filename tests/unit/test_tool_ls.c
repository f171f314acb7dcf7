/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/ls.c. */
#include "hands/tools/tool.h"
#include "tests/lib/tool_env.h"

static const char *
ls(struct fake_env *f, const char *path, const char *const *ignore, size_t n)
{
	struct ats_in_ls in = { .path = path, .ignore = ignore, .n_ignore = n };

	return fake_run(f, &tool_ls, &in);
}

START_TEST(ls_lists_names_in_order)
{
	static const char *const ignore[] = { "*.o", "node_modules/**", "**/.git" };
	struct fake_env f;
	char want[256];

	fake_start(&f);
	fake_put_str(&f, "ws/b.c", "");
	fake_put_str(&f, "ws/b.o", "");
	fake_put_str(&f, "ws/.hidden", "");
	fake_put_str(&f, "ws/z\xe2\x80\xaf", "");
	mkdir(fake_path(&f, "ws/a"), 0755);
	mkdir(fake_path(&f, "ws/.git"), 0755);
	mkdir(fake_path(&f, "ws/node_modules"), 0755);
	snprintf(want, sizeof(want), "%s/\n.hidden\na/\nb.c\nz\xe2\x80\xaf\n", f.ws);
	ck_assert_str_eq(ls(&f, ".", ignore, 3), want);
	snprintf(want, sizeof(want), "%s/\n.git/\n.hidden\na/\nb.c\nb.o\nnode_modules/\n"
	    "z\xe2\x80\xaf\n", f.ws);
	ck_assert_str_eq(ls(&f, f.ws, NULL, 0), want);
	ck_assert_ptr_nonnull(strstr(ls(&f, "a", NULL, 0), "is empty"));
	fake_stop(&f);
}
END_TEST

START_TEST(ls_says_how_many_are_left_out)
{
	struct fake_env f;

	fake_start(&f);
	for (int i = 0; i < 1234; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ws/f%05d", i);
		fake_put_str(&f, name, "");
	}
	ls(&f, ".", NULL, 0);
	ck_assert_ptr_nonnull(
	    strstr(f.res.text.data, "\nf00999\n[234 more entries are not shown.]"));
	fake_stop(&f);
}
END_TEST

START_TEST(ls_errors)
{
	static const struct { const char *name; int code; } rows[] = {
		{ "none", ATS_E_NOENT }, { "file", ATS_E_INVAL }, { "/etc", ATS_E_ESCAPES },
		{ "link", ATS_E_ESCAPES }, { "..", ATS_E_ESCAPES },
	};
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/file", "");
	ck_assert_int_eq(symlink("/etc", fake_path(&f, "ws/link")), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ls(&f, rows[i].name, NULL, 0);
		ck_assert_msg(f.res.code == rows[i].code, "%s: %s", rows[i].name, f.res.text.data);
	}
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_ls", ls_lists_names_in_order, ls_says_how_many_are_left_out, ls_errors)
