/* SPDX-License-Identifier: Apache-2.0
 *
 * MultiEdit: several replacements in one file, all or none. Runs in workers of the write
 * profile, its check in those of the read profile. */
#include "hands/tools/edit_retry.h"

#include "common/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct multi {
	struct change c;
	struct edit_text t;
	struct edit_step *steps;
	size_t n;
	size_t places;	/* replaced by all steps */
	bool creates;
};

static int
read_steps(struct multi *m, const struct ats_in_multi_edit *in, struct ats_err *err)
{
	m->n = in->n_edits;
	m->steps = ats_calloc(m->n, sizeof(*m->steps));
	if (m->steps == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	for (size_t i = 0; i < m->n; i++) {
		const struct ats_in_edits *e = &in->edits[i];

		if (e->old_string[0] != '\0' && strcmp(e->old_string, e->new_string) == 0)
			return ats_err_set(err, ATS_E_INVAL,
			    "edits[%zu]: old_string and new_string are the same; there is "
			    "nothing to do.",
			    i);
		if (i > 0 && e->old_string[0] == '\0')
			return ats_err_set(err, ATS_E_INVAL,
			    "edits[%zu]: old_string is empty; only the first edit may create "
			    "the file. Nothing was written.",
			    i);
		m->steps[i] = edit_step_make(e->old_string, e->new_string, e->replace_all);
	}
	return 0;
}

static int
apply(struct multi *m, size_t from, struct ats_err *err)
{
	int rc = 0;

	for (size_t i = from; rc == 0 && i < m->n; i++) {
		rc = edit_text_apply(&m->t, &m->steps[i], err);
		if (rc < 0)
			return ats_err_wrap(err, "edits[%zu]", i);
		m->places += m->t.places;
	}
	return rc;
}

/* The first edit is the file, the others change it before it is written. */
static int
prepare_new(struct multi *m, struct tool_result *out, struct ats_err *err)
{
	int rc = edit_text_open(&m->t, &m->c, err);

	m->t.text = m->steps[0].with;
	if (rc == 0)
		rc = apply(m, 1, err);
	return rc == 0 ? edit_may_create(&m->c, m->t.text, out, err) : rc;
}

static int
prepare_file(struct multi *m, struct tool_result *out, struct ats_err *err)
{
	struct change *c = &m->c;
	int rc = change_load(c, err);

	if (rc == 0)
		rc = edit_retry(c, m->steps, m->n, out, err);
	if (rc == 0)
		rc = change_check_seen(c, err);
	if (rc == 0)
		rc = edit_text_open(&m->t, c, err);
	if (rc == 0)
		rc = apply(m, 0, err);
	if (rc == 0 && m->t.text.n == m->t.was.n &&
	    memcmp(m->t.text.p, m->t.was.p, m->t.was.n) == 0)
		rc = ats_err_set(err, ATS_E_INVAL,
		    "The edits together change nothing in %.300s.", c->pl.path);
	return rc;
}

/* All but the writing. 0: to be written, 1: the first try of a retry had done it. */
static int
prepare(struct multi *m, const struct tool_env *env, const struct ats_in_multi_edit *in,
    struct tool_result *out, struct ats_err *err)
{
	int rc = read_steps(m, in, err);

	if (rc == 0)
		rc = change_open(&m->c, env, in->file_path, err);
	if (rc < 0)
		return rc;
	m->creates = m->steps[0].old.n == 0;
	if (m->creates)
		return prepare_new(m, out, err);
	if (m->c.t.fd < 0)
		return fs_open_error(env, &m->c.pl, ENOENT, err);
	return prepare_file(m, out, err);
}

/* did: "Edited", "Would edit". */
static int
say(const struct multi *m, const char *did, struct tool_result *out)
{
	return ats_buf_addf(&out->text, "%s %s: %zu edit%s, %zu replacement%s.\n", did,
	    m->c.pl.path, m->n, m->n == 1 ? "" : "s", m->places, m->places == 1 ? "" : "s");
}

static int
commit(struct multi *m, struct tool_result *out, struct ats_err *err)
{
	int rc;

	if (m->creates)
		return edit_create(&m->c, m->t.text, out, err);
	rc = edit_text_commit(&m->t, out, err);
	if (rc == 0 && (say(m, "Edited", out) < 0 || edit_text_report(&m->t, out) < 0))
		rc = change_unreported(&m->c, err);
	return rc;
}

static int
end(struct multi *m, int rc, const struct ats_err *err, struct tool_result *out)
{
	edit_text_done(&m->t);
	free(m->steps);
	return change_end(&m->c, rc, err, out);
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct multi m = { .c.t = FS_TARGET_NONE };
	int rc = prepare(&m, env, input, out, &err);

	if (rc == 0)
		rc = commit(&m, out, &err);
	return end(&m, rc, &err, out);
}

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct multi m = { .c.t = FS_TARGET_NONE };
	int rc = prepare(&m, env, input, out, &err);

	if (rc == 0 && m.creates)
		rc = ats_buf_addf(&out->text, "Would create %s.", m.c.pl.path);
	else if (rc == 0)
		rc = say(&m, "Would edit", out);
	if (rc == 0)
		rc = change_would(&m.c, m.creates ? 1 : m.places, out);
	return end(&m, rc, &err, out);
}

const struct tool tool_multi_edit = { ATS_TOOL_multi_edit, run, check };
