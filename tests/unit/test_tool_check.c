/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of all tools (validate): they say what run would say, and leave nothing behind:
 * no byte, no name, no lock, no read-state. */
#include "hands/fs/replace.h"
#include "tests/lib/tool_env.h"

#include <sys/file.h>

#define NOTEBOOK                                                                         \
	"{\"cells\":[{\"cell_type\":\"code\",\"id\":\"aa\",\"metadata\":{},\"outputs\":[],"  \
	"\"execution_count\":null,\"source\":[\"a\"]}],\"metadata\":{},\"nbformat\":4,"      \
	"\"nbformat_minor\":5}"
#define PNG "\x89PNG\r\n\x1a\n"

/* Named and used, so that they are linked: the registry's references are weak. */
extern const struct tool tool_bash, tool_bash_output, tool_glob, tool_grep, tool_multi_edit,
    tool_notebook_edit;
static const struct tool *const linked[] = { &tool_bash, &tool_bash_output, &tool_edit,
	&tool_glob, &tool_grep, &tool_ls, &tool_multi_edit, &tool_notebook_edit, &tool_read,
	&tool_write };

/* Everything that the rows below are about. */
static void
furnish(struct fake_env *f)
{
	fake_start(f);
	fake_put_str(f, "ws/f", "one\ntwo\ntwo\n");
	fake_put_str(f, "ws/changed", "one\n");
	fake_put_str(f, "ws/n.ipynb", NOTEBOOK);
	fake_put_str(f, "ws/empty", "");
	(void)fake_read(f, "f", 0, 0);
	(void)fake_read(f, "changed", 0, 0);
	(void)fake_read(f, "n.ipynb", 0, 0);
	fake_put_str(f, "ws/changed", "two\n");
	fake_put_str(f, "ws/unread", "one\n");
	fake_put(f, "ws/binary", "\x7f" "ELF\0\0\0\0", 8);
	fake_put_str(f, "ws/cut.png", PNG);
	fake_put_str(f, "ro/f", "one\n");
	fake_put_str(f, "ws/long", "one\n");		/* too long to be held: 17 MiB */
	ck_assert_int_eq(truncate(fake_path(f, "ws/long"), 17 << 20), 0);
	fake_put_str(f, "ws/long16", "\xff\xfe" "a");
	ck_assert_int_eq(truncate(fake_path(f, "ws/long16"), 17 << 20), 0);
	ck_assert_int_eq(mkdir(fake_path(f, "ws/dir"), 0755), 0);
	ck_assert_int_eq(mkfifo(fake_path(f, "ws/fifo"), 0644), 0);
	ck_assert_int_eq(symlink(fake_path(f, "out"), fake_path(f, "ws/away")), 0);
	ck_assert_int_eq(symlink("f", fake_path(f, "ws/link")), 0);
}

/* One line a name: type, mode, size, times, and the bytes of files. */
static struct ats_buf *snapshot;

static int
look(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char *p = NULL;
	size_t n = 0;

	(void)ftw;
	ck_assert_int_eq(ats_buf_addf(snapshot, "%s %o %lu %lld %lld.%ld %lld.%ld ", path,
	    st->st_mode, (unsigned long)st->st_nlink, (long long)st->st_size,
	    (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
	    (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec), 0);
	if (flag == FTW_F && S_ISREG(st->st_mode) && st->st_size < 4096) {
		ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, path, 1u << 20, &p, &n, NULL), 0);
		ck_assert_int_eq(ats_buf_add(snapshot, p, n), 0);
		free(p);
	}
	return ats_buf_add_char(snapshot, '\n');
}

static void
take_snapshot(const struct fake_env *f, struct ats_buf *out)
{
	ats_buf_init(out, 1u << 20);
	snapshot = out;
	ck_assert_int_eq(nftw(f->base, look, 16, FTW_PHYS), 0);
}

/* The check of a tool, as a worker makes it. Nothing may be other than before. */
static void
check(struct fake_env *f, const struct tool *t, const void *in)
{
	struct ats_buf before, after;

	take_snapshot(f, &before);
	tool_result_done(&f->res);
	tool_result_init(&f->res, 4u << 20);
	f->env.check_only = true;
	ck_assert_int_eq(t->check(&f->env, in, &f->res), 0);
	f->env.check_only = false;
	if (f->res.output.len > 0)
		ck_assert_int_eq(ats_json_scan(f->res.output.data, f->res.output.len, NULL), 0);
	ck_assert_uint_gt(f->res.text.len, 0);
	ck_assert_uint_eq(f->res.reads.len, 0);
	ck_assert_uint_eq(f->res.blocks.len, 0);
	take_snapshot(f, &after);
	ck_assert_msg(before.len == after.len &&
	    memcmp(before.data, after.data, after.len) == 0, "changed:\n%s\n%s",
	    before.data, after.data);
	ats_buf_done(&before);
	ats_buf_done(&after);
}

static const struct row {
	const char *tool, *input;
	int code;
	const char *text;	/* that the answer has; NULL: any */
} rows[] = {
	{ "Read", "{\"file_path\":\"f\"}", 0, "can be read (12 bytes)" },
	{ "Read", "{\"file_path\":\"link\"}", 0, NULL },
	{ "Read", "{\"file_path\":\"empty\"}", 0, NULL },
	{ "Read", "{\"file_path\":\"none\"}", ATS_E_NOENT, NULL },
	{ "Read", "{\"file_path\":\"dir\"}", ATS_E_NOTFILE, "Use LS" },
	{ "Read", "{\"file_path\":\"fifo\"}", ATS_E_NOTFILE, "FIFO" },
	{ "Read", "{\"file_path\":\"binary\"}", ATS_E_UTF8, NULL },
	{ "Read", "{\"file_path\":\"long\"}", ATS_E_UTF8, NULL },
	{ "Read", "{\"file_path\":\"long16\"}", ATS_E_TOOBIG, "UTF-16" },
	{ "Read", "{\"file_path\":\"cut.png\"}", ATS_E_INVAL, "looks like an image" },
	{ "Read", "{\"file_path\":\"away/x\"}", ATS_E_ESCAPES, NULL },
	{ "Read", "{\"file_path\":\"/etc/passwd\"}", ATS_E_ESCAPES, NULL },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"one\",\"new_string\":\"1\"}", 0,
	    "Would edit" },
	{ "Edit", "{\"file_path\":\"link\",\"old_string\":\"one\",\"new_string\":\"1\"}",
	    ATS_E_NOT_READ, NULL },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"two\",\"new_string\":\"2\"}",
	    ATS_E_AMBIGUOUS, NULL },
	{ "Edit",
	    "{\"file_path\":\"f\",\"old_string\":\"two\",\"new_string\":\"2\","
	    "\"replace_all\":true}",
	    0, "2 replacements" },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"three\",\"new_string\":\"3\"}",
	    ATS_E_NO_MATCH, NULL },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"two\",\"new_string\":\"two\"}",
	    ATS_E_INVAL, "the same" },
	{ "Edit", "{\"file_path\":\"unread\",\"old_string\":\"one\",\"new_string\":\"1\"}",
	    ATS_E_NOT_READ, NULL },
	{ "Edit", "{\"file_path\":\"changed\",\"old_string\":\"two\",\"new_string\":\"2\"}",
	    ATS_E_CHANGED, NULL },
	{ "Edit", "{\"file_path\":\"none\",\"old_string\":\"one\",\"new_string\":\"1\"}",
	    ATS_E_NOENT, NULL },
	{ "Edit", "{\"file_path\":\"dir\",\"old_string\":\"one\",\"new_string\":\"1\"}",
	    ATS_E_NOTFILE, "directory" },
	{ "Edit", "{\"file_path\":\"fifo\",\"old_string\":\"one\",\"new_string\":\"1\"}",
	    ATS_E_NOTFILE, "FIFO" },
	{ "Edit", "{\"file_path\":\"new/g\",\"old_string\":\"\",\"new_string\":\"1\"}", 0,
	    "Would create" },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"\",\"new_string\":\"1\"}",
	    ATS_E_EXISTS, NULL },
	{ "Edit", "{\"file_path\":\"empty\",\"old_string\":\"\",\"new_string\":\"1\"}", 0, NULL },
	{ "MultiEdit",
	    "{\"file_path\":\"f\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"1\"},"
	    "{\"old_string\":\"1\\ntwo\",\"new_string\":\"2\"}]}",
	    0, "2 edits, 2 replacements" },
	{ "MultiEdit",
	    "{\"file_path\":\"f\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"1\"},"
	    "{\"old_string\":\"one\",\"new_string\":\"2\"}]}",
	    ATS_E_NO_MATCH, "edits[1]" },
	{ "MultiEdit",
	    "{\"file_path\":\"f\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"1\"},"
	    "{\"old_string\":\"1\",\"new_string\":\"one\"}]}",
	    ATS_E_INVAL, "change nothing" },
	{ "MultiEdit",
	    "{\"file_path\":\"unread\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"1\"}]}",
	    ATS_E_NOT_READ, NULL },
	{ "MultiEdit",
	    "{\"file_path\":\"g\",\"edits\":[{\"old_string\":\"\",\"new_string\":\"a\"},"
	    "{\"old_string\":\"a\",\"new_string\":\"b\"}]}",
	    0, "Would create" },
	{ "MultiEdit",
	    "{\"file_path\":\"f\",\"edits\":[{\"old_string\":\"\",\"new_string\":\"a\"}]}",
	    ATS_E_EXISTS, NULL },
	{ "Write", "{\"file_path\":\"f\",\"content\":\"x\"}", 0, "Would replace" },
	{ "Write", "{\"file_path\":\"unread\",\"content\":\"x\"}", ATS_E_NOT_READ, NULL },
	{ "Write", "{\"file_path\":\"changed\",\"content\":\"x\"}", ATS_E_CHANGED, NULL },
	{ "Write", "{\"file_path\":\"a/b/c\",\"content\":\"x\"}", 0, "Would create" },
	{ "Write", "{\"file_path\":\"f/c\",\"content\":\"x\"}", ATS_E_NOENT, NULL },
	{ "Write", "{\"file_path\":\"dir\",\"content\":\"x\"}", ATS_E_NOTFILE, "directory" },
	{ "Write", "{\"file_path\":\".\",\"content\":\"x\"}", ATS_E_NOTFILE, NULL },
	{ "Write", "{\"file_path\":\".mcp.json\",\"content\":\"x\"}", ATS_E_DENIED, "protected" },
	{ "Write", "{\"file_path\":\"sub/.git/hooks/pre-commit\",\"content\":\"x\"}",
	    ATS_E_DENIED, "protected" },
	{ "Write", "{\"file_path\":\"away/x\",\"content\":\"x\"}", ATS_E_ESCAPES, NULL },
	{ "Write", "{\"file_path\":\"../ro/g\",\"content\":\"x\"}", ATS_E_DENIED, "only read" },
	{ "Write", "{\"file_path\":\"../ws-evil/g\",\"content\":\"x\"}", ATS_E_ESCAPES, NULL },
	{ "NotebookEdit",
	    "{\"notebook_path\":\"n.ipynb\",\"cell_id\":\"aa\",\"new_source\":\"b\"}", 0,
	    "Would replace code cell aa" },
	{ "NotebookEdit",
	    "{\"notebook_path\":\"n.ipynb\",\"new_source\":\"b\",\"edit_mode\":\"insert\"}", 0,
	    "Would insert" },
	{ "NotebookEdit",
	    "{\"notebook_path\":\"n.ipynb\",\"cell_id\":\"zz\",\"new_source\":\"b\"}",
	    ATS_E_NO_MATCH, NULL },
	{ "NotebookEdit",
	    "{\"notebook_path\":\"n.ipynb\",\"cell_id\":\"aa\",\"new_source\":\"a\"}",
	    ATS_E_INVAL, "so already" },
	{ "NotebookEdit", "{\"notebook_path\":\"f\",\"cell_id\":\"aa\",\"new_source\":\"b\"}",
	    ATS_E_JSON, NULL },
	{ "NotebookEdit", "{\"notebook_path\":\"none\",\"cell_id\":\"aa\",\"new_source\":\"b\"}",
	    ATS_E_NOENT, NULL },
	{ "Glob", "{\"pattern\":\"*.c\"}", 0, "can be searched" },
	{ "Glob", "{\"pattern\":\"none/*.c\"}", 0, "No files found" },
	{ "Glob", "{\"pattern\":\"*.c\",\"path\":\"none\"}", ATS_E_NOENT, NULL },
	{ "Glob", "{\"pattern\":\"[a\"}", ATS_E_INVAL, NULL },
	{ "Glob", "{\"pattern\":\"/etc/*\"}", ATS_E_ESCAPES, NULL },
	{ "Grep", "{\"pattern\":\"one\"}", 0, "can be searched" },
	{ "Grep", "{\"pattern\":\"one\",\"path\":\"f\"}", 0, NULL },
	{ "Grep", "{\"pattern\":\"(\"}", ATS_E_INVAL, NULL },
	{ "Grep", "{\"pattern\":\"a\",\"glob\":\"[a\"}", ATS_E_INVAL, NULL },
	{ "Grep", "{\"pattern\":\"a\",\"type\":\"nonesuch\"}", ATS_E_INVAL, NULL },
	{ "Grep", "{\"pattern\":\"a\",\"path\":\"none\"}", ATS_E_NOENT, NULL },
	{ "Grep", "{\"pattern\":\"a\",\"path\":\"fifo\"}", ATS_E_NOTFILE, NULL },
	{ "LS", "{\"path\":\".\"}", 0, "can be listed" },
	{ "LS", "{\"path\":\"f\"}", ATS_E_INVAL, NULL },
	{ "LS", "{\"path\":\"none\"}", ATS_E_NOENT, NULL },
	{ "Bash", "{\"command\":\"touch made\"}", 0, "can be started" },
	{ "BashOutput", "{\"bash_id\":\"bash_1\",\"filter\":\"^a\"}", 0, "can be read" },
	{ "BashOutput", "{\"bash_id\":\"bash_1\",\"filter\":\"(\"}", ATS_E_INVAL, "filter" },
};

static const struct tool *
decode(const struct row *r, union ats_tool_input_any *in, struct ats_buf *arena)
{
	const struct ats_tool_row *row = ats_tool_find(r->tool);
	struct ats_err err = { 0 };

	ck_assert_ptr_nonnull(row);
	ats_buf_init(arena, 1u << 20);
	ck_assert_msg(ats_tool_input(row, r->input, strlen(r->input), in, arena, &err) == 0,
	    "%s: %s", r->input, err.text);
	ck_assert_ptr_nonnull(tool_registry[ats_tool_id(row)]);
	return tool_registry[ats_tool_id(row)];
}

START_TEST(check_says_what_run_says_and_leaves_nothing)
{
	union ats_tool_input_any in;
	struct ats_buf arena;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		const struct tool *t = decode(&rows[i], &in, &arena);
		struct fake_env f;

		furnish(&f);
		check(&f, t, &in);
		ck_assert_msg(f.res.is_error == (rows[i].code != 0) &&
		    f.res.code == rows[i].code, "row %zu %s %s: %s: %s", i, rows[i].tool,
		    rows[i].input, ats_err_name(f.res.code), f.res.text.data);
		ck_assert_msg(rows[i].text == NULL ||
		    strstr(f.res.text.data, rows[i].text) != NULL, "row %zu: %s", i,
		    f.res.text.data);
		/* BashOutput's output comes from front: without it run looks at nothing. */
		if (t->run != NULL && t->id != ATS_TOOL_bash_output) {
			(void)fake_run(&f, t, &in);
			fake_expect_code(&f, rows[i].code);
		}
		ats_buf_done(&arena);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(check_is_there_for_each_tool_of_a_worker)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(linked); i++) {
		const char *name = ats_tool_rows[linked[i]->id].name;

		ck_assert_msg(tool_registry[linked[i]->id] == linked[i], "%s", name);
		ck_assert_msg(linked[i]->check != NULL, "%s", name);
	}
}
END_TEST

START_TEST(check_counts_the_places_of_an_edit)
{
	struct fake_env f;
	struct ats_in_edit in = { .file_path = "f", .old_string = "two", .new_string = "2",
		.replace_all = true, .has_replace_all = true };

	furnish(&f);
	check(&f, &tool_edit, &in);
	ck_assert_ptr_nonnull(strstr(f.res.output.data, "\"changes\":2"));
	ck_assert_ptr_nonnull(strstr(f.res.output.data, "\"created\":false"));
	in = (struct ats_in_edit){ .file_path = "x/y", .old_string = "", .new_string = "2" };
	check(&f, &tool_edit, &in);
	ck_assert_ptr_nonnull(strstr(f.res.output.data, "\"created\":true"));
	fake_stop(&f);
}
END_TEST

/* A writer has the lock: the check neither waits for it nor disturbs it. */
START_TEST(check_waits_for_no_lock)
{
	struct ats_in_edit in = { .file_path = "f", .old_string = "one", .new_string = "1" };
	struct fake_env f;
	int fd;

	furnish(&f);
	fd = open(fake_path(&f, "ws/f"), O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	f.env.deadline_us = 1;	/* long ago: to wait would fail */
	check(&f, &tool_edit, &in);
	fake_expect_code(&f, 0);
	(void)fake_run(&f, &tool_edit, &in);
	fake_expect_code(&f, ATS_E_BUSY);	/* the lock does hold a run up */
	close(fd);
	fake_stop(&f);
}
END_TEST

/* A writer was killed in the middle of the file: run would begin with the old content. */
START_TEST(check_sees_through_a_torn_file)
{
	static const char old[] = "one\ntwo\ntwo\n", with[] = "ONE\ntwo\ntwo\n",
			  torn[] = "OnE\ntwo\ntwo\n";
	struct ats_in_edit in = { .file_path = "f", .old_string = "one", .new_string = "1" };
	struct ats_err err;
	struct fake_env f;
	int dir, save;

	furnish(&f);
	dir = open(f.ws, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(saved_make(dir, "f", 0644, (struct ats_slice){ old, sizeof(old) - 1 },
	    (struct ats_slice){ with, sizeof(with) - 1 }, &save, &err), 0);
	close(save);
	close(dir);
	fake_put_str(&f, "ws/f", torn);
	check(&f, &tool_edit, &in);
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/f", torn);
	fake_put_str(&f, "ws/f", "somebody's");	/* not torn: it counts as it is */
	check(&f, &tool_edit, &in);
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_put_str(&f, "ws/f", torn);
	(void)fake_run(&f, &tool_edit, &in);
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/f", "1\ntwo\ntwo\n");
	fake_stop(&f);
}
END_TEST

/* Who writes by mistake in a check is refused, whatever the worker may do. */
START_TEST(check_only_refuses_what_run_would_write)
{
	static const char *const tools[] = { "Write", "Edit", "MultiEdit", "NotebookEdit" };
	union ats_tool_input_any in;
	struct ats_buf arena, before, after;
	unsigned tried = 0;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		const struct tool *t;
		struct fake_env f;
		bool writes = false;

		for (size_t k = 0; k < ATS_ARRAY_LEN(tools); k++)
			writes = writes || strcmp(rows[i].tool, tools[k]) == 0;
		if (!writes || rows[i].code != 0)
			continue;
		t = decode(&rows[i], &in, &arena);
		furnish(&f);
		take_snapshot(&f, &before);
		f.env.check_only = true;
		(void)fake_run(&f, t, &in);
		fake_expect_code(&f, ATS_E_PERM);
		take_snapshot(&f, &after);
		ck_assert_str_eq(before.data, after.data);
		ats_buf_done(&before);
		ats_buf_done(&after);
		ats_buf_done(&arena);
		fake_stop(&f);
		tried++;
	}
	ck_assert_uint_gt(tried, 8);
}
END_TEST

START_TEST(check_asks_whether_the_kernel_would_let_us)
{
	static const struct {
		const char *path, *input;
		mode_t mode;
		const char *tool;
	} denied[] = {
		{ "ws/f", "{\"file_path\":\"f\",\"content\":\"x\"}", 0444, "Write" },
		{ "ws/f", "{\"file_path\":\"f\",\"old_string\":\"one\",\"new_string\":\"1\"}",
		    0444, "Edit" },
		{ "ws/dir", "{\"file_path\":\"dir/g\",\"content\":\"x\"}", 0555, "Write" },
		{ "ws/dir", "{\"file_path\":\"dir/a/b/g\",\"content\":\"x\"}", 0555, "Write" },
	};
	union ats_tool_input_any in;
	struct ats_buf arena;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		return;		/* root may write everything */
	for (size_t i = 0; i < ATS_ARRAY_LEN(denied); i++) {
		const struct row r = { denied[i].tool, denied[i].input, 0, NULL };
		const struct tool *t = decode(&r, &in, &arena);
		struct fake_env f;

		furnish(&f);
		ck_assert_int_eq(chmod(fake_path(&f, denied[i].path), denied[i].mode), 0);
		check(&f, t, &in);
		fake_expect_code(&f, ATS_E_PERM);
		(void)fake_run(&f, t, &in);
		ck_assert(f.res.is_error);
		ck_assert_int_eq(chmod(fake_path(&f, denied[i].path), 0755), 0);
		check(&f, t, &in);
		fake_expect_code(&f, 0);
		ats_buf_done(&arena);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(check_of_bash_names_a_cwd_that_is_gone)
{
	struct ats_in_bash in = { .command = "true" };
	struct fake_env f;

	furnish(&f);
	f.env.cwd = fake_path(&f, "ws/gone");
	check(&f, tool_registry[ATS_TOOL_bash], &in);
	fake_expect_code(&f, 0);	/* it would run, elsewhere */
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "It would begin in"));
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_check", check_says_what_run_says_and_leaves_nothing,
    check_is_there_for_each_tool_of_a_worker, check_counts_the_places_of_an_edit,
    check_waits_for_no_lock, check_sees_through_a_torn_file,
    check_only_refuses_what_run_would_write, check_asks_whether_the_kernel_would_let_us,
    check_of_bash_names_a_cwd_that_is_gone)
