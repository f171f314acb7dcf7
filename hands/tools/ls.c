/* SPDX-License-Identifier: Apache-2.0
 *
 * LS: one directory. Runs in workers of the read profile; names are anybody's and are
 * shown as they are (invalid UTF-8 as U+FFFD, which Read and Edit understand). */
#include "hands/fs/file.h"

#include "common/fault.h"
#include "common/fd.h"
#include "hands/fs/dent.h"
#include "hands/fs/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN_MAX 1000u
#define ENTRIES_MAX 200000u
#define NAMES_MAX (32u << 20)

struct listing {
	const struct ats_in_ls *in;
	int fd;
	struct ats_buf names;	/* each: type byte, name, NUL */
	size_t count, ignored;
	bool is_cut;		/* more entries than can be held */
	struct fs_hidden hidden;
};

static bool
is_ignored(const struct ats_in_ls *in, const char *name, bool is_dir)
{
	for (size_t i = 0; i < in->n_ignore; i++) {
		const char *pattern = in->ignore[i];
		char copy[256];
		size_t n;

		while (strncmp(pattern, "**/", 3) == 0)
			pattern += 3;
		n = strlen(pattern);
		if (n >= sizeof(copy))
			continue;
		memcpy(copy, pattern, n + 1);
		/* "dir/", "dir/ *" and "dir/ **" mean the directory and what is in it */
		for (size_t k = 0; k < 3; k++) {
			static const char *const tails[] = { "/**", "/*", "/" };
			size_t t = strlen(tails[k]);

			if (is_dir && n > t && strcmp(copy + n - t, tails[k]) == 0) {
				copy[n - t] = '\0';
				break;
			}
		}
		if (fnmatch(copy, name, 0) == 0)
			return true;
	}
	return false;
}

static int
add_entry(struct listing *l, const struct dent *d)
{
	char type = (char)d->type;
	struct stat st;
	int rc;

	if (d->type == 0 && fstatat(l->fd, d->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		type = S_ISDIR(st.st_mode) ? 4 : 8;
	if (fs_hidden_match(&l->hidden, d->name, strlen(d->name), 0, type == 4))
		return 0;
	if (is_ignored(l->in, d->name, type == 4)) {
		l->ignored++;
		return 0;
	}
	if (l->count == ENTRIES_MAX) {
		l->is_cut = true;
		return 0;
	}
	rc = ats_buf_add_char(&l->names, type);
	if (rc == 0)
		rc = ats_buf_add(&l->names, d->name, strlen(d->name) + 1);
	if (rc == 0)
		l->count++;
	return rc;
}

static int
read_entries(struct listing *l)
{
	_Alignas(8) char buf[32768];
	int rc = 0;
	long n;

	while (rc == 0 && !l->is_cut &&
	    (n = syscall(SYS_getdents64, l->fd, buf, sizeof(buf))) > 0)
		for (long at = 0; rc == 0 && at < n; ) {
			const struct dent *d =
			    (const struct dent *)(const void *)(buf + at);

			at += d->len;
			if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
				rc = add_entry(l, d);
		}
	if (rc == -ATS_E_TOOBIG) {
		l->is_cut = true;
		rc = 0;
	}
	return rc;
}

static int
by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x + 1, *y + 1);
}

static int
show(struct listing *l, const struct fs_place *pl, struct tool_result *out)
{
	const char **v = ats_calloc(l->count + 1, sizeof(*v)), *p = l->names.data;
	size_t i, shown = 0;
	int rc;

	if (v == NULL)
		return -ATS_E_NOMEM;
	for (i = 0; i < l->count; i++) {
		v[i] = p;
		p += 1 + strlen(p + 1) + 1;
	}
	qsort(v, l->count, sizeof(*v), by_name);
	rc = ats_buf_addf(&out->text, "%s%s\n", pl->path, pl->path[1] == '\0' ? "" : "/");
	for (; rc == 0 && shown < l->count && shown < SHOWN_MAX; shown++) {
		if (out->text.len + 1024 > out->text.max)
			break;
		rc = ats_buf_addf(
		    &out->text, "%s%s\n", v[shown] + 1, *v[shown] == 4 ? "/" : "");
	}
	free(v);
	if (rc == 0 && l->count == 0)
		rc = ats_buf_addf(&out->text, "[The directory is empty%s.]\n",
		    l->ignored > 0 ? " but for what ignore leaves out" : "");
	if (rc == 0 && shown < l->count)
		rc = ats_buf_addf(&out->text, "[%s%zu more entries are not shown.]\n",
		    l->is_cut ? "at least " : "", l->count - shown);
	return rc;
}

/* False: out says why. */
static bool
open_dir(const struct tool_env *env, const char *name, struct fs_place *pl, int *ret_fd,
    struct tool_result *out)
{
	struct ats_err err;
	int rc = fs_place(env, name, pl, &err);

	if (rc == 0)
		rc = fs_open_dir(env, pl, ret_fd, &err);
	if (rc < 0)
		(void)tool_fail(out, err.code, "%s", err.text);
	return rc == 0;
}

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	const struct ats_in_ls *in = input;
	int fd ATS_CLEANUP_FD = -1;
	struct fs_place pl;

	if (!open_dir(env, in->path, &pl, &fd, out))
		return 0;
	return ats_buf_addf(&out->text, "%s can be listed.", pl.path);
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct listing l = { .in = input, .fd = -1 };
	struct fs_place pl;
	int rc;

	if (!open_dir(env, l.in->path, &pl, &l.fd, out))
		return 0;
	ats_buf_init(&l.names, NAMES_MAX);
	fs_hidden_below(env, &pl, "", &l.hidden);
	rc = read_entries(&l);
	if (rc == 0)
		rc = show(&l, &pl, out);
	ats_buf_done(&l.names);
	ats_fd_close(&l.fd);
	return rc;
}

const struct tool tool_ls = { ATS_TOOL_ls, run, check };
