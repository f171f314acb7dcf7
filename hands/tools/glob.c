/* SPDX-License-Identifier: Apache-2.0
 *
 * Glob: finds files by name, newest first, ignored ones too. Runs in workers of the read
 * profile; the pattern is the model's, trees are anybody's. */
#include "hands/fs/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/path.h"
#include "hands/fs/hidden.h"
#include "hands/match/glob.h"
#include "hands/match/report.h"
#include "hands/match/walk.h"

#define SHOWN_MAX 100u
#define TEXT_MAX 65536u			/* tools.def's max_chars of Glob */
#define MARGIN_US 500000u		/* before the deadline: time to answer */

struct glob_search {
	const struct tool_env *env;
	struct fs_place place;		/* where the walk begins */
	size_t below;			/* bytes of a path before what is matched */
	struct glob *glob;
	struct report *report;
	uint64_t deadline_us;
	bool early;
	int rc;				/* atomic: no memory */
};

static void *
thread_new(void *ctx)
{
	return ctx;			/* threads have no state of their own */
}

static void
thread_free(void *ctx, void *thread)
{
	(void)ctx;
	(void)thread;
}

static bool
on_enter(void *ctx, const char *path, size_t n)
{
	const struct glob_search *g = ctx;

	return glob_may_descend(g->glob, path + g->below, n - g->below);
}

static bool
on_pick(void *ctx, const char *path, size_t n)
{
	const struct glob_search *g = ctx;

	return glob_match(g->glob, path + g->below, n - g->below);
}

/* A symlink counts as a file when it leads to one inside of the root. */
static bool
leads_to_file(const struct glob_search *g, const char *path, struct stat *ret_st)
{
	int fd ATS_CLEANUP_FD = -1;

	fd = ats_path_open_beneath(g->place.root->fd, path, O_PATH | O_CLOEXEC, 0, NULL);
	return fd >= 0 && fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode);
}

static void
on_file(void *ctx, void *thread, const struct walk_file *f)
{
	struct glob_search *g = ctx;
	const struct search_hit hit = { .matches = 1 };
	struct stat st;
	int rc;

	(void)thread;
	if (f->symlink) {
		if (!leads_to_file(g, f->path, &st))
			return;
	} else if (fstatat(f->dirfd, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		return;			/* gone since it was listed */
	}
	rc = report_add(g->report, f->path, f->path_len,
	    (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec, &hit,
	    NULL);
	if (rc < 0)
		__atomic_store_n(&g->rc, rc, __ATOMIC_RELAXED);
}

static void
on_warn(void *ctx, const char *path, size_t n, int error)
{
	struct glob_search *g = ctx;

	report_warn(g->report, path, n, error);
}

static bool
on_progress(void *ctx, uint64_t files)
{
	struct glob_search *g = ctx;

	(void)files;
	if (g->deadline_us != 0 && ats_clock_us() > g->deadline_us)
		g->early = true;
	return !g->early && __atomic_load_n(&g->rc, __ATOMIC_RELAXED) == 0;
}

/* Whether the pattern itself names a directory of a version control system. */
static bool
names_vcs(const char *pattern)
{
	while (*pattern != '\0') {
		size_t n = strcspn(pattern, "/");

		if (walk_is_vcs(pattern, n))
			return true;
		pattern += n + (pattern[n] == '/');
	}
	return false;
}

static int
search(struct glob_search *g, int fd, const char *pattern, struct tool_result *out)
{
	static const struct walk_ops ops = {
		.enter = on_enter, .pick = on_pick, .file = on_file, .warn = on_warn,
		.thread_new = thread_new, .thread_free = thread_free, .progress = on_progress,
	};
	const char *rel = strcmp(g->place.rel, ".") == 0 ? "" : g->place.rel;
	struct walk_options o = {
		.ops = &ops, .ctx = g, .start_fd = fd, .start = rel, .symlinks = true,
		.vcs = names_vcs(pattern) || names_vcs(rel),
	};
	struct report_options ro = {
		.mode = SEARCH_FILES, .limit = SHOWN_MAX, .root = g->place.root->path,
		.cwd = g->env->cwd, .names_only = true,
		.max_bytes = out->text.max < TEXT_MAX ? out->text.max : TEXT_MAX,
	};
	struct fs_hidden hidden;
	uint64_t files = 0;
	int rc;

	fs_hidden_below(g->env, &g->place, rel, &hidden);
	o.hidden = hidden.rules != NULL ? &hidden : NULL;
	g->below = rel[0] != '\0' ? strlen(rel) + 1 : 0;
	g->report = report_new(&ro);
	if (g->report == NULL)
		return -ATS_E_NOMEM;
	rc = walk_run(&o, &files);
	if (rc == 0)
		rc = g->rc;
	return rc == 0 ? report_write(g->report, files, g->early, out) : rc;
}

/* Splits leading components without wildcards off: they say where to begin. The pattern
 * that is left has at least its last component. */
static int
split(const char *pattern, const char *path, char *dir, size_t size, const char **ret_rest,
    struct ats_err *err)
{
	const char *rest = pattern, *p = pattern;
	int n;

	for (;;) {
		const char *slash = strchr(p, '/'), *magic = strpbrk(p, "*?[{\\");

		if (slash == NULL || (magic != NULL && magic < slash))
			break;
		for (p = slash + 1; *p == '/'; p++)
			;
		rest = p;
	}
	if (*rest == '\0')		/* "dir/": what is in it */
		rest = "**";
	if (pattern[0] == '/' || pattern[0] == '~')
		n = snprintf(dir, size, "%.*s", (int)(rest - pattern), pattern);
	else
		n = snprintf(dir, size, "%s%s%.*s", path, rest > pattern ? "/" : "",
		    (int)(rest - pattern), pattern);
	if (n < 0 || (size_t)n >= size)
		return ats_err_set(err, ATS_E_TOOBIG, "the pattern is too long");
	*ret_rest = rest;
	return 0;
}

/* Compiles the pattern and opens where to begin. 0, 1 when out says it all, or negative. */
static int
prepare(struct glob_search *g, const struct ats_in_glob *in, int *ret_fd,
    const char **ret_rest, struct tool_result *out)
{
	const char *rest = NULL;
	struct ats_err err = { 0 };
	char dir[8192];
	int rc;

	rc = split(in->pattern, in->path != NULL ? in->path : g->env->cwd, dir, sizeof(dir),
	    &rest, &err);
	/* With a directory in front the pattern is bound to it; alone it is for any depth. */
	if (rc == 0)
		rc = glob_new(rest, GLOB_BRACKET_NAMES |
		    (rest == in->pattern ? GLOB_ANYWHERE : 0), &g->glob, &err);
	if (rc == 0)
		rc = fs_place(g->env, dir, &g->place, &err);
	if (rc == 0)
		rc = fs_open_dir(g->env, &g->place, ret_fd, &err);
	*ret_rest = rest;
	if (rc == 0 || rc == -ATS_E_NOMEM)
		return rc;
	if (rc == -ATS_E_NOENT && rest != in->pattern)
		rc = ats_buf_addf(&out->text, "No files found: %s", err.text);
	else
		rc = tool_fail(out, err.code, "%s", err.text);
	return rc < 0 ? rc : 1;
}

static int
glob_run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct glob_search g = { .env = env };
	int fd ATS_CLEANUP_FD = -1;
	const char *rest;
	int rc = prepare(&g, input, &fd, &rest, out);

	if (env->deadline_us > MARGIN_US)
		g.deadline_us = env->deadline_us - MARGIN_US;
	if (rc == 0)
		rc = search(&g, fd, rest, out);
	glob_free(g.glob);
	report_free(g.report);
	return rc < 0 ? rc : 0;
}

static int
glob_check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct glob_search g = { .env = env };
	int fd ATS_CLEANUP_FD = -1;
	const char *rest;
	int rc = prepare(&g, input, &fd, &rest, out);

	if (rc == 0)
		rc = ats_buf_addf(&out->text, "%s can be searched.", g.place.path);
	glob_free(g.glob);
	return rc < 0 ? rc : 0;
}

extern const struct tool tool_glob;
const struct tool tool_glob = {
	.id = ATS_TOOL_glob, .run = glob_run, .check = glob_check,
};
