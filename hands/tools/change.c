/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens, checks and writes the file of a changing tool. Runs in workers of the write
 * profile, for a validate of the read profile; the file's content and the path are anybody's. */
#include "hands/tools/change.h"

#include "hands/fs/replace.h"

#include <stdlib.h>
#include <string.h>

#define DIFF_MAX (24u << 10)

static uint64_t
mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

int
change_open(struct change *c, const struct tool_env *env, const char *name,
    struct ats_err *err)
{
	int rc;

	c->env = env;
	c->seen = NULL;
	c->old = NULL;
	c->old_n = 0;
	c->sha[0] = '\0';
	c->in_place = false;
	c->t.fd = c->t.dirfd = c->t.turn = -1;
	c->t.made = 0;
	rc = fs_place(env, name, &c->pl, err);
	if (rc == 0)
		rc = fs_target_open(env, &c->pl, &c->t, err);
	if (rc == 0)
		c->seen = tool_read_find(env, c->pl.path);
	return rc;
}

int
change_end(struct change *c, int rc, const struct ats_err *err, struct tool_result *out)
{
	if (rc < 0)
		rc = tool_fail(out, err->code, "%s", err->text);
	fs_target_done(&c->t);
	free(c->old);
	c->old = NULL;
	return rc < 0 ? rc : 0;
}

int
change_unreported(const struct change *c, struct ats_err *err)
{
	return ats_err_set(err, ATS_E_NOMEM,
	    "%.300s was written; there is no memory for the report.", c->pl.path);
}

int
change_load(struct change *c, struct ats_err *err)
{
	struct fs_target *t = &c->t;
	uint64_t size;
	int rc;

	if (c->env->check_only)
		rc = saved_peek(t->dirfd, t->name, t->fd, (uint64_t)t->st.st_size, &c->old,
		    &c->old_n, err);
	else
		rc = saved_recover(t->dirfd, t->name, t->fd, &t->st, err);
	if (rc < 0)
		return rc;
	size = rc == 1 ? c->old_n : (uint64_t)t->st.st_size;
	if (size > CHANGE_FILE_MAX)
		return ats_err_set(err, ATS_E_TOOBIG,
		    "%.400s has %llu bytes; files of at most %u bytes can be changed by "
		    "this tool.",
		    c->pl.path, (unsigned long long)size, CHANGE_FILE_MAX);
	if (rc == 0)
		rc = fs_read_sized(
		    t->fd, (size_t)size, CHANGE_FILE_MAX, &c->old, &c->old_n, err);
	if (rc < 0)
		return rc;
	ats_sha256_hex(c->old, c->old_n, c->sha);
	return 0;
}

bool
change_is_as_seen(const struct change *c)
{
	if (c->seen == NULL)
		return false;
	if (c->seen->sha256[0] != '\0')
		return strcmp(c->seen->sha256, c->sha) == 0;
	/* a file of which only a part was seen */
	return c->seen->size == c->old_n && c->seen->mtime_ns == mtime_ns(&c->t.st);
}

int
change_check_seen(const struct change *c, struct ats_err *err)
{
	if (c->seen == NULL)
		return ats_err_set(err, ATS_E_NOT_READ,
		    "%.400s exists and has not been read in this "
		    "session. Read it first; nothing was written.",
		    c->pl.path);
	if (!change_is_as_seen(c))
		return ats_err_set(err, ATS_E_CHANGED,
		    "%.400s has changed since it was read (by the "
		    "user, a command or another tool). Read it again; nothing was "
		    "written.",
		    c->pl.path);
	return 0;
}

int
change_commit(struct change *c, const char *content, size_t n, struct tool_result *out,
    struct ats_err *err)
{
	char sha[ATS_SHA256_HEX];
	struct stat st;
	int rc;

	if (c->env->check_only)	/* a fault of ours; the worker's confinement says so too */
		return ats_err_set(err, ATS_E_PERM, "A check does not write.");
	rc = fs_target_make_parent(c->env, &c->t, err);
	if (rc == 0)
		rc = fs_replace(
		    c->t.dirfd, c->t.name, c->t.fd, content, n, &st, &c->in_place, err);
	if (rc < 0) {
		fs_target_unmake_parent(&c->t);
		return ats_err_wrap(err, "%.300s was not written", c->pl.path);
	}
	ats_sha256_hex(content, n, sha);
	rc = tool_saw(out, c->pl.path, (uint64_t)st.st_size, mtime_ns(&st), sha);
	return rc == 0 ? 0
		       : ats_err_set(err, -rc,
			     "%.300s was written, but its state could not "
			     "be recorded; read it again.",
			     c->pl.path);
}

int
change_saw_old(const struct change *c, struct tool_result *out)
{
	return tool_saw(out, c->pl.path, c->old_n, mtime_ns(&c->t.st), c->sha);
}

static void
output_begin(const struct change *c, struct ats_json_w *w, struct tool_result *out)
{
	ats_json_w_init(w, &out->output);
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "file", c->pl.path);
	if (strcmp(c->pl.path, c->t.at.path) != 0)
		ats_json_w_str(w, "resolved", c->t.at.path);
	ats_json_w_bool(w, "created", c->t.fd < 0);
}

int
change_would(const struct change *c, size_t n, struct tool_result *out)
{
	struct ats_json_w w;

	output_begin(c, &w, out);
	ats_json_w_u64(&w, "changes", n);
	ats_json_w_end(&w);
	return w.rc;
}

static int
report_output(const struct change *c, const char *diff, size_t diff_n, size_t n,
    struct tool_result *out)
{
	struct ats_json_w w;

	output_begin(c, &w, out);
	ats_json_w_bool(&w, "in_place", c->in_place);
	ats_json_w_u64(&w, "changes", n);
	ats_json_w_strn(&w, "diff", diff, diff_n);
	ats_json_w_end(&w);
	return w.rc;
}

int
change_report(const struct change *c, const struct diff_texts *t,
    const struct match_edit *edits, size_t n, struct tool_result *out)
{
	size_t at;
	int rc = 0;

	if (c->in_place)
		rc = ats_buf_add_str(&out->text,
		    "Written in place, because the file has other names "
		    "(hard links) or metadata that a new file could not keep; such a "
		    "write is not safe against a crash.\n");
	at = out->text.len;
	if (rc == 0 && t != NULL)
		rc = diff_unified(t, edits, n, DIFF_MAX, &out->text);
	if (rc == 0)
		rc = report_output(c, out->text.data + at, out->text.len - at, n, out);
	if (out->text.len > 0 && out->text.data[out->text.len - 1] == '\n')
		ats_buf_truncate(&out->text, out->text.len - 1);
	return rc;
}
