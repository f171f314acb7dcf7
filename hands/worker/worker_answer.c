/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of a read or write worker. Runs in the worker, under a filter that kills; what a tool
 * found is anybody's, and is brought into its form here. */
#include "hands/worker/worker_private.h"

#include <unistd.h>

#include "common/json.h"
#include "common/log.h"

static int
make_delta(const struct run *r, struct ats_buf *out)
{
	int rc = ats_buf_add_str(out, "{\"reads\":[");

	if (rc == 0)
		rc = ats_buf_add(out, r->result.reads.data, r->result.reads.len);
	return rc < 0 ? rc : ats_buf_add_str(out, "]}");
}

/* The content is for others to make; what is in text after this is the document's path. */
static int
add_ask(const struct tool_render *d, struct ats_buf *out)
{
	struct render_ask ask = { d->first, d->last, d->pages, d->size };

	return ats_buf_add(out, &ask, sizeof ask);
}

/* The text itself where it may go as it is, else what aside is made to hold of it. */
static int
make_payload(const struct tool_result *res, struct ats_buf *aside, struct ats_slice *ret)
{
	const struct ats_buf *text = &res->text;
	bool as_it_is;
	int rc = 0;

	/* Blocks count bytes of the text as it is; the tool has seen to its form then. */
	as_it_is = res->blocks.len > 0 || ats_utf8_valid(text->data, text->len);

	if (as_it_is && res->render.fd < 0) {
		*ret = (struct ats_slice){ text->data, text->len };
		return 0;
	}
	if (res->render.fd >= 0)
		rc = add_ask(&res->render, aside);
	if (rc == 0)
		rc = as_it_is ? ats_buf_add(aside, text->data, text->len)
			      : ats_utf8_repair(aside, text->data, text->len);
	*ret = (struct ats_slice){ aside->data, aside->len };
	return rc;
}

int
worker_give(void *ctx)
{
	ATS_CLEANUP_BUF struct ats_buf aside = { 0 };
	struct run *r = ctx;
	struct tool_result *res = &r->result;
	struct ats_slice text = { "", 0 };
	int rc;

	ats_buf_init(&aside, WORKER_TEXT_MAX);
	rc = make_payload(res, &aside, &text);
	if (rc == 0)
		rc = job_reply(r->sock, REPLY_TEXT, NULL, 0, text.p, text.n);
	res->has_given = true;
	ats_buf_consume(&res->text, res->text.len);
	return rc;
}

int
worker_answer(struct run *r, uint64_t run_us)
{
	ATS_CLEANUP_BUF struct ats_buf delta = { 0 };
	ATS_CLEANUP_BUF struct ats_buf aside = { 0 };
	struct tool_result *res = &r->result;
	struct ats_slice text = { "", 0 };
	struct ats_msg_RESULT m = { .outcome = "done", .is_error = res->is_error,
		.has_is_error = res->is_error, .run_us = run_us, .has_run_us = true };
	struct ats_err err = { 0 };
	int rc = 0;

	ats_buf_init(&delta, 300u << 10);
	ats_buf_init(&aside, WORKER_TEXT_MAX);
	if (res->is_error && res->code != 0)
		m.code = ats_err_name(res->code);
	if (res->blocks.len > 0)
		m.blocks = (struct ats_slice){ res->blocks.data, res->blocks.len };
	if (res->output.len > 0)
		m.output = (struct ats_slice){ res->output.data, res->output.len };
	if (res->reads.len > 0) {
		rc = make_delta(r, &delta);
		m.ctx_delta = (struct ats_slice){ delta.data, delta.len };
	}
	if (rc == 0 && res->has_given && !res->is_error)
		rc = worker_give(r);
	if (rc == 0)
		rc = make_payload(res, &aside, &text);
	ats_buf_reset(&r->json);
	if (rc == 0)
		rc = ats_msg_encode(
		    &ats_frame_rows[ATS_FRAME_RESULT].shape, &m, &r->json, &err);
	if (rc < 0) {
		ats_log(
		    ATS_LOG_ERROR, "a result could not be made", "why=\"%s\"", err.text);
		return rc;
	}
	return job_reply_fd(r->sock, res->render.fd >= 0 ? REPLY_RENDER : REPLY_RESULT,
	    r->json.data, r->json.len, text.p, text.n, res->render.fd);
}

void
worker_progress(void *ctx, const char *message, uint64_t done)
{
	struct run *r = ctx;
	struct ats_msg_EVENT_PROGRESS m = { .message = message, .done = done,
		.has_done = done != 0 };

	ats_buf_reset(&r->json);
	if (ats_msg_encode(&ats_frame_rows[ATS_FRAME_EVENT_PROGRESS].shape, &m, &r->json,
		NULL) == 0 &&
	    job_reply(r->sock, REPLY_PROGRESS, r->json.data, r->json.len, NULL, 0) < 0)
		_exit(0);	/* nobody waits any more */
}
