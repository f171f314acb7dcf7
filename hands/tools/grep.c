/* SPDX-License-Identifier: Apache-2.0
 *
 * Grep: searches file contents. Runs in workers of the read profile, with a few threads on
 * large trees; pattern and names are the model's, trees and contents anybody's. */
#include "hands/fs/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "hands/fs/hidden.h"
#include "hands/match/filter.h"
#include "hands/match/gitrepo.h"
#include "hands/match/report.h"
#include "hands/match/walk.h"

#define LIMIT_DEFAULT 250u
#define MARGIN_US 700000u		/* before the deadline: time to answer */
#define PROGRESS_FIRST_US 1000000u
#define PROGRESS_EVERY_US 500000u
#define TEXT_MAX (1u << 20)		/* tools.def's max_chars of Grep */
#define STEPS_FILES_MAX 20u		/* files that explode before the search is given up */

struct grep {
	const struct tool_env *env;
	const struct ats_in_grep *in;
	struct search_options search;
	struct filter *filter;
	struct fs_place place;		/* where to search */
	int fd;				/* of it */
	bool is_dir;
	struct report *report;
	uint64_t progress_us;		/* when the next one is due */
	bool early;			/* stopped by time */
	unsigned steps;			/* atomic: files that took too many steps */
	int rc;				/* atomic: no memory */
};

static void *
thread_new(void *ctx)
{
	struct grep *g = ctx;

	return searcher_new(&g->search);
}

static void
thread_free(void *ctx, void *thread)
{
	(void)ctx;
	searcher_free(thread);
}

/* Searches one file and reports it. fd is borrowed. */
static void
search(struct grep *g, struct searcher *s, int fd, const char *path, size_t n)
{
	struct search_hit hit;
	uint64_t mtime_ns = 0;
	struct stat st;
	int rc = searcher_run(s, fd, &hit);

	if (rc == -ATS_E_SYS) {
		report_warn(g->report, path, n, errno);
		return;
	}
	if (rc == 0 && hit.matches > 0 && g->search.mode == SEARCH_FILES &&
	    fstat(fd, &st) == 0)
		mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
		    (uint64_t)st.st_mtim.tv_nsec;
	if (rc == 0 && hit.steps)
		__atomic_add_fetch(&g->steps, 1, __ATOMIC_RELAXED);
	if (rc == 0 && (hit.matches > 0 || hit.cut))
		rc = report_add(g->report, path, n, mtime_ns, &hit, searcher_text(s));
	if (rc < 0)
		__atomic_store_n(&g->rc, rc, __ATOMIC_RELAXED);
}

static void
on_file(void *ctx, void *thread, const struct walk_file *f)
{
	struct grep *g = ctx;
	int fd = openat(f->dirfd, f->name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		if (errno != ENOENT && errno != ELOOP && errno != ENXIO)
			report_warn(g->report, f->path, f->path_len, errno);
		return;
	}
	search(g, thread, fd, f->path, f->path_len);
	(void)close(fd);
}

static bool
on_past(void *ctx, const char *path, size_t n)
{
	struct grep *g = ctx;

	return report_past(g->report, path, n);
}

static void
on_warn(void *ctx, const char *path, size_t n, int error)
{
	struct grep *g = ctx;

	report_warn(g->report, path, n, error);
}

static bool
on_enter(void *ctx, const char *path, size_t n)
{
	const struct grep *g = ctx;

	return filter_enter(g->filter, path, n);
}

static bool
on_pick(void *ctx, const char *path, size_t n)
{
	const struct grep *g = ctx;

	return filter_pick(g->filter, path, n);
}

static bool
on_progress(void *ctx, uint64_t files)
{
	struct grep *g = ctx;
	uint64_t now = ats_clock_us();

	if (g->search.deadline_us != 0 && now > g->search.deadline_us) {
		g->early = true;
		return false;
	}
	if (now >= g->progress_us && g->env->progress != NULL) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%llu files searched",
		    (unsigned long long)files);
		g->env->progress(g->env->progress_ctx, text, files);
		g->progress_us = now + PROGRESS_EVERY_US;
	}
	return __atomic_load_n(&g->rc, __ATOMIC_RELAXED) == 0 &&
	    __atomic_load_n(&g->steps, __ATOMIC_RELAXED) < STEPS_FILES_MAX;
}

/* ---- where to search -------------------------------------------------------------------- */
static int
search_tree(struct grep *g, const struct fs_place *pl, int fd, uint64_t *ret_files)
{
	static const struct walk_ops all = {
		.past = on_past, .file = on_file, .warn = on_warn,
		.thread_new = thread_new, .thread_free = thread_free, .progress = on_progress,
	};
	struct walk_ops ops = all;
	const char *start = strcmp(pl->rel, ".") == 0 ? "" : pl->rel;
	struct gitrepo *git = gitrepo_new(g->env, pl->root);
	struct ignore_dir *above = git != NULL ? walk_above(pl->root->fd, start, git) : NULL;
	struct walk_options o = {
		.ops = &ops, .ctx = g, .start_fd = fd, .start = start, .above = above,
		.ignore = true, .git = git, .ordered = g->search.mode == SEARCH_CONTENT,
	};
	struct fs_hidden hidden;
	int rc;

	if (git == NULL)
		return -ATS_E_NOMEM;
	fs_hidden_below(g->env, pl, start, &hidden);
	o.hidden = hidden.rules != NULL ? &hidden : NULL;
	if (g->filter != NULL) {
		ops.enter = on_enter;
		ops.pick = on_pick;
	}
	rc = walk_run(&o, ret_files);
	walk_above_free(above);
	gitrepo_free(git);
	return rc;
}

static int
search_one(struct grep *g, const struct fs_place *pl, int fd)
{
	struct searcher *s = searcher_new(&g->search);

	if (s == NULL)
		return -ATS_E_NOMEM;
	search(g, s, fd, pl->rel, strlen(pl->rel));
	searcher_free(s);
	return 0;
}

static int
make_report(struct grep *g, const struct fs_place *pl, size_t max_bytes)
{
	struct report_options o = {
		.mode = g->search.mode,
		.context = g->search.before > 0 || g->search.after > 0,
		.offset = g->in->has_offset ? g->in->offset : 0,
		.limit = g->in->has_head_limit ? g->in->head_limit : LIMIT_DEFAULT,
		.root = pl->root->path, .cwd = g->env->cwd, .max_bytes = max_bytes,
	};

	g->report = report_new(&o);
	if (g->report == NULL)
		return -ATS_E_NOMEM;
	/* One line more than can be shown tells that there is more. */
	g->search.max_lines = o.limit == 0 ? UINT64_MAX : o.offset + o.limit + 1;
	g->search.max_bytes = max_bytes;
	return 0;
}

static int
search_at(struct grep *g, struct tool_result *out)
{
	const struct fs_place *pl = &g->place;
	uint64_t files = 1;
	int rc = make_report(g, pl, out->text.max < TEXT_MAX ? out->text.max : TEXT_MAX);

	if (rc == 0)
		rc = g->is_dir ? search_tree(g, pl, g->fd, &files) : search_one(g, pl, g->fd);
	if (rc == 0)
		rc = g->rc;
	return rc == 0 ? report_write(g->report, files, g->early, out) : rc;
}

/* ---- what to search for ------------------------------------------------------------------- */
static enum search_mode
mode_of(const char *name)
{
	if (name == NULL || strcmp(name, "files_with_matches") == 0)
		return SEARCH_FILES;
	return strcmp(name, "count") == 0 ? SEARCH_COUNT : SEARCH_CONTENT;
}

static void
read_options(struct grep *g)
{
	const struct ats_in_grep *in = g->in;
	struct search_options *o = &g->search;
	uint64_t around = in->has_around ? in->around : in->has_context ? in->context : 0;

	o->mode = mode_of(in->output_mode);
	o->multiline = in->has_multiline && in->multiline;
	if (o->mode == SEARCH_CONTENT) {
		o->only_matching = in->has_only_matching && in->only_matching;
		o->line_numbers = !in->has_line_numbers || in->line_numbers;
		if (!o->only_matching) {
			o->before = in->has_before ? in->before : around;
			o->after = in->has_after ? in->after : around;
		}
	}
	if (g->env->deadline_us > MARGIN_US)
		o->deadline_us = g->env->deadline_us - MARGIN_US;
	g->progress_us = ats_clock_us() + PROGRESS_FIRST_US;
}

static int
open_place(struct grep *g, struct ats_err *err)
{
	struct ats_err dir_err = { 0 };
	struct stat st;
	int rc = fs_open_file(g->env, &g->place, &g->fd, &st, err);

	if (rc == 0)
		return 0;
	g->is_dir = fs_open_dir(g->env, &g->place, &g->fd, &dir_err) == 0;
	return g->is_dir ? 0 : rc;
}

/* Compiles what is given and opens where to search. 0, 1 when out says why not, or negative. */
static int
prepare(struct grep *g, struct tool_result *out)
{
	const struct tool_env *env = g->env;
	struct ats_err err = { 0 };
	unsigned flags = 0;
	int rc;

	read_options(g);
	if (g->search.multiline)
		flags |= REGEX_MULTILINE;
	if (g->in->has_ignore_case && g->in->ignore_case)
		flags |= REGEX_IGNORE_CASE;
	rc = regex_new(g->in->pattern, flags, &g->search.re, &err);
	if (rc == 0)
		rc = fs_place(
		    env, g->in->path != NULL ? g->in->path : env->cwd, &g->place, &err);
	if (rc == 0)
		rc = filter_new(g->in->glob, g->in->type, env, &g->place, &g->filter, &err);
	if (rc == 0)
		rc = open_place(g, &err);
	if (rc == 0 || rc == -ATS_E_NOMEM)
		return rc;
	rc = tool_fail(out, err.code, "%s", err.text);
	return rc < 0 ? rc : 1;
}

static int
end(struct grep *g, int rc)
{
	filter_free(g->filter);
	report_free(g->report);
	regex_free(g->search.re);
	ats_fd_close(&g->fd);
	return rc < 0 ? rc : 0;
}

static int
grep_run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct grep g = { .env = env, .in = input, .fd = -1 };
	int rc = prepare(&g, out);

	return end(&g, rc == 0 ? search_at(&g, out) : rc);
}

static int
grep_check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct grep g = { .env = env, .in = input, .fd = -1 };
	int rc = prepare(&g, out);

	if (rc == 0)
		rc = ats_buf_addf(&out->text, "%s can be searched.", g.place.path);
	return end(&g, rc);
}

extern const struct tool tool_grep;
const struct tool tool_grep = {
	.id = ATS_TOOL_grep, .run = grep_run, .check = grep_check,
};
