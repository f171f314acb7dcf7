/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said about a command that has ended. Runs in hands' front; output, cwd and
 * process names are the tool's choice and go through UTF-8 repair. */
#include "hands/front/bash_text.h"

#include "common/json.h"
#include "common/path.h"
#include "hands/front/bash.h"
#include "hands/front/bash_image.h"
#include "hands/front/bash_notes.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/front/spill.h"
#include "hands/init/roles.h"
#include "hands/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX (1u << 20)
#define NOTES_MAX (48u << 10) /* beside an image of any size that is shown */

/* ---- the text ---------------------------------------------------------------------- */
static int
add_output(const struct bash_text *t, struct ats_buf *out, bool *ret_cut)
{
	char more[sizeof(BOX_SPILL) + SPILL_NAME + 1];
	size_t start = out->len;
	int rc;

	more[0] = '\0';
	if (t->spill != NULL) {
		memcpy(more, BOX_SPILL "/", sizeof(BOX_SPILL));
		memcpy(more + sizeof(BOX_SPILL), spill_name(t->spill),
		    strlen(spill_name(t->spill)) + 1);
	}
	rc = capture_text(
	    t->text, CAPTURE_CHARS, more[0] != '\0' ? more : NULL, out, ret_cut);
	if (rc == 0 && out->len > start && out->data[out->len - 1] == '\n')
		ats_buf_truncate(out, out->len - 1);
	return rc;
}

int
bash_text_make(const struct bash_text *t, const struct outcome *o, struct ats_buf *out,
    const char **ret_cwd)
{
	bool cut = false;
	size_t start;
	int rc = outcome_line(o, t->limit_ms, out);

	*ret_cwd = NULL;
	if (rc == 0 && out->len > 0 && t->text->total > 0)
		rc = ats_buf_add_char(out, '\n');
	start = out->len;
	if (rc == 0)
		rc = add_output(t, out, &cut);
	if (rc == 0 && o->benign != NULL) {
		rc = bash_note(out, "");
		if (rc == 0)
			rc = ats_buf_addf(out, "(exit code 1: %s)", o->benign);
	} else if (rc == 0 && out->len == start) {
		rc = bash_note(out, t->text->total > 0 ? "(an empty line)"
				    : o->is_error
					? "(no output)"
					: "(The command succeeded and printed nothing.)");
	}
	if (rc == 0)
		rc = bash_notes(t, o, cut, out, ret_cwd);
	return rc;
}

/* ---- the answer -------------------------------------------------------------------- */
static void
write_side(struct ats_json_w *w, const char *key, const struct capture *c)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	bool cut;

	ats_buf_init(&text, TEXT_MAX);
	if (capture_text(c, CAPTURE_CHARS, NULL, &text, &cut) == 0)
		ats_json_w_strn(w, key, text.data, text.len);
}

/* What is true of the end beside kind, code and by whom. */
static void
write_end(const struct bash_text *t, struct ats_json_w *w)
{
	ATS_CLEANUP_BUF struct ats_buf names = { 0 };
	const struct job_exit *e = t->end->exit;

	ats_buf_init(&names, 4 * sizeof(e->names));
	if (e->survivors > 0) {
		ats_json_w_u64(w, "survivors", e->survivors);
		if (ats_utf8_show(&names, e->names, strlen(e->names)) == 0)
			ats_json_w_strn(w, "survivor_names", names.data, names.len);
	}
	if (t->end->pipe_held)
		ats_json_w_bool(w, "pipe_held", true);
	if (t->end->lost)
		ats_json_w_bool(w, "monitor_lost", true);
	if ((e->flags & EXIT_PIDS) != 0)
		ats_json_w_bool(w, "process_limit_reached", true);
	if ((e->flags & EXIT_OOM) != 0)
		ats_json_w_bool(w, "out_of_memory", true);
	if ((e->flags & EXIT_DISK) != 0)
		ats_json_w_bool(w, "disk_budget_exceeded", true);
}

static int
write_output(const struct bash_text *t, const struct outcome *o, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	if (t->side[0] != NULL) {
		write_side(&w, "stdout", t->side[0]);
		write_side(&w, "stderr", t->side[1]);
	}
	ats_json_w_str(&w, "exit_kind", outcome_kind_name(o->kind));
	ats_json_w_u64(&w, "exit_code", o->code);
	ats_json_w_str(&w, "exit_by", outcome_by_name(o->by));
	ats_json_w_u64(&w, "bytes", t->text->total);
	if (t->spill != NULL) {
		char path[sizeof(BOX_SPILL) + SPILL_NAME + 1];

		memcpy(path, BOX_SPILL "/", sizeof(BOX_SPILL));
		memcpy(path + sizeof(BOX_SPILL), spill_name(t->spill),
		    strlen(spill_name(t->spill)) + 1);
		ats_json_w_str(&w, "file", path);
	}
	write_end(t, &w);
	ats_json_w_end(&w);
	return w.rc;
}

static int
write_delta(const char *cwd, struct ats_buf *out)
{
	struct ats_CTX_DELTA d = { .cwd = cwd };

	return ats_msg_encode(&ats_shape_CTX_DELTA, &d, out, NULL);
}

/* Instead of the text, with what else there is to say behind it. */
static int
answer_image(struct call *c, struct ats_msg_RESULT *r, const struct bash_text *t,
    const struct outcome *o, const struct image *im, struct ats_buf *content)
{
	ATS_CLEANUP_BUF struct ats_buf notes = { 0 };
	const char *cwd;
	char blocks[160];
	int rc;

	ats_buf_init(&notes, NOTES_MAX);
	rc = bash_notes(t, o, false, &notes, &cwd);
	ats_buf_truncate(content, im->size);
	if (rc == 0 && notes.len > 0)
		rc = ats_buf_add(content, notes.data, notes.len);
	if (rc < 0)
		return rc;
	(void)snprintf(blocks, sizeof(blocks),
	    content->len > im->size
		? "[{\"type\":\"image\",\"mime\":\"%s\",\"len\":%zu},"
		  "{\"type\":\"text\",\"len\":%zu}]"
		: "[{\"type\":\"image\",\"mime\":\"%s\",\"len\":%zu}]",
	    im->mime, im->size, content->len - im->size);
	r->blocks = (struct ats_slice){ blocks, strlen(blocks) };
	call_answer(c, r, content->data, content->len);
	return 0;
}

/* An output that begins as an image and is none that can be shown. */
static int
note_no_image(const struct ats_err *err, struct ats_buf *out)
{
	int rc = bash_note(out, "");

	return rc < 0 ? rc
		      : ats_buf_addf(out,
			    "[The output begins as an image in a data: URL, but %s; it is "
			    "shown as text.]",
			    err->text);
}

void
bash_text_answer(struct call *c, const struct bash_text *t)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 }, output = { 0 }, delta = { 0 },
				       image = { 0 };
	struct ats_msg_RESULT r = { .has_exit_code = true };
	struct ats_err err = { 0 };
	struct outcome o;
	struct image im;
	const char *cwd = NULL;
	int rc, shown = 1;

	ats_buf_init(&text, TEXT_MAX);
	ats_buf_init(&output, 512u << 10);
	ats_buf_init(&delta, 16u << 10);
	ats_buf_init(&image, BASH_IMAGE_URL_MAX);
	outcome_decide(t->end->exit->status, t->end->exit->flags, t->end->why, t->command,
	    t->text->total > 0, &o);
	if (o.by == BY_TIMEOUT)
		o.by = t->limit_by;
	rc = bash_text_make(t, &o, &text, &cwd);
	if (rc == 0)
		rc = write_output(t, &o, &output);
	if (rc == 0 && cwd != NULL)
		rc = write_delta(cwd, &delta);
	if (rc == 0 && !o.is_error)
		shown = bash_image_of(t, &image, &im, &err);
	if (rc == 0 && shown < 0)
		rc = note_no_image(&err, &text);
	if (rc < 0) {
		call_fail(c, true, rc,
		    "The command ended, but its result could not be made: "
		    "%s.",
		    ats_err_text(rc));
		return;
	}
	r.is_error = r.has_is_error = o.is_error;
	r.code = o.err != 0 ? ats_err_name(o.err) : NULL;
	r.exit_kind = outcome_kind_name(o.kind);
	r.exit_code = o.code & 0xff;
	r.output = (struct ats_slice){ output.data, output.len };
	if (delta.len > 0)
		r.ctx_delta = (struct ats_slice){ delta.data, delta.len };
	if (shown == 0 && answer_image(c, &r, t, &o, &im, &image) == 0)
		return;
	call_answer(c, &r, text.data, text.len);
}
