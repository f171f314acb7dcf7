/* SPDX-License-Identifier: Apache-2.0
 *
 * Which toolchains below $HOME a sandbox sees, by PATH. */
#include "brain/vault/toolchains.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf.h"
#include "tests/lib/unit.h"

static char top[64], home[96];
static struct ats_homes homes;
static struct ats_conf_strv env;

static void
make_home(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/ats-toolchains-XXXXXX");
	(void)unit_tmp(top);
	(void)snprintf(home, sizeof(home), "%s/home", top);
	ck_assert_int_eq(mkdir(home, 0700), 0);
	memset(&homes, 0, sizeof(homes));
	(void)snprintf(homes.home[0], sizeof(homes.home[0]), "%s", home);
}

static void
remove_home(void)
{
	char cmd[128];

	(void)snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	ck_assert_int_eq(system(cmd), 0);
}

/* "a/b/" makes directories, "a/b" also an empty file. */
static void
make(const char *rel)
{
	char path[512], *p;

	(void)snprintf(path, sizeof(path), "%s/%s", home, rel);
	for (p = path + strlen(home) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		(void)mkdir(path, 0755);
		*p = '/';
	}
	if (rel[strlen(rel) - 1] != '/')
		ck_assert_int_eq(mknod(path, S_IFREG | 0644, 0), 0);
}

/* The options for a PATH in which ~ is home; ~ again in what comes back. Owned. */
static char *
lines(const char *path)
{
	struct ats_buf in, out, text;

	ats_buf_init(&in, 8192);
	ats_buf_init(&out, 60000);
	ats_buf_init(&text, 60000);
	for (const char *p = path; *p != '\0'; p++)
		ck_assert_int_eq(*p == '~' ? ats_buf_add_str(&in, home) :
		    ats_buf_add(&in, p, 1), 0);
	ck_assert_int_eq(ats_buf_add(&in, "", 1), 0);
	ck_assert_int_eq(toolchains_lines(&homes, home, in.data, &env, &out), 0);
	for (size_t i = 0; i < out.len;) {
		bool is_home = out.len - i >= strlen(home) &&
		    memcmp(out.data + i, home, strlen(home)) == 0;

		ck_assert_int_eq(is_home ? ats_buf_add_str(&text, "~") :
		    ats_buf_add(&text, out.data + i, 1), 0);
		i += is_home ? strlen(home) : 1;
	}
	ats_buf_done(&in);
	ats_buf_done(&out);
	return ats_buf_steal(&text, NULL);
}

#define SYSTEM "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void
expect(const char *path, const char *want)
{
	char *got = lines(path);

	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(lines_of_a_known_toolchain_name_its_roots)
{
	make_home();
	make(".cargo/bin/");
	make(".cargo/registry/");
	make(".cargo/credentials.toml");
	make(".rustup/");
	expect("~/.cargo/bin:/usr/bin:~/.cargo/bin/",
	    "ro=~/.cargo/bin\nro=~/.cargo/registry\nro=~/.rustup\nenv=RUSTUP_HOME=~/.rustup\n"
	    "env=CARGO_HOME=~/.cargo\n"
	    "env=PATH=~/.cargo/bin:~/.cargo/bin:" SYSTEM "\n");
	remove_home();
}
END_TEST

START_TEST(lines_cover_credentials_in_a_root)
{
	make_home();
	make(".npm-global/bin/");
	make(".npm-global/.npmrc");
	make(".npm-global/auth.json");
	expect("~/.npm-global/bin",
	    "ro=~/.npm-global\nmask=~/.npm-global/.npmrc\nmask=~/.npm-global/auth.json\n"
	    "mask=~/.npm-global/etc/npmrc\nenv=PATH=~/.npm-global/bin:" SYSTEM "\n");
	remove_home();
}
END_TEST

START_TEST(lines_of_anything_else_are_none)
{
	static const char *const paths[] = { "", ":", "~", "~/", "~/bin", "~/.cargo",
		"~/.cargo/bin/../..", "/usr/bin:/bin", ".cargo/bin", "~/.nvm/versions/v1/bin",
		"~/.pyenv\n/shims" };

	make_home();
	make("bin/");
	make(".cargo/bin/");
	make(".nvm/");
	for (size_t i = 0; i < ATS_ARRAY_LEN(paths); i++)
		expect(paths[i], "");
	remove_home();
}
END_TEST

START_TEST(lines_of_a_link_name_its_target_unless_it_is_a_home)
{
	char to[256], at[256], *got;

	make_home();
	(void)snprintf(to, sizeof(to), "%s/elsewhere", top);
	(void)snprintf(at, sizeof(at), "%s/.deno", home);
	ck_assert_int_eq(mkdir(to, 0755), 0);
	make(".deno/");
	(void)snprintf(at, sizeof(at), "%s/.deno/bin", home);
	ck_assert_int_eq(symlink(to, at), 0);
	got = lines("~/.deno/bin");
	ck_assert_ptr_nonnull(strstr(got, "ro=~/.deno/bin\nro=/tmp/ats-toolchains-"));
	free(got);
	ck_assert_int_eq(unlink(at), 0);
	ck_assert_int_eq(symlink(home, at), 0);
	expect("~/.deno/bin", "env=PATH=~/.deno/bin:" SYSTEM "\n");
	remove_home();
}
END_TEST

START_TEST(lines_leave_configured_variables_alone)
{
	static char path[] = "PATH=/x", rustup[] = "RUSTUP_HOME=/y";

	make_home();
	make(".cargo/bin/");
	make(".rustup/");
	env = (struct ats_conf_strv){ .v = { path, rustup }, .n = 2 };
	expect("~/.cargo/bin", "ro=~/.cargo/bin\nro=~/.rustup\n");
	env.n = 0;
	remove_home();
}
END_TEST

/* What a link leads to is for the box to find: it knows what its view holds. */
START_TEST(lines_cover_credentials_that_are_links_or_directories)
{
	char at[256];

	make_home();
	make(".pyenv/shims/");
	make(".pyenv/credentials/");
	(void)snprintf(at, sizeof(at), "%s/.pyenv/.netrc", home);
	ck_assert_int_eq(symlink("/nowhere", at), 0);
	expect("~/.pyenv/shims",
	    "ro=~/.pyenv\nmask=~/.pyenv/.netrc\nmask=~/.pyenv/credentials\n"
	    "mask=~/.pyenv/.git\nmask=~/.pyenv/versions/*/pip.conf\n"
	    "mask=~/.pyenv/versions/*/etc/npmrc\nenv=PYENV_ROOT=~/.pyenv\n"
	    "env=PATH=~/.pyenv/shims:" SYSTEM "\n");
	remove_home();
}
END_TEST

START_TEST(lines_cover_credentials_where_a_linked_root_leads)
{
	char to[256], at[256], *got;

	make_home();
	(void)snprintf(to, sizeof(to), "%s/node", top);
	ck_assert_int_eq(mkdir(to, 0755), 0);
	(void)snprintf(at, sizeof(at), "%s/.npm-global", home);
	ck_assert_int_eq(symlink(to, at), 0);
	make(".npm-global/bin/");
	make(".npm-global/.npmrc");
	got = lines("~/.npm-global/bin");
	ck_assert_ptr_nonnull(strstr(got, "ro=~/.npm-global\n"));
	ck_assert_ptr_nonnull(strstr(got, "mask=~/.npm-global/.npmrc\n"));
	free(got);
	remove_home();
}
END_TEST

/* Twice in PATH, through "..", and by a name that only begins like a toolchain's. */
START_TEST(lines_name_each_toolchain_once)
{
	char *got;

	make_home();
	make(".pyenv/bin/");
	make(".pyenv/shims/");
	make(".pyenv2/bin/");
	got = lines("~/.pyenv/bin:~/.pyenv/x/../shims:~/.pyenv/bin:~/.pyenv2/bin");
	ck_assert_ptr_eq(strstr(strstr(got, "ro=~/.pyenv\n") + 1, "ro="), NULL);
	ck_assert_ptr_eq(strstr(got, ".pyenv2"), NULL);
	ck_assert_ptr_nonnull(strstr(got, "env=PATH=~/.pyenv/bin:~/.pyenv/shims:~/.pyenv/bin:"));
	free(got);
	remove_home();
}
END_TEST

ATS_UNIT_MAIN("toolchains", lines_of_a_known_toolchain_name_its_roots,
    lines_cover_credentials_in_a_root, lines_of_anything_else_are_none,
    lines_of_a_link_name_its_target_unless_it_is_a_home,
    lines_leave_configured_variables_alone,
    lines_cover_credentials_that_are_links_or_directories,
    lines_cover_credentials_where_a_linked_root_leads, lines_name_each_toolchain_once)
