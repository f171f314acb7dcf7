/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers that are killed at each of their steps: the file is the old one or the new one, a
 * retry ends the work, and nothing is left beside it. The calls of libc by which a tool
 * changes anything are this program's own: the N-th of them is the last thing that happens. */
#include "hands/tools/change.h"
#include "tests/lib/tool_env.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

extern const struct tool tool_multi_edit, tool_notebook_edit;

/* ---- the steps --------------------------------------------------------------------- */
static int steps_left = -1;	/* -1: as many as wanted */

static void
step(void)
{
	if (steps_left == 0)
		(void)kill(getpid(), SIGKILL);
	if (steps_left > 0)
		steps_left--;
}

/* While steps are counted a large write takes several. */
static size_t
some(size_t n)
{
	return steps_left >= 0 && n > 4096 ? n / 2 : n;
}

ssize_t
write(int fd, const void *p, size_t n)
{
	step();
	return syscall(SYS_write, fd, p, some(n));
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	step();
	return syscall(SYS_pwrite64, fd, p, some(n), at);
}

int
fsync(int fd)
{
	step();
	return (int)syscall(SYS_fsync, fd);
}

int
ftruncate(int fd, off_t n)
{
	step();
	return (int)syscall(SYS_ftruncate, fd, n);
}

int
fallocate(int fd, int mode, off_t at, off_t n)
{
	step();
	return (int)syscall(SYS_fallocate, fd, mode, at, n);
}

int
renameat(int from, const char *a, int to, const char *b)
{
	step();
	return (int)syscall(SYS_renameat2, from, a, to, b, 0);
}

int
unlinkat(int dir, const char *name, int flags)
{
	step();
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int
mkdirat(int dir, const char *name, mode_t mode)
{
	step();
	return (int)syscall(SYS_mkdirat, dir, name, mode);
}

int
fchmod(int fd, mode_t mode)
{
	step();
	return (int)syscall(SYS_fchmod, fd, mode);
}

int
fchown(int fd, uid_t uid, gid_t gid)
{
	step();
	return (int)syscall(SYS_fchown, fd, uid, gid);
}

int
fsetxattr(int fd, const char *name, const void *value, size_t n, int flags)
{
	step();
	return (int)syscall(SYS_fsetxattr, fd, name, value, n, flags);
}

int
flock(int fd, int what)
{
	step();
	return (int)syscall(SYS_flock, fd, what);
}

/* ---- the work ---------------------------------------------------------------------- */
#define NAME "d/f.ipynb"	/* so that every tool may have it */
#define BOOK "{\n \"cells\": [\n  {\"cell_type\": \"code\", \"id\": \"a\", \"metadata\": {}, " \
	"\"execution_count\": 1, \"outputs\": [], \"source\": [\"x = 1\"]},\n" \
	"  {\"cell_type\": \"markdown\", \"id\": \"b\", \"metadata\": {}, \"source\": []}\n ],\n" \
	" \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5\n}\n"

static char lines[20001], more[30001];

static void
do_write(struct fake_env *f)
{
	fake_write(f, NAME, "all new\n");
}

static void
do_write_more(struct fake_env *f)
{
	fake_write(f, NAME, more);
}

static void
do_edit(struct fake_env *f)
{
	fake_edit(f, NAME, "first", "FIRST", false);
}

static void
do_edit_all(struct fake_env *f)
{
	fake_edit(f, NAME, "line", "LINES", true);
}

static void
do_create(struct fake_env *f)
{
	fake_edit(f, NAME, "", "made\n", false);
}

static void
do_multi_edit(struct fake_env *f)
{
	struct ats_in_edits e[] = { { .old_string = "first", .new_string = "1st" },
		{ .old_string = "line 0100", .new_string = "" } };
	struct ats_in_multi_edit in = { .file_path = NAME, .edits = e, .n_edits = 2 };

	fake_run(f, &tool_multi_edit, &in);
}

static void
do_notebook_edit(struct fake_env *f)
{
	struct ats_in_notebook_edit in = { .notebook_path = NAME, .cell_id = "a",
		.new_source = "y = 2" };

	fake_run(f, &tool_notebook_edit, &in);
}

static const struct work {
	const char *name;
	void (*run)(struct fake_env *f);
	const char *before;	/* NULL: there is no file */
	mode_t mode;
	bool linked;		/* has another name */
} works[] = {
	{ "Write a new file", do_write, NULL, 0, false },
	{ "Write over one", do_write, lines, 0644, false },
	{ "Write over one with another name", do_write, lines, 0644, true },
	{ "Write more over one with another name", do_write_more, lines, 04755, true },
	{ "Edit that creates", do_create, NULL, 0, false },
	{ "Edit", do_edit, lines, 02750, false },
	{ "Edit everywhere", do_edit_all, lines, 0600, false },
	{ "Edit everywhere, with another name", do_edit_all, lines, 0600, true },
	{ "MultiEdit", do_multi_edit, lines, 0644, false },
	{ "MultiEdit with another name", do_multi_edit, lines, 0644, true },
	{ "NotebookEdit", do_notebook_edit, BOOK, 0644, false },
	{ "NotebookEdit with another name", do_notebook_edit, BOOK, 0644, true },
};

static void
make_lines(void)
{
	for (int i = 0; i < 2000; i++)
		memcpy(lines + 10 * i, i == 0 ? "the first\n" : "line 0000\n", 10);
	memcpy(lines + 1000, "line 0100", 9);
	memset(more, 'm', sizeof(more) - 1);
}

static void
set_up(struct fake_env *f, const struct work *w)
{
	fake_start(f);
	if (w->before == NULL)
		return;
	ck_assert_int_eq(mkdir(fake_path(f, "ws/d"), 0755), 0);
	fake_put_str(f, "ws/" NAME, w->before);
	ck_assert_int_eq(chmod(fake_path(f, "ws/" NAME), w->mode), 0);
	if (w->linked)
		ck_assert_int_eq(
		    link(fake_path(f, "ws/" NAME), fake_path(f, "ws/other")), 0);
	fake_read(f, NAME, 1, 1);	/* as text */
	fake_expect_code(f, 0);
}

static char *
content(struct fake_env *f, size_t *n)
{
	char *p = NULL;

	return ats_fd_slurp(AT_FDCWD, fake_path(f, "ws/" NAME), 1u << 20, &p, n, NULL) == 0 ?
	    p : NULL;
}

static bool
holds(struct fake_env *f, const char *want)
{
	size_t n = 0;
	char *p = content(f, &n);
	bool ok = want == NULL ? p == NULL :
	    p != NULL && n == strlen(want) && memcmp(p, want, n) == 0;

	free(p);
	return ok;
}

/* true: it was killed before it was done. */
static bool
killed_after(struct fake_env *f, const struct work *w, int steps)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		steps_left = steps;
		w->run(f);
		steps_left = -1;
		_exit(f->res.is_error ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", w->name,
	    (unsigned)status);
	return false;
}

static void
expect_clean(struct fake_env *f, const struct work *w, const char *want, int steps)
{
	struct stat a, b;

	ck_assert_msg(holds(f, want), "%s, %d steps: another content", w->name, steps);
	fake_expect_entries(f, "ws/d", 1);
	fake_expect_entries(f, "ws", w->linked ? 2 : 1);
	ck_assert_int_eq(stat(fake_path(f, "ws/" NAME), &a), 0);
	if (w->before != NULL)
		ck_assert_uint_eq(a.st_mode & 07777, w->mode);
	if (w->linked) {
		ck_assert_int_eq(stat(fake_path(f, "ws/other"), &b), 0);
		ck_assert_uint_eq(a.st_ino, b.st_ino);
	}
}

static char *
after(const struct work *w)
{
	struct fake_env f;
	size_t n;
	char *p;

	set_up(&f, w);
	w->run(&f);
	fake_expect_code(&f, 0);
	p = content(&f, &n);
	expect_clean(&f, w, p, -1);
	fake_stop(&f);
	return p;
}

static void
kill_and_retry(const struct work *w)
{
	char *want = after(w);
	bool killed = true;
	int n = 0, torn = 0;

	for (; killed; n++) {
		struct fake_env f;

		set_up(&f, w);
		killed = killed_after(&f, w, n);
		torn += !holds(&f, w->before) && !holds(&f, want);
		ck_assert_msg(torn == 0 || w->linked, "%s, %d steps: torn", w->name, n);
		f.env.attempt = 1;
		w->run(&f);
		ck_assert_msg(!f.res.is_error, "%s, %d steps: %s", w->name, n,
		    f.res.text.data);
		expect_clean(&f, w, want, n);
		fake_stop(&f);
	}
	ck_assert_int_gt(n, 4);
	ck_assert(torn > 0 || !w->linked || w->before != lines);
	free(want);
}

START_TEST(killed_writer_leaves_old_or_new_and_a_retry_ends_its_work)
{
	make_lines();
	for (size_t i = 0; i < ATS_ARRAY_LEN(works); i++)
		kill_and_retry(&works[i]);
}
END_TEST

/* Nobody tries again: the next that changes the file finds it old or new. */
static void
kill_and_go_on(const struct work *w)
{
	char *want = after(w);
	bool killed = true;

	for (int n = 0; killed; n++) {
		struct fake_env f;

		set_up(&f, w);
		killed = killed_after(&f, w, n);
		fake_forget(&f);
		fake_read(&f, NAME, 1, 1);
		fake_write(&f, NAME, "the end\n");
		if (f.res.code == ATS_E_CHANGED) {	/* it was torn */
			ck_assert(w->linked && holds(&f, w->before));
			fake_read(&f, NAME, 1, 1);
			fake_write(&f, NAME, "the end\n");
		}
		ck_assert_msg(!f.res.is_error, "%s, %d steps: %s", w->name, n,
		    f.res.text.data);
		expect_clean(&f, w, "the end\n", n);
		fake_stop(&f);
	}
	free(want);
}

START_TEST(killed_writer_is_no_obstacle_for_the_next)
{
	make_lines();
	for (size_t i = 0; i < ATS_ARRAY_LEN(works); i++)
		kill_and_go_on(&works[i]);
}
END_TEST

/* What was written by somebody else since is not taken for a torn file. */
START_TEST(killed_writer_changes_by_others_stay)
{
	static const char *const theirs[] = { "something else\n", "", "the first\n" };
	const struct work *w = &works[7];

	make_lines();
	for (size_t i = 0; i < ATS_ARRAY_LEN(theirs); i++) {
		bool killed = true;

		for (int n = 0; killed; n++) {
			struct fake_env f;

			set_up(&f, w);
			killed = killed_after(&f, w, n);
			fake_put_str(&f, "ws/" NAME, theirs[i]);
			f.env.attempt = 1;
			w->run(&f);
			ck_assert_int_eq(f.res.code, ATS_E_CHANGED);
			expect_clean(&f, w, theirs[i], n);
			fake_stop(&f);
		}
	}
}
END_TEST

ATS_UNIT_MAIN("tool_crash", killed_writer_leaves_old_or_new_and_a_retry_ends_its_work,
    killed_writer_is_no_obstacle_for_the_next, killed_writer_changes_by_others_stay)
