/* SPDX-License-Identifier: Apache-2.0
 *
 * Workspace refusals and the table of sessions. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/register.h"
#include "common/workspace.h"
#include "tests/lib/unit.h"

#define DAY INT64_C(86400000)

static char top[] = "/tmp/ats-test-reg-XXXXXX";
static struct ats_places places;
static struct ats_homes homes;
static struct ats_err err;

static const char *
at(const char *name)
{
	static char paths[8][ATS_PATH_MAX];
	static unsigned turn;
	char *p = paths[turn++ % 8];

	snprintf(p, ATS_PATH_MAX, "%s%s%s", top, *name != '\0' ? "/" : "", name);
	return p;
}

/* top/{home/{project},run,state/{vault},ws,private,file,...} */
static void
make_tree(void)
{
	static const char *const dirs[] = { "home", "home/project", "run", "state",
		"state/vault", "ws", "ws/sub", "private", "private/in" };

	ck_assert_ptr_nonnull(mkdtemp(top));
	for (size_t i = 0; i < ATS_ARRAY_LEN(dirs); i++)
		ck_assert_int_eq(mkdir(at(dirs[i]), 0755), 0);
	fclose(fopen(at("file"), "w"));
	ck_assert_int_eq(symlink(at("home"), at("to-home")), 0);
	ck_assert_int_eq(symlink("/", at("to-root")), 0);
	ck_assert_int_eq(symlink(at("state"), at("to-state")), 0);
	ck_assert_int_eq(symlink(at("ws"), at("to-ws")), 0);
	ck_assert_int_eq(symlink(at("none"), at("dangling")), 0);
	snprintf(places.runtime, ATS_PATH_MAX, "%s", at("run"));
	snprintf(places.state, ATS_PATH_MAX, "%s", at("state"));
	snprintf(places.config, ATS_PATH_MAX, "%s", at("config"));	/* absent */
	ck_assert_int_eq(chmod(at("private"), 0), 0);
	setenv("HOME", at("home"), 1);
	ck_assert_msg(ats_homes_find(&homes, &places, &err) == 0, "%s", err.text);
}

static void
remove_tree(void)
{
	char cmd[128];

	chmod(at("private"), 0700);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	ck_assert_int_eq(system(cmd), 0);
}

START_TEST(workspace_check_refuses_what_is_not_a_project)
{
	static const struct {
		const char *path;	/* below top, or absolute */
		int code;
		const char *text;
	} rows[] = {
		{ "/", ATS_E_INVAL, "root directory" },
		{ "/../.", ATS_E_INVAL, "root directory" },
		{ "to-root", ATS_E_INVAL, "root directory" },
		{ "home", ATS_E_INVAL, "home directory" },
		{ "home/", ATS_E_INVAL, "home directory" },
		{ "home/project/..", ATS_E_INVAL, "home directory" },
		{ "to-home", ATS_E_INVAL, "home directory" },
		{ "to-home/project/..", ATS_E_INVAL, "home directory" },
		{ "", ATS_E_INVAL, "contains the home" },
		{ "/tmp", ATS_E_INVAL, "contains the home" },
		{ "run", ATS_E_INVAL, "own directory" },
		{ "state", ATS_E_INVAL, "own directory" },
		{ "state/vault", ATS_E_INVAL, "lies in brain's own" },
		{ "to-state", ATS_E_INVAL, "own directory" },
		{ "to-state/vault", ATS_E_INVAL, "lies in brain's own" },
		{ "none", ATS_E_NOENT, "No such file" },
		{ "dangling", ATS_E_NOENT, "No such file" },
		{ "file", ATS_E_INVAL, "not a directory" },
		{ "file/x", ATS_E_SYS, "Not a directory" },
		{ "private", ATS_E_PERM, "cannot be read" },
		{ "private/in", ATS_E_PERM, "Permission denied" },
	};
	static const char *const far[] = { "", "relative", "/", "//", "/.", "/a/..", "/../a",
		"/a/../b" };
	char real[ATS_PATH_MAX];

	make_tree();
	if (geteuid() == 0) {		/* rows about permissions need a user without rights */
		ck_assert_int_eq(chmod(top, 0755), 0);
		ck_assert_int_eq(seteuid(12345), 0);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		const char *p = rows[i].path[0] == '/' ? rows[i].path : at(rows[i].path);
		int rc = ats_workspace_check(&homes, p, real, &err);

		ck_assert_msg(rc == -rows[i].code, "%s: %d %s", p, rc, err.text);
		ck_assert_msg(strstr(err.text, rows[i].text) != NULL, "%s: %s", p, err.text);
	}
	ck_assert_int_eq(ats_workspace_check(&homes, "relative", real, &err), -ATS_E_INVAL);
	ck_assert_int_eq(ats_workspace_check(&homes, "", real, &err), -ATS_E_INVAL);
	/* On another side only its form is known. */
	ck_assert_int_eq(ats_workspace_check_far("/no/such//place/.", real, &err), 0);
	ck_assert_str_eq(real, "/no/such/place");
	ck_assert_int_eq(ats_workspace_check_far("/..a/b..", real, &err), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(far); i++)
		ck_assert_msg(ats_workspace_check_far(far[i], real, &err) == -ATS_E_INVAL,
		    "%s", far[i]);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	remove_tree();
}
END_TEST

START_TEST(workspace_check_refuses_what_the_system_is_made_of)
{
	static const struct {
		const char *path;
		const char *text;
	} rows[] = {
		{ "/etc", "belongs to the system" }, { "/etc/../etc/.", "belongs to the system" },
		{ "/usr", "belongs to the system" }, { "/bin", "belongs to the system" },
		{ "/sbin", "belongs to the system" }, { "/lib", "belongs to the system" },
		{ "/usr/share", "belongs to the system" }, { "/boot", "belongs to the system" },
		{ "/var/lib", "belongs to the system" }, { "/run", "belongs to the system" },
		{ "/var/run", "belongs to the system" }, { "/run/lock", "belongs to the system" },
		{ "/run/user", "belongs to the system" }, { "/var", "directory inside it" },
		{ "/home", "directory inside it" }, { "/opt", "directory inside it" },
		{ "/usr/local", "directory inside it" }, { "/proc", "is the kernel's" },
		{ "/dev/shm", "is the kernel's" }, { "/sys/kernel", "is the kernel's" },
	};
	static const char *const fine[] = { "/srv", "/mnt", "/media", "/usr/src", "/var/www",
		"/run/media", "/etc/nixos", "/usr/share/doc", "/var/lib/dpkg" };
	char real[ATS_PATH_MAX];

	make_tree();
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		int rc = ats_workspace_check(&homes, rows[i].path, real, &err);

		if (rc == -ATS_E_NOENT)	/* not on every system */
			continue;
		ck_assert_msg(rc == -ATS_E_INVAL, "%s: %d", rows[i].path, rc);
		/* or it holds the home of who runs this */
		ck_assert_msg(strstr(err.text, rows[i].text) != NULL ||
		    strstr(err.text, "contains the home") != NULL, "%s", err.text);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(fine); i++) {
		int rc = ats_workspace_check(&homes, fine[i], real, &err);

		ck_assert_msg(rc != -ATS_E_INVAL, "%s", err.text);
	}
	remove_tree();
}
END_TEST

START_TEST(workspace_check_resolves_what_is_fine)
{
	static const char *const rows[][2] = { { "ws", "ws" }, { "to-ws", "ws" },
		{ "ws/sub/../.", "ws" }, { "to-ws/sub", "ws/sub" },
		{ "home/project", "home/project" }, { "to-home/project", "home/project" } };
	char real[ATS_PATH_MAX];

	make_tree();
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(ats_workspace_check(&homes, at(rows[i][0]), real, &err) == 0, "%s",
		    err.text);
		ck_assert_str_eq(real, at(rows[i][1]));
	}
	ck_assert_int_eq(ats_workspace_check_grant(&homes, at("file"), real, &err), 0);
	ck_assert_int_eq(ats_workspace_check_grant(&homes, "/usr", real, &err), 0);
	ck_assert_int_eq(ats_workspace_check_grant(&homes, at("home"), real, &err), -ATS_E_INVAL);
	ck_assert_int_eq(ats_workspace_check_grant(&homes, "/", real, &err), -ATS_E_INVAL);
	/* a name that only begins like one of ours */
	ck_assert_int_eq(mkdir(at("state2"), 0755), 0);
	ck_assert_int_eq(ats_workspace_check(&homes, at("state2"), real, &err), 0);
	remove_tree();
}
END_TEST

static struct reg *
open_reg(size_t max, int64_t age)
{
	struct reg *r = NULL;

	ck_assert_msg(reg_open(at("state/vault"), max, age, &r, &err) == 0, "%s", err.text);
	return r;
}

static struct session *
add(struct reg *r, const char *ws, const char *key)
{
	struct session *s = NULL, *gone = NULL;

	ck_assert_msg(reg_add(r, 1000, ws, key, &s, &gone, &err) == 0, "%s", err.text);
	session_free(gone);
	return s;
}

START_TEST(reg_finds_the_same_session_again_also_from_its_file)
{
	static const char *const keys[] = { "a", "name:with space", "%", "tab\tnl\nend",
		"\xc3\xa4\xff\x01" };
	char ids[5][SESSION_ID_MAX];
	struct reg *r;

	make_tree();
	r = open_reg(100, DAY);
	for (size_t i = 0; i < 5; i++) {
		struct session *s = add(r, "/w s/\n%41", keys[i]);

		ck_assert_ptr_eq(add(r, "/w s/\n%41", keys[i]), s);
		ck_assert_ptr_eq(reg_find_box(r, s->box) == NULL ? NULL : s, s);
		memcpy(ids[i], s->id, sizeof(ids[i]));
	}
	ck_assert_uint_eq(reg_count(r), 5);
	ck_assert_str_ne(add(r, "/other", "a")->id, ids[0]);
	reg_free(r);
	r = open_reg(100, DAY);
	ck_assert_uint_eq(reg_count(r), 6);
	for (size_t i = 0; i < 5; i++) {
		struct session *s = reg_find(r, ids[i]);

		ck_assert_ptr_nonnull(s);
		ck_assert_str_eq(s->key, keys[i]);
		ck_assert_str_eq(s->workspace, "/w s/\n%41");
		ck_assert_uint_eq(s->uid, 1000);
	}
	session_free(reg_take(r, ids[2]));
	ck_assert_ptr_null(reg_take(r, ids[2]));
	reg_free(r);
	r = open_reg(100, DAY);
	ck_assert_uint_eq(reg_count(r), 5);
	ck_assert_ptr_null(reg_find(r, ids[2]));
	reg_free(r);
	remove_tree();
}
END_TEST

START_TEST(reg_ids_are_sha256_of_uid_directory_and_key)
{
	struct session *s;
	struct reg *r;

	make_tree();
	r = open_reg(10, DAY);
	s = add(r, "/ws", "name:x");
	/* printf '1000\0/ws\0name:x' | sha256sum; printf '1000\0/ws' | sha256sum */
	ck_assert_str_eq(s->id, "s-03de898b700e");
	ck_assert_str_eq(s->box, "b-7a6f9bd51789");
	reg_free(r);
	remove_tree();
}
END_TEST

/* Two directories, and two keys, whose digests begin with the same 12 digits: found in a minute. */
START_TEST(reg_gives_nobody_the_id_of_another_one)
{
	struct session *s, *gone;
	struct reg *r;

	make_tree();
	r = open_reg(10, DAY);
	ck_assert_str_eq(add(r, "/w/7439530", "k")->box, "b-6b33ed211254");
	ck_assert_int_eq(reg_add(r, 1000, "/w/23644187", "k", &s, &gone, &err), -ATS_E_EXISTS);
	ck_assert_ptr_null(reg_find_named(r, 1000, "/w/23644187", "k"));
	ck_assert_ptr_nonnull(add(r, "/w/7439530", "other"));
	ck_assert_str_eq(add(r, "/w", "name:12525929")->id, "s-27bd8fceaf7e");
	ck_assert_int_eq(reg_add(r, 1000, "/w", "name:17027692", &s, &gone, &err), -ATS_E_EXISTS);
	ck_assert_ptr_null(reg_find_named(r, 1000, "/w", "name:17027692"));
	ck_assert_ptr_nonnull(reg_find_named(r, 1000, "/w", "name:12525929"));
	ck_assert_uint_eq(reg_count(r), 3);
	reg_free(r);
	remove_tree();
}
END_TEST

START_TEST(reg_forgets_only_what_is_unused_for_long)
{
	struct session *s, *gone = NULL, *first;
	char id[SESSION_ID_MAX];
	struct reg *r;

	make_tree();
	r = open_reg(6, DAY);		/* half of them are for one user */
	first = add(r, "/1", "k");
	add(r, "/2", "k");
	add(r, "/3", "k");
	ck_assert_int_eq(reg_add(r, 1000, "/4", "k", &s, &gone, &err), -ATS_E_FULL);
	ck_assert_ptr_nonnull(strstr(err.text, "limits.sessions"));
	first->used_ms -= 2 * 60 * 60 * 1000;
	memcpy(id, first->id, sizeof(id));
	ck_assert_int_eq(reg_add(r, 1000, "/4", "k", &s, &gone, &err), 0);
	ck_assert_ptr_eq(gone, first);
	session_free(gone);
	ck_assert_ptr_null(reg_find(r, id));
	ck_assert_uint_eq(reg_count(r), 3);
	s->used_ms -= 2 * DAY;
	add(r, "/2", "k");
	session_free(reg_take(r, reg_find_box(r, s->box) == s ? add(r, "/3", "k")->id : ""));
	reg_free(r);
	r = open_reg(3, DAY);		/* /3 closed, /4 too old */
	ck_assert_uint_eq(reg_count(r), 1);
	reg_free(r);
	remove_tree();
}
END_TEST

START_TEST(reg_shares_its_places_among_users)
{
	struct session *s, *gone = NULL, *first;
	struct reg *r;

	make_tree();
	r = open_reg(6, DAY);
	first = add(r, "/1", "k");
	add(r, "/2", "k");
	add(r, "/3", "k");
	first->used_ms -= 2 * 60 * 60 * 1000;
	/* Half of what the others leave. */
	ck_assert_int_eq(reg_add(r, 1001, "/1", "k", &s, &gone, &err), 0);
	ck_assert_int_eq(reg_add(r, 1001, "/2", "k", &s, &gone, &err), 0);
	ck_assert_int_eq(reg_add(r, 1001, "/3", "k", &s, &gone, &err), -ATS_E_FULL);
	ck_assert_ptr_nonnull(strstr(err.text, "2 of them yours"));
	ck_assert_ptr_null(gone);	/* the first is another's */
	ck_assert_int_eq(reg_add(r, 1002, "/1", "k", &s, &gone, &err), 0);
	ck_assert_ptr_null(gone);
	ck_assert_uint_eq(reg_count(r), 6);
	/* All are taken, by as many as there is room for: the oldest goes. */
	ck_assert_int_eq(reg_add(r, 1003, "/1", "k", &s, &gone, &err), 0);
	ck_assert_ptr_eq(gone, first);
	session_free(gone);
	/* Whose brain it is has what is there. */
	ck_assert_int_eq(reg_add(r, getuid(), "/1", "k", &s, &gone, &err), -ATS_E_FULL);
	session_free(reg_take(r, s == NULL ? "" : reg_find_named(r, 1003, "/1", "k")->id));
	ck_assert_int_eq(reg_add(r, getuid(), "/1", "k", &s, &gone, &err), 0);
	reg_free(r);
	remove_tree();
}
END_TEST

START_TEST(reg_refuses_keys_and_ignores_edited_lines)
{
	static const char *const lines[] = { "", "x", "s-1 1 1 k", "s-123456789012 1000 1 k /ws",
		"s-123456789012 1000 1 %0 /ws", "s-123456789012 1000 1 %zz /ws",
		"s-123456789012 1000 1 k /ws more", "s-123456789012 1000 1 %00 /ws", "\x01\xff" };
	struct session *s, *gone;
	char big[300];
	struct reg *r;
	FILE *f;

	make_tree();
	f = fopen(at("state/vault/sessions"), "w");
	for (size_t i = 0; i < ATS_ARRAY_LEN(lines); i++)
		fprintf(f, "%s\n", lines[i]);
	fclose(f);
	r = open_reg(3, DAY);
	ck_assert_uint_eq(reg_count(r), 0);
	memset(big, 'k', sizeof(big));
	big[SESSION_KEY_MAX + 1] = '\0';
	ck_assert_int_eq(reg_add(r, 1, "/1", "", &s, &gone, &err), -ATS_E_INVAL);
	ck_assert_int_eq(reg_add(r, 1, "/1", big, &s, &gone, &err), -ATS_E_INVAL);
	big[SESSION_KEY_MAX] = '\0';
	ck_assert_int_eq(reg_add(r, 1, "/1", big, &s, &gone, &err), 0);
	reg_free(r);
	ck_assert_int_eq(reg_open(at("none"), 3, DAY, &r, &err), -ATS_E_NOENT);
	remove_tree();
}
END_TEST

ATS_UNIT_MAIN("register", workspace_check_refuses_what_is_not_a_project,
    workspace_check_refuses_what_the_system_is_made_of,
    workspace_check_resolves_what_is_fine,
    reg_finds_the_same_session_again_also_from_its_file,
    reg_ids_are_sha256_of_uid_directory_and_key, reg_gives_nobody_the_id_of_another_one,
    reg_forgets_only_what_is_unused_for_long,
    reg_shares_its_places_among_users, reg_refuses_keys_and_ignores_edited_lines)
