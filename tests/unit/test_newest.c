/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file may become the next front. */
#include "hands/init/newest.h"

#include <sys/stat.h>

#include "tests/lib/unit.h"

#define OURS 1000u
#define WORKER 63001u

static const struct box a_box = { .situation = BOX_ROOT, .worker_uid = WORKER, .worker_gid = WORKER,
	.workspace = "/ws", .git_dir = "/repo/.git", .state = "/state" };

static int
check(const struct box *b, uid_t owner, mode_t mode, const char *path, uid_t ours, char text[512])
{
	const struct stat st = { .st_mode = mode, .st_uid = owner, .st_gid = owner };
	struct ats_err err = { 0 };
	int rc = newest_check(b, &st, path, ours, &err);

	(void)snprintf(text, 512, "%s", err.text);
	return rc;
}

START_TEST(newest_check_of_roots_or_our_own_file_is_fine)
{
	char text[512];

	ck_assert_int_eq(check(&a_box, 0, S_IFREG | 0755, "/usr/bin/ats-hands", 0, text), 0);
	ck_assert_int_eq(check(&a_box, OURS, S_IFREG | 0755, "/opt/ats-hands", OURS, text), 0);
	ck_assert_int_eq(check(&a_box, 0, S_IFREG | 0775, "/opt/ats-hands", 0, text), 0);
	ck_assert_int_eq(check(&a_box, 0, S_IFREG | 0555, "/wsx/ats-hands", 0, text), 0);
}
END_TEST

START_TEST(newest_check_of_what_a_tool_could_have_written_says_why_not)
{
	static const struct {
		uid_t owner;
		mode_t mode;
		const char *path, *says;
	} bad[] = {
		{ 0, S_IFDIR | 0755, "/opt/ats-hands", "no regular file" },
		{ 0, S_IFIFO | 0755, "/opt/ats-hands", "no regular file" },
		{ WORKER, S_IFREG | 0755, "/opt/ats-hands", "belongs to user 63001" },
		{ OURS + 1, S_IFREG | 0755, "/opt/ats-hands", "belongs to user 1001" },
		{ 0, S_IFREG | 0757, "/opt/ats-hands", "written by others" },
		{ OURS, S_IFREG | 0775, "/opt/ats-hands", "written by others" },
		{ 0, S_IFREG | 0755, "/ws/build/ats-hands", "in /ws:" },
		{ 0, S_IFREG | 0755, "/repo/.git/ats-hands", "in /repo/.git:" },
		{ 0, S_IFREG | 0755, "/state/home/ats-hands", "in /state:" },
	};
	char text[512];

	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(check(&a_box, bad[i].owner, bad[i].mode, bad[i].path, OURS, text),
		    -ATS_E_PERM);
		ck_assert_msg(strstr(text, bad[i].says) != NULL, "%s", text);
	}
}
END_TEST

/* Tools have our user id: a wall keeps them from the file, or nothing does. */
START_TEST(newest_check_where_tools_have_our_user_id)
{
	struct box b = a_box;
	char text[512];

	b.worker_uid = b.worker_gid = OURS;
	b.situation = BOX_USER;
	ck_assert_int_eq(check(&b, OURS, S_IFREG | 0775, "/opt/ats-hands", OURS, text), 0);
	b.situation = BOX_NONE;
	ck_assert_int_eq(check(&b, OURS, S_IFREG | 0755, "/opt/ats-hands", OURS, text),
	    -ATS_E_PERM);
	ck_assert_msg(strstr(text, "let it be root's") != NULL, "%s", text);
	ck_assert_int_eq(check(&b, 0, S_IFREG | 0755, "/opt/ats-hands", OURS, text), 0);
}
END_TEST

ATS_UNIT_MAIN("newest", newest_check_of_roots_or_our_own_file_is_fine,
    newest_check_of_what_a_tool_could_have_written_says_why_not,
    newest_check_where_tools_have_our_user_id)
