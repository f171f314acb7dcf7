/* SPDX-License-Identifier: Apache-2.0
 *
 * NotebookEdit: one cell of a Jupyter notebook. Runs in workers of the write profile, its
 * check in those of the read profile; the file's content and the path are anybody's. */
#include "hands/fs/notebook.h"
#include "hands/tools/change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct notebook_call {
	struct change c;
	struct notebook_edit edit;
	char id[9];			/* of an inserted cell */
	size_t bom;
	struct ats_slice text;		/* c.old after the BOM */
	struct ats_buf bytes;		/* the new content */
	struct notebook_done done;
};

/* The same for the same notebook and source, so that a retry knows its own cell. */
static void
make_id(const char *sha, const char *source, unsigned salt, char ret[9])
{
	struct ats_buf all ATS_CLEANUP_BUF = { 0 };
	char hex[ATS_SHA256_HEX];

	ats_buf_init(&all, CHANGE_FILE_MAX);
	if (ats_buf_addf(&all, "%s %u %s", sha, salt, source) < 0)
		ats_buf_reset(&all);
	ats_sha256_hex(all.data, all.len, hex);
	(void)snprintf(ret, 9, "%.8s", hex);
}

static void
free_id(struct notebook_call *k)
{
	unsigned salt = 0;

	do
		make_id(k->c.sha, k->edit.source, salt++, k->id);
	while (salt < 100 && memmem(k->text.p, k->text.n, k->id, 8) != NULL);
}

static int
open_text(struct notebook_call *k, struct ats_err *err)
{
	enum text_kind kind = text_detect(k->c.old, k->c.old_n);

	if (kind != TEXT_UTF8 && kind != TEXT_UTF8_BOM)
		return ats_err_set(err, ATS_E_UTF8,
		    "%.400s is not UTF-8, so it is no notebook. Nothing was written.",
		    k->c.pl.path);
	k->bom = text_bom_len(kind);
	k->text = (struct ats_slice){ k->c.old + k->bom, k->c.old_n - k->bom };
	return 0;
}

/* ---- after a loss ------------------------------------------------------------------ */
/* Whether the inserted cell is there: without it the notebook is the one that was seen, and
 * with it again the one that is there. */
static bool
insert_was_done(struct notebook_call *k, const char *cell)
{
	struct notebook_edit undo = { .mode = NOTEBOOK_DELETE, .cell = cell };
	struct ats_buf was ATS_CLEANUP_BUF = { 0 }, again ATS_CLEANUP_BUF = { 0 };
	char sha[ATS_SHA256_HEX];
	struct ats_err err;

	ats_buf_init(&was, CHANGE_FILE_MAX);
	ats_buf_init(&again, 2 * CHANGE_FILE_MAX);
	if (ats_buf_add(&was, k->c.old, k->bom) < 0 ||
	    notebook_change(k->text, &undo, &was, &k->done, &err) < 0)
		return false;
	ats_sha256_hex(was.data, was.len, sha);
	if (strcmp(sha, k->c.seen->sha256) != 0 ||
	    notebook_change((struct ats_slice){ was.data + k->bom, was.len - k->bom },
		&k->edit, &again, &k->done, &err) < 0)
		return false;
	return again.len == k->text.n && memcmp(again.data, k->text.p, again.len) == 0;
}

static bool
inserted(struct notebook_call *k)
{
	unsigned long at = 0;
	char place[32];

	make_id(k->c.seen->sha256, k->edit.source, 0, k->id);
	if (insert_was_done(k, k->id))
		return true;
	if (k->edit.cell != NULL) {	/* a format without ids: by the place */
		if (strncmp(k->edit.cell, "cell-", 5) != 0 || strlen(k->edit.cell) > 14)
			return false;
		at = strtoul(k->edit.cell + 5, NULL, 10) + 1;
	}
	(void)snprintf(place, sizeof(place), "cell-%lu", at);
	return insert_was_done(k, place);
}

/* Whether the notebook is as the edit wants it, whoever made it so. */
static bool
is_reached(struct notebook_call *k)
{
	struct ats_buf again ATS_CLEANUP_BUF = { 0 };
	struct ats_err err;
	int rc;

	ats_buf_init(&again, 2 * CHANGE_FILE_MAX);
	rc = notebook_change(k->text, &k->edit, &again, &k->done, &err);
	if (k->edit.mode == NOTEBOOK_DELETE)
		return rc == -ATS_E_NO_MATCH && strncmp(k->edit.cell, "cell-", 5) != 0;
	return rc == 0 && again.len == k->text.n &&
	       memcmp(again.data, k->text.p, again.len) == 0;
}

/* 1: the first try had done it, 0: it is still to do. */
static int
retry(struct notebook_call *k, struct tool_result *out, struct ats_err *err)
{
	const struct change *c = &k->c;
	int rc;

	if (c->env->attempt == 0 || c->seen == NULL || change_is_as_seen(c))
		return 0;
	if (k->edit.mode == NOTEBOOK_INSERT && inserted(k)) {
		rc = ats_buf_addf(&out->text,
		    "Edited %s: the first try had inserted cell %s already.", c->pl.path,
		    k->done.cell);
		if (rc == 0)
			rc = change_saw_old(c, out);
	} else if (k->edit.mode != NOTEBOOK_INSERT && k->edit.cell != NULL && is_reached(k)) {
		/* The rest may be another's: it does not count as read. */
		rc = ats_buf_addf(&out->text,
		    "%s is so already: the first try has most likely done it. Read it again "
		    "before the next change.",
		    c->pl.path);
	} else {
		return ats_err_set(err, ATS_E_CHANGED,
		    "%.300s has changed since it was read, and it is unknown whether this "
		    "edit was applied. Read it again.",
		    c->pl.path);
	}
	return rc == 0 ? 1 : ats_err_set(err, -rc, "Not enough memory.");
}

/* ---- the edit ---------------------------------------------------------------------- */
static int
say(const struct notebook_call *k, bool would, struct tool_result *out)
{
	static const char *const did[][3] = { { "Replaced", "Inserted", "Deleted" },
		{ "Would replace", "Would insert", "Would delete" } };

	return ats_buf_addf(&out->text, "%s %s%scell %s in %s.\n", did[would][k->edit.mode],
	    k->done.type != NULL ? k->done.type : "", k->done.type != NULL ? " " : "",
	    k->done.cell, k->c.pl.path);
}

static int
report(const struct notebook_call *k, struct tool_result *out)
{
	const struct change *c = &k->c;
	struct diff_texts t = { c->old, c->old_n, k->bytes.data, k->bytes.len };
	struct match_edit edit;
	int rc = say(k, false, out);

	if (rc < 0)
		return rc;
	return change_report(c, diff_middle(&t, &edit) ? &t : NULL, &edit, 1, out);
}

static int
prepare_file(struct notebook_call *k, struct tool_result *out, struct ats_err *err)
{
	struct change *c = &k->c;
	int rc = change_load(c, err);

	if (rc == 0)
		rc = open_text(k, err);
	if (rc == 0)
		rc = retry(k, out, err);
	if (rc == 0)
		rc = change_check_seen(c, err);
	if (rc != 0)
		return rc;
	free_id(k);
	rc = ats_buf_add(&k->bytes, c->old, k->bom);
	if (rc == 0)
		rc = notebook_change(k->text, &k->edit, &k->bytes, &k->done, err);
	else
		(void)ats_err_set(err, -rc, "Not enough memory.");
	if (rc < 0)
		return ats_err_wrap(err, "%.300s was not written", c->pl.path);
	if (k->bytes.len == c->old_n && memcmp(k->bytes.data, c->old, c->old_n) == 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "The edit changes nothing: the cell of %.300s is so already.", c->pl.path);
	return 0;
}

/* All but the writing. 0: to be written, 1: the first try of a retry had done it. */
static int
prepare(struct notebook_call *k, const struct tool_env *env,
    const struct ats_in_notebook_edit *in, struct tool_result *out, struct ats_err *err)
{
	const char *mode = in->edit_mode != NULL ? in->edit_mode : "replace";
	int rc = change_open(&k->c, env, in->notebook_path, err);

	if (rc < 0)
		return rc;
	if (k->c.t.fd < 0)
		return fs_open_error(env, &k->c.pl, ENOENT, err);
	k->edit = (struct notebook_edit){
		.mode = mode[0] == 'i'	 ? NOTEBOOK_INSERT
			: mode[0] == 'd' ? NOTEBOOK_DELETE
					 : NOTEBOOK_REPLACE,
		.cell = in->cell_id,
		.source = in->new_source,
		.type = in->cell_type,
		.new_id = k->id,
	};
	return prepare_file(k, out, err);
}

static int
commit(struct notebook_call *k, struct tool_result *out, struct ats_err *err)
{
	int rc = change_commit(&k->c, k->bytes.data, k->bytes.len, out, err);

	if (rc == 0 && report(k, out) < 0)
		rc = change_unreported(&k->c, err);
	return rc;
}

static int
end(struct notebook_call *k, int rc, const struct ats_err *err, struct tool_result *out)
{
	ats_buf_done(&k->bytes);
	return change_end(&k->c, rc, err, out);
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct notebook_call k = { .c.t = FS_TARGET_NONE };
	int rc;

	ats_buf_init(&k.bytes, 2 * CHANGE_FILE_MAX);
	rc = prepare(&k, env, input, out, &err);
	if (rc == 0)
		rc = commit(&k, out, &err);
	return end(&k, rc, &err, out);
}

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct notebook_call k = { .c.t = FS_TARGET_NONE };
	int rc;

	ats_buf_init(&k.bytes, 2 * CHANGE_FILE_MAX);
	rc = prepare(&k, env, input, out, &err);
	if (rc == 0)
		rc = say(&k, true, out);
	if (rc == 0)
		rc = change_would(&k.c, 1, out);
	return end(&k, rc, &err, out);
}

const struct tool tool_notebook_edit = { ATS_TOOL_notebook_edit, run, check };
