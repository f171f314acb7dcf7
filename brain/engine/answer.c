/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of calls as JSON-RPC lines. Runs in the engine; payloads are a sandbox's, of any
 * bytes. */
#include "brain/engine/answer.h"

#include <string.h>

#include "brain/engine/mcp_era.h"
#include "brain/engine/observe.h"
#include "brain/engine/rpc.h"
#include "common/base64.h"

#define BLOCKS_MAX 64

struct block {
	bool image;
	struct ats_slice mime;		/* still escaped */
	size_t len;
};

static int
block_read(struct ats_slice object, struct block *ret)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	uint64_t len = 0;
	bool typed = false, sized = false;

	memset(ret, 0, sizeof(*ret));
	ats_json_iter_init(&it, object);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "type") && v.type == ATS_JSON_STRING) {
			ret->image = v.raw.n == 7 && memcmp(v.raw.p, "\"image\"", 7) == 0;
			typed = ret->image || (v.raw.n == 6 && memcmp(v.raw.p, "\"text\"", 6) == 0);
		} else if (ats_json_key_is(key, "mime") && v.type == ATS_JSON_STRING) {
			ret->mime.p = v.raw.p + 1;
			ret->mime.n = v.raw.n - 2;
		} else if (ats_json_key_is(key, "len") && v.type == ATS_JSON_NUMBER) {
			sized = ats_json_to_u64(&v, &len) == 0 && len <= (64u << 20);
		} else {
			return -ATS_E_FIELD;
		}
	}
	ret->len = (size_t)len;
	return typed && sized && (!ret->image || ret->mime.p != NULL) ? 0 : -ATS_E_FIELD;
}

int
answer_blocks_check(struct ats_slice blocks, size_t payload_len, struct ats_err *err)
{
	struct ats_json_val v = ats_json_value(blocks);
	struct ats_json_iter it;
	struct ats_slice key;
	struct block b;
	size_t sum = 0;
	unsigned n = 0;

	if (v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "result.blocks: expected an array");
	ats_json_iter_init(&it, blocks);
	while (ats_json_next(&it, &key, &v)) {
		if (v.type != ATS_JSON_OBJECT || ++n > BLOCKS_MAX || block_read(v.raw, &b) < 0)
			return ats_err_set(err, ATS_E_FIELD, "result.blocks: a bad block");
		sum += b.len;
	}
	if (sum != payload_len)
		return ats_err_set(err, ATS_E_FIELD, "result.blocks: lengths do not add up");
	return 0;
}

static void
write_image(struct ats_json_w *w, const struct block *b, const char *p)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "type", "image");
	/* The mime text was scanned with the result: it may go out as it is. */
	ats_json_w_raw(w, "mimeType", b->mime.p - 1, b->mime.n + 2);
	ats_json_w_raw(w, "data", "\"", 1);
	if (w->rc == 0)
		w->rc = ats_base64_encode(p, b->len, w->out);
	if (w->rc == 0)
		w->rc = ats_buf_add_char(w->out, '"');
	ats_json_w_end(w);
}

static void
write_text(struct ats_json_w *w, const char *p, size_t n)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "type", "text");
	ats_json_w_strn(w, "text", p, n);
	ats_json_w_end(w);
}

static void
write_content(struct ats_json_w *w, const struct outcome *o, const char *notice)
{
	const char *p = o->payload.p == NULL ? "" : o->payload.p;
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	struct block b;

	ats_json_w_array(w, "content");
	if (o->blocks.p == NULL)
		write_text(w, p, o->payload.n);
	else {
		ats_json_iter_init(&it, o->blocks);
		while (ats_json_next(&it, &key, &v)) {
			if (block_read(v.raw, &b) < 0)
				continue;	/* checked when it came */
			if (b.image)
				write_image(w, &b, p);
			else
				write_text(w, p, b.len);
			p += b.len;
		}
	}
	if (notice != NULL)
		write_text(w, notice, strlen(notice));
	ats_json_w_end(w);
}

static void
write_exit(struct ats_json_w *w, const struct outcome *o)
{
	if (o->exit_kind == NULL)
		return;
	ats_json_w_object(w, "exit");
	ats_json_w_str(w, "kind", o->exit_kind);
	if (o->has_exit_code)
		ats_json_w_u64(w, "code", o->exit_code);
	ats_json_w_end(w);
}

static void
write_ours(struct ats_json_w *w, enum call_form form, uint64_t call, const struct outcome *o,
    const char *notice)
{
	char id[32] = "c-";
	char digits[24];
	size_t n = sizeof(digits);
	uint64_t rest = call;

	digits[--n] = '\0';
	do {
		digits[--n] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	memcpy(id + 2, digits + n, sizeof(digits) - n);
	ats_json_w_str(w, "call", id);
	ats_json_w_str(w, "outcome", outcome_name(o->kind));
	ats_json_w_bool(w, "is_error", o->is_error);
	if (o->code != 0)
		ats_json_w_str(w, "code", ats_err_name(o->code));
	if (form == CALL_FORM_ATS || o->is_error)
		write_content(w, o, notice);
	if (o->output.p != NULL)
		ats_json_w_raw(w, "output", o->output.p, o->output.n);
	write_exit(w, o);
	if (o->ctx_delta.p != NULL)
		ats_json_w_raw(w, "ctx_delta", o->ctx_delta.p, o->ctx_delta.n);
	observe_write_timings(w, &o->t);
}

/* A verdict, or an error when there is none. */
static void
write_verdict(struct ats_json_w *w, const struct outcome *o, const char *notice)
{
	const char *text = o->payload.p == NULL ? "" : o->payload.p;

	if (o->kind != OUTCOME_DONE) {
		rpc_error_write(w, o->code != 0 ? o->code : ATS_E_NOT_STARTED, text,
		    o->payload.n);
		return;
	}
	ats_json_w_object(w, "result");
	ats_json_w_bool(w, "valid", !o->is_error);
	if (o->is_error && o->code != 0)
		ats_json_w_str(w, "code", ats_err_name(o->code));
	ats_json_w_strn(w, "text", text, o->payload.n);
	if (notice != NULL)
		ats_json_w_str(w, "notice", notice);
	if (o->output.p != NULL)
		ats_json_w_raw(w, "output", o->output.p, o->output.n);
	ats_json_w_end(w);
}

int
answer_write(struct ats_buf *out, enum call_form form, const char *id, uint64_t call,
    const struct outcome *o, const char *notice)
{
	struct ats_json_w w;
	char *unused;

	/* Room for about all of it: growing step by step copies it as often. Without it the
	 * writer says what is wrong. */
	(void)!ats_buf_reserve(out, o->payload.n + o->payload.n / 16 + 512, &unused);
	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_raw(&w, "jsonrpc", "\"2.0\"", 5);
	ats_json_w_raw(&w, "id", id, strlen(id));
	if (form == CALL_FORM_VALIDATE) {
		write_verdict(&w, o, notice);
	} else {
		ats_json_w_object(&w, "result");
		if (form == CALL_FORM_MODERN)
			mcp_write_type(&w);
		if (form == CALL_FORM_MCP || form == CALL_FORM_MODERN) {
			write_content(&w, o, notice);
			ats_json_w_bool(&w, "isError", o->is_error);
			if (form == CALL_FORM_MODERN)
				mcp_write_meta(&w);
		} else {
			write_ours(&w, form, call, o, notice);
		}
		ats_json_w_end(&w);
	}
	ats_json_w_end(&w);
	return ats_json_w_line(&w);
}
