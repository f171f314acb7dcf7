/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts about background commands. Runs in hands' front; output is the tool's. */
#include "hands/front/background_text.h"

#include "common/fault.h"
#include "common/json.h"
#include "hands/front/background.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/front/spill.h"
#include "hands/front/tool_call.h"
#include "hands/init/roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (1u << 20)

static const char *
status_name(enum job_status status)
{
	static const char *const names[] = {
		[JOB_RUNNING] = "running",
		[JOB_COMPLETED] = "completed",
		[JOB_FAILED] = "failed",
		[JOB_KILLED] = "killed",
	};

	return names[status];
}

/* ---- results ----------------------------------------------------------------------- */
struct facts {
	const struct job_view *j;
	uint64_t bytes, lost;
	bool status_only;
	const char *started, *ended; /* ids for the context delta, or NULL */
};

static int
write_output(const struct facts *x, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "id", x->j->id);
	ats_json_w_str(&w, "status", status_name(x->j->status));
	if (x->j->status != JOB_RUNNING) {
		ats_json_w_u64(&w, "exit_code", x->j->exit_code);
		ats_json_w_str(&w, "exit_kind", outcome_kind_name(x->j->kind));
		ats_json_w_str(&w, "exit_by", outcome_by_name(x->j->by));
	}
	if (x->j->survivors > 0)
		ats_json_w_u64(&w, "survivors", x->j->survivors);
	if (x->j->pids)
		ats_json_w_bool(&w, "process_limit_reached", true);
	if (x->j->disk)
		ats_json_w_bool(&w, "disk_budget_exceeded", true);
	if (!x->status_only)
		ats_json_w_u64(&w, "new_bytes", x->bytes);
	if (x->lost > 0)
		ats_json_w_u64(&w, "lost_bytes", x->lost);
	ats_json_w_end(&w);
	return w.rc;
}

/* rc is how the making of the text went. */
static void
answer(struct call *c, const struct facts *x, int rc, const struct ats_buf *text)
{
	ATS_CLEANUP_BUF struct ats_buf output = { 0 }, delta = { 0 };
	struct ats_msg_RESULT r = { .outcome = "done" };
	struct ats_CTX_DELTA d = { .shell_started = x->started, .shell_ended = x->ended };

	ats_buf_init(&output, 4096);
	ats_buf_init(&delta, 4096);
	if (rc == 0)
		rc = write_output(x, &output);
	if (rc == 0 && (x->started != NULL || x->ended != NULL))
		rc = ats_msg_encode(&ats_shape_CTX_DELTA, &d, &delta, NULL);
	if (rc < 0) {
		call_fail(
		    c, true, rc, "The result could not be made: %s.", ats_err_text(rc));
		return;
	}
	r.output = (struct ats_slice){ output.data, output.len };
	if (delta.len > 0)
		r.ctx_delta = (struct ats_slice){ delta.data, delta.len };
	call_answer(c, &r, text->data, text->len);
}

void
background_text_started(struct call *c, const struct job_view *j)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct facts x = { .j = j, .started = j->id };
	int rc;

	ats_buf_init(&text, 1024);
	rc = ats_buf_addf(&text,
	    "Command running in background with ID: %s. Read its output "
	    "with BashOutput, end it with KillShell. Everything it prints is also in "
	    "%s/%s "
	    "(first and last 32 MiB).",
	    j->id, BOX_SPILL, spill_name(j->spill));
	answer(c, &x, rc, &text);
}

void
background_text_status(struct call *c, const struct job_view *j)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct facts x = { .j = j, .status_only = true };
	int rc;

	ats_buf_init(&text, 1024);
	if (j->status == JOB_RUNNING)
		rc = ats_buf_addf(&text, "%s is running.", j->id);
	else
		rc = ats_buf_addf(&text, "%s has ended (%s, exit code %u).", j->id,
		    status_name(j->status), j->exit_code);
	answer(c, &x, rc, &text);
}

void
background_text_killed(struct call *c, const struct job_view *j)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct facts x = { .j = j, .ended = j->id };
	int rc;

	ats_buf_init(&text, 1024);
	if (j->status == JOB_KILLED)
		rc = ats_buf_addf(&text,
		    "%s was ended with everything it had started "
		    "(killed, exit code %u).",
		    j->id, j->exit_code);
	else
		rc = ats_buf_addf(&text, "%s had ended already (%s, exit code %u).",
		    j->id, status_name(j->status), j->exit_code);
	answer(c, &x, rc, &text);
}

/* ---- BashOutput -------------------------------------------------------------------- */
static int
add_survivors(const struct job_view *j, struct ats_buf *out)
{
	ATS_CLEANUP_BUF struct ats_buf names = { 0 };
	int rc;

	if (j->survivors == 0)
		return 0;
	ats_buf_init(&names, 4 * sizeof(j->names));
	rc = ats_utf8_show(&names, j->names, strlen(j->names));
	return rc < 0 ? rc
		      : ats_buf_addf(out,
			    "<note>%u process%s still running when its shell ended, and ended "
			    "with it: %s. Let the shell wait for what is to go on.</note>\n",
			    j->survivors, j->survivors == 1 ? " was" : "es were",
			    names.data);
}

static int
add_frame_head(const struct job_view *j, struct ats_buf *out)
{
	int rc = ats_buf_addf(out, "<status>%s</status>\n", status_name(j->status));

	if (rc == 0 && j->status != JOB_RUNNING)
		rc = ats_buf_addf(out, "<exit_code>%u</exit_code>\n", j->exit_code);
	if (rc == 0 && j->kind == OUTCOME_OOM)
		rc = ats_buf_add_str(out, "<note>Out of memory: the kernel killed a process "
		    "of it.</note>\n");
	if (rc == 0 && j->pids)
		rc = ats_buf_add_str(out, "<note>The sandbox's process limit was reached: "
		    "processes could not be started.</note>\n");
	if (rc == 0 && j->disk)
		rc = ats_buf_add_str(out, "<note>The disk budget of workspace and HOME is "
		    "exceeded.</note>\n");
	if (rc == 0 && j->kind == OUTCOME_CPU)
		rc = ats_buf_add_str(out, "<note>Killed for the processor time it used.</note>\n");
	if (rc == 0 && j->kind == OUTCOME_FILE_SIZE)
		rc = ats_buf_add_str(
		    out, "<note>Killed for the size of a file it wrote.</note>\n");
	if (rc == 0)
		rc = add_survivors(j, out);
	if (rc == 0 && j->kind == OUTCOME_SECCOMP)
		rc = ats_buf_add_str(
		    out, "<note>Killed for a forbidden system call.</note>\n");
	if (rc == 0 && j->note[0] != '\0')
		rc = ats_buf_addf(out, "<note>%s</note>\n", j->note);
	return rc;
}

static int
add_lost(uint64_t lost, const struct spill *s, struct ats_buf *out)
{
	if (lost == 0)
		return 0;
	if (spill_error(s) != 0)
		return ats_buf_addf(out,
		    "<note>%" PRIu64 " bytes of output were not kept: "
		    "%s.</note>\n",
		    lost, ats_err_text(spill_error(s)));
	return ats_buf_addf(out,
	    "<note>%" PRIu64 " bytes of output were dropped: it printed "
	    "more than the 64 MiB that are kept.</note>\n",
	    lost);
}

static int
add_body(const char *text, size_t n, struct ats_buf *out)
{
	int rc;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n == 0)
		return ats_buf_add_str(out, "(no new output)");
	rc = ats_buf_add_str(out, "<output>\n");
	if (rc == 0)
		rc = ats_buf_add(out, text, n);
	return rc < 0 ? rc : ats_buf_add_str(out, "\n</output>");
}

/* Kept bytes in [from, to) into the capture. */
static void
feed(struct front *f, struct spill *s, uint64_t from, uint64_t to, struct capture *cap)
{
	uint64_t at;
	long n;

	while (from < to) {
		size_t want = to - from < FRONT_BLOCK_BYTES ? (size_t)(to - from)
							    : FRONT_BLOCK_BYTES;

		n = spill_read(s, from, f->block, want, &at);
		if (n <= 0 || at >= to)
			return;
		if ((uint64_t)n > to - at)
			n = (long)(to - at);
		(void)capture_add(cap, f->block, (size_t)n);
		from = at + (uint64_t)n;
	}
}

/* A running command's last character may still be on its way: it is left for the next
 * time. */
static uint64_t
whole_chars(const struct job_view *j, uint64_t end)
{
	char tail[4];
	uint64_t from = end > 4 ? end - 4 : 0, at;
	long n;

	if (j->status != JOB_RUNNING || from < j->read_to)
		from = j->read_to;
	if (j->status != JOB_RUNNING || from >= end)
		return end;
	n = spill_read(j->spill, from, tail, (size_t)(end - from), &at);
	if (n <= 0 || at != from || (uint64_t)n != end - from)
		return end;
	return end - ats_utf8_cut_tail(tail, (size_t)n);
}

/* Where the new output begins and ends, and how much of it is lost. */
static uint64_t
new_range(const struct job_view *j, uint64_t *ret_from, uint64_t *ret_lost)
{
	uint64_t total = spill_total(j->spill), at = j->read_to;
	char byte;

	*ret_from = j->read_to;
	*ret_lost = 0;
	if (spill_read(j->spill, j->read_to, &byte, 1, &at) > 0) {
		*ret_from = at;
		*ret_lost = at - j->read_to;
	} else if (total > j->read_to) {
		*ret_from = total;
		*ret_lost = total - j->read_to;
	}
	return whole_chars(j, total);
}

void
background_text_output(struct call *c, struct job_view *j)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 }, body = { 0 };
	struct facts x = { .j = j, .ended = j->status == JOB_RUNNING ? NULL : j->id };
	struct capture cap;
	char more[sizeof(BOX_SPILL) + SPILL_NAME + 1];
	uint64_t from, to = new_range(j, &from, &x.lost);
	bool cut = false;
	int rc;

	ats_buf_init(&text, TEXT_MAX);
	ats_buf_init(&body, TEXT_MAX);
	(void)snprintf(more, sizeof(more), "%s/%s", BOX_SPILL, spill_name(j->spill));
	x.bytes = to > from ? to - from : 0;
	capture_init(&cap);
	/* Head and tail are all that is shown. */
	if (x.bytes <= 2 * CAPTURE_SIDE) {
		feed(c->f, j->spill, from, to, &cap);
	} else {
		feed(c->f, j->spill, from, from + CAPTURE_SIDE, &cap);
		cap.total += x.bytes - 2 * CAPTURE_SIDE;
		feed(c->f, j->spill, to - CAPTURE_SIDE, to, &cap);
	}
	rc = capture_text(&cap, CAPTURE_CHARS, more, &body, &cut);
	capture_done(&cap);
	if (rc == 0)
		rc = add_frame_head(j, &text);
	if (rc == 0)
		rc = add_lost(x.lost, j->spill, &text);
	if (rc == 0)
		rc = add_body(body.data, body.len, &text);
	if (rc == 0)
		j->read_to = to;
	answer(c, &x, rc, &text);
}

/* ---- with a filter ----------------------------------------------------------------- */
struct filtered {
	struct job_view j; /* as it was when the output was read */
	uint64_t bytes, lost;
	char spill_note[256];
};

static void
on_filtered(struct call *c, void *wrap_ctx, struct ats_msg_RESULT *r, const char *payload,
    size_t n)
{
	struct filtered *w = wrap_ctx;
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct facts x = {
		.j = &w->j,
		.bytes = w->bytes,
		.lost = w->lost,
		.ended = w->j.status == JOB_RUNNING ? NULL : w->j.id,
	};
	int rc;

	if (r->is_error) {
		call_answer(c, r, payload, n);
		return;
	}
	ats_buf_init(&text, TEXT_MAX);
	rc = add_frame_head(&w->j, &text);
	if (rc == 0)
		rc = ats_buf_add_str(&text, w->spill_note);
	if (rc == 0)
		rc = add_body(payload, n, &text);
	answer(c, &x, rc, &text);
}

/* How much of it is told now: while the command runs, a line that has not ended is left for
 * the next time, or a filter would see neither half of it. */
static size_t
whole_lines(const struct job_view *j, const struct ats_buf *out)
{
	const char *nl;

	if (j->status != JOB_RUNNING || out->len == 0 || out->len >= BACKGROUND_FILTER_MAX)
		return out->len;
	nl = memrchr(out->data, '\n', out->len);
	return nl == NULL ? 0 : (size_t)(nl - out->data) + 1;
}

/* The newest of the new output. */
static int
gather(struct job_view *j, struct filtered *w, struct ats_buf *out)
{
	uint64_t from, to = new_range(j, &from, &w->lost), at;
	size_t rest;
	char *p;
	long n;

	w->bytes = to > from ? to - from : 0;
	if (w->bytes > BACKGROUND_FILTER_MAX) {
		w->lost += w->bytes - BACKGROUND_FILTER_MAX;
		from = to - BACKGROUND_FILTER_MAX;
	}
	while (from < to) {
		if (ats_buf_reserve(out, (size_t)(to - from), &p) < 0)
			return -ATS_E_NOMEM;
		n = spill_read(j->spill, from, p, (size_t)(to - from), &at);
		if (n <= 0 || at >= to)
			break;
		ats_buf_commit(out, (size_t)n < to - at ? (size_t)n : (size_t)(to - at));
		from = at + (uint64_t)n;
	}
	rest = out->len - whole_lines(j, out);
	ats_buf_truncate(out, out->len - rest);
	to -= rest;
	w->bytes -= rest;
	if (w->lost > 0)
		(void)snprintf(w->spill_note, sizeof(w->spill_note),
		    "<note>%" PRIu64 " bytes of output were dropped or are too far back "
				     "to be filtered; see "
		    "%s/%s.</note>\n",
		    w->lost, BOX_SPILL, spill_name(j->spill));
	j->read_to = to;
	return 0;
}

void
background_text_filter(struct call *c, struct job_view *j, const struct ats_frame *fr)
{
	ATS_CLEANUP_BUF struct ats_buf extra = { 0 };
	struct filtered *w = ats_calloc(1, sizeof(*w));
	struct ats_slice json = { fr->json, fr->head.json_len };

	ats_buf_init(&extra, BACKGROUND_FILTER_MAX + 1);
	if (w == NULL || gather(j, w, &extra) < 0) {
		free(w);
		call_fail(
		    c, true, ATS_E_NOMEM, "The output could not be read: no memory.");
		return;
	}
	w->j = *j;
	w->j.spill = NULL; /* the job may be forgotten before the worker answers */
	tool_call_run(c, ATS_PROFILE_READ, json,
	    (struct ats_slice){ extra.data, extra.len }, on_filtered, w);
}
