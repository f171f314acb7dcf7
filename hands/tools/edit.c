/* SPDX-License-Identifier: Apache-2.0
 *
 * Edit: one text in a file by another. Runs in workers of the write profile, its check in
 * those of the read profile. */
#include "hands/tools/edit_retry.h"

#include <errno.h>
#include <string.h>

struct edit_call {
	struct change c;
	struct edit_text t;
	struct ats_slice whole;	/* the file to create, or p == NULL */
};

/* did: "Edited", "Would edit". */
static int
say(const struct edit_text *t, const char *did, struct tool_result *out)
{
	static const char *const how[] = { "", " (line ends were matched leniently)",
		" (typographic quotes were matched leniently)" };

	return ats_buf_addf(&out->text, "%s %s: %zu replacement%s%s.\n", did,
	    t->c->pl.path, t->places, t->places == 1 ? "" : "s", how[t->how]);
}

static int
prepare_file(struct edit_call *k, const struct edit_step *step, struct tool_result *out,
    struct ats_err *err)
{
	struct change *c = &k->c;
	int rc = change_load(c, err);

	if (rc == 0)
		rc = edit_retry(c, step, 1, out, err);
	if (rc == 0)
		rc = change_check_seen(c, err);
	if (rc == 0)
		rc = edit_text_open(&k->t, c, err);
	return rc == 0 ? edit_text_apply(&k->t, step, err) : rc;
}

/* All but the writing. 0: to be written, 1: the first try of a retry had done it. */
static int
prepare(struct edit_call *k, const struct tool_env *env, const struct ats_in_edit *in,
    struct tool_result *out, struct ats_err *err)
{
	struct edit_step step = edit_step_make(
	    in->old_string, in->new_string, in->replace_all);
	int rc;

	if (in->old_string[0] != '\0' && strcmp(in->old_string, in->new_string) == 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "old_string and new_string are the same; there is nothing to do.");
	rc = change_open(&k->c, env, in->file_path, err);
	if (rc < 0)
		return rc;
	if (in->old_string[0] == '\0') {
		k->whole = (struct ats_slice){ in->new_string, strlen(in->new_string) };
		return edit_may_create(&k->c, k->whole, out, err);
	}
	if (k->c.t.fd < 0)
		return fs_open_error(env, &k->c.pl, ENOENT, err);
	return prepare_file(k, &step, out, err);
}

static int
commit(struct edit_call *k, struct tool_result *out, struct ats_err *err)
{
	int rc;

	if (k->whole.p != NULL)
		return edit_create(&k->c, k->whole, out, err);
	rc = edit_text_commit(&k->t, out, err);
	if (rc == 0 &&
	    (say(&k->t, "Edited", out) < 0 || edit_text_report(&k->t, out) < 0))
		rc = change_unreported(&k->c, err);
	return rc;
}

static int
end(struct edit_call *k, int rc, const struct ats_err *err, struct tool_result *out)
{
	edit_text_done(&k->t);
	return change_end(&k->c, rc, err, out);
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct edit_call k = { .c.t = FS_TARGET_NONE };
	int rc = prepare(&k, env, input, out, &err);

	if (rc == 0)
		rc = commit(&k, out, &err);
	return end(&k, rc, &err, out);
}

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct edit_call k = { .c.t = FS_TARGET_NONE };
	int rc = prepare(&k, env, input, out, &err);

	if (rc == 0 && k.whole.p != NULL)
		rc = ats_buf_addf(&out->text, "Would create %s.", k.c.pl.path);
	else if (rc == 0)
		rc = say(&k.t, "Would edit", out);
	if (rc == 0)
		rc = change_would(&k.c, k.whole.p != NULL ? 1 : k.t.places, out);
	return end(&k, rc, &err, out);
}

const struct tool tool_edit = { ATS_TOOL_edit, run, check };
