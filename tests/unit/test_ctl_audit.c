/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading an audit log while it grows and is rotated (brain/ctl/audit.c). */
#include "brain/ctl/audit.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "tests/lib/unit.h"

static char dir[80];

static void
setup(void)
{
	(void)strcpy(dir, "/tmp/ats-audit-XXXXXX");
	(void)unit_tmp(dir);
}

static const char *
path_of(const char *name)
{
	static char path[4][200];
	static unsigned at;

	at = (at + 1) % 4;
	(void)snprintf(path[at], sizeof(path[at]), "%s/%s", dir, name);
	return path[at];
}

static void
append(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "a");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void
move(const char *from, const char *to)
{
	ck_assert_int_eq(rename(path_of(from), path_of(to)), 0);
}

/* The next lines are these, and then there is none for now. */
static void
expect(struct audit *a, const char *want)
{
	struct ats_slice line;
	struct ats_buf got;
	int rc;

	ats_buf_init(&got, 65536);
	while ((rc = audit_next(a, &line)) == 1) {
		ck_assert_int_eq(ats_buf_add(&got, line.p, line.n), 0);
		ck_assert_int_eq(ats_buf_add_char(&got, ' '), 0);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_str_eq(got.data, want);
	ats_buf_done(&got);
}

START_TEST(rotated_files_come_in_the_order_of_their_writing)
{
	struct audit a;

	setup();
	ck_assert_int_eq(audit_open(&a, dir, NULL), -ATS_E_NOENT);
	append("audit.jsonl", "7\n8\n");
	append("audit.jsonl.1", "5\n6\n");
	append("audit.jsonl.2", "3\n4\n");
	append("audit.jsonl.4", "1\n2\n");
	append("audit.jsonl.5", "0\n");
	ck_assert_int_eq(audit_open(&a, dir, NULL), 0);
	expect(&a, "1 2 3 4 5 6 7 8 ");
	expect(&a, "");
	audit_close(&a);
}
END_TEST

START_TEST(a_torn_last_line_waits_for_its_end)
{
	struct audit a;

	setup();
	append("audit.jsonl.1", "1\n2 torn");
	append("audit.jsonl", "3\n4");
	ck_assert_int_eq(audit_open(&a, dir, NULL), 0);
	expect(&a, "1 3 ");
	append("audit.jsonl", "4\n5\n");
	expect(&a, "44 5 ");
	audit_close(&a);
}
END_TEST

START_TEST(what_follows_a_rotation_is_followed)
{
	struct audit a;

	setup();
	append("audit.jsonl", "1\n");
	ck_assert_int_eq(audit_open(&a, dir, NULL), 0);
	expect(&a, "1 ");
	append("audit.jsonl", "2\n");
	move("audit.jsonl", "audit.jsonl.1");
	expect(&a, "2 ");
	append("audit.jsonl", "3\n");
	move("audit.jsonl.1", "audit.jsonl.2");
	move("audit.jsonl", "audit.jsonl.1");
	append("audit.jsonl", "4\n");
	expect(&a, "3 4 ");
	/* The one that is read is rotated away for good. */
	ck_assert_int_eq(unlink(path_of("audit.jsonl")), 0);
	append("audit.jsonl.1", "");
	ck_assert_int_eq(unlink(path_of("audit.jsonl.1")), 0);
	ck_assert_int_eq(unlink(path_of("audit.jsonl.2")), 0);
	append("audit.jsonl.1", "5\n");
	append("audit.jsonl", "6\n");
	expect(&a, "5 6 ");
	audit_close(&a);
}
END_TEST

START_TEST(what_is_no_plain_file_is_refused)
{
	struct ats_err err;
	struct audit a;

	setup();
	ck_assert_int_eq(symlink("/etc/passwd", path_of("audit.jsonl")), 0);
	ck_assert_int_lt(audit_open(&a, dir, &err), 0);
	ck_assert_int_eq(unlink(path_of("audit.jsonl")), 0);
	ck_assert_int_eq(mkfifo(path_of("audit.jsonl"), 0600), 0);
	ck_assert_int_eq(audit_open(&a, dir, &err), -ATS_E_NOTFILE);
}
END_TEST

START_TEST(a_line_beyond_all_size_is_passed_over)
{
	struct ats_slice line;
	struct audit a;
	FILE *f;

	setup();
	f = fopen(path_of("audit.jsonl"), "w");
	for (unsigned i = 0; i < AUDIT_LINE_MAX / 1024 + 100; i++)
		ck_assert_int_eq(fprintf(f, "%01024d", 0), 1024);
	ck_assert_int_ge(fputs("\nnext\n", f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(audit_open(&a, dir, NULL), 0);
	ck_assert_int_eq(audit_next(&a, &line), -ATS_E_TOOBIG);
	expect(&a, "next ");
	audit_close(&a);
}
END_TEST

static int
wants(const char *session, const char *tool, uint64_t since, const char *line)
{
	const struct audit_filter f = { session, tool, since };

	return audit_wants(&f, (struct ats_slice){ line, strlen(line) });
}

START_TEST(lines_are_read_strictly)
{
	static const char line[] = "{\"time\":1000,\"session\":\"s-1\",\"tool\":\"g__\\u0074\"}";

	ck_assert_int_eq(wants(NULL, NULL, 0, line), 1);
	ck_assert_int_eq(wants("s-1", "g__t", 1000, line), 1);
	ck_assert_int_eq(wants("s-2", NULL, 0, line), 0);
	ck_assert_int_eq(wants(NULL, "g__", 0, line), 0);
	ck_assert_int_eq(wants(NULL, NULL, 1001, line), 0);
	ck_assert_int_eq(wants("", NULL, 0, "{\"time\":1}"), 0);
	ck_assert_int_eq(wants(NULL, NULL, 0, "{\"time\":\"1\"}"), -ATS_E_FIELD);
	ck_assert_int_eq(wants(NULL, NULL, 0, "{}"), -ATS_E_FIELD);
	ck_assert_int_eq(wants(NULL, NULL, 0, "[1]"), -ATS_E_FIELD);
	ck_assert_int_eq(wants(NULL, NULL, 0, ""), -ATS_E_JSON);
	ck_assert_int_eq(wants(NULL, NULL, 0, "{\"time\":1,\"time\":2}"), -ATS_E_JSON);
	ck_assert_int_eq(wants(NULL, NULL, 0, "{\"time\":1}x"), -ATS_E_JSON);
}
END_TEST

ATS_UNIT_MAIN("ctl_audit", rotated_files_come_in_the_order_of_their_writing,
    a_torn_last_line_waits_for_its_end, what_follows_a_rotation_is_followed,
    what_is_no_plain_file_is_refused, a_line_beyond_all_size_is_passed_over,
    lines_are_read_strictly)
