/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls under way, and how they end. Runs in the shim; ids are the client's, results the
 * host's. */
#include "hands/shim/shim.h"

#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/fault.h"
#include "hands/shim/out.h"

struct shim_call *
shim_call_new(struct shim *s, struct ats_slice id, struct ats_slice token)
{
	struct shim_call *c = ats_calloc(1, sizeof(*c)), **last = &s->calls;

	if (c == NULL)
		return NULL;
	c->id = ats_slice_dup(id);
	c->token = token.p != NULL ? ats_slice_dup(token) : NULL;
	if (c->id == NULL || (token.p != NULL && c->token == NULL)) {
		free(c->id);
		free(c->token);
		free(c);
		return NULL;
	}
	c->number = ++s->numbers;
	while (*last != NULL)
		last = &(*last)->next;
	*last = c;
	s->ncalls++;
	return c;
}

struct shim_call *
shim_call_find(const struct shim *s, uint64_t number)
{
	struct shim_call *c = s->calls;

	while (c != NULL && c->number != number)
		c = c->next;
	return c;
}

struct shim_call *
shim_call_of(const struct shim *s, struct ats_slice id)
{
	struct shim_call *c = s->calls;

	while (c != NULL && (c->cancelled || strlen(c->id) != id.n ||
	    memcmp(c->id, id.p, id.n) != 0))
		c = c->next;
	return c;
}

void
shim_call_drop(struct shim *s, struct shim_call *c)
{
	struct shim_call **at = &s->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->ncalls--;
	free(c->id);
	free(c->token);
	free(c);
}

/* ---- results --------------------------------------------------------------------------- */
static void
begin(struct ats_json_w *w, struct ats_buf *out, const struct shim_call *c)
{
	ats_buf_init(out, SHIM_RESULT);
	ats_json_w_init(w, out);
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "jsonrpc", "2.0");
	ats_json_w_raw(w, "id", c->id, strlen(c->id));
	ats_json_w_object(w, "result");
	ats_json_w_array(w, "content");
}

/* 0, or why there is no such line. */
static int
end(struct shim *s, struct shim_call *c, struct ats_json_w *w, bool is_error)
{
	ats_json_w_end(w);
	if (is_error)
		ats_json_w_bool(w, "isError", true);
	while (w->depth > 0)
		ats_json_w_end(w);
	if (w->rc == 0) {
		out_line(s->out, w->out->data, w->out->len);
		shim_call_drop(s, c);
	}
	ats_buf_done(w->out);
	return w->rc;
}

static void
begin_text(struct ats_json_w *w)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "type", "text");
}

/* One block of text; is_raw: as JSON has it, quotes and all. */
static void
answer(struct shim *s, struct shim_call *c, bool is_error, struct ats_slice text, bool is_raw)
{
	struct ats_buf out;
	struct ats_json_w w;

	if (c->cancelled) {
		shim_call_drop(s, c);
		return;
	}
	begin(&w, &out, c);
	begin_text(&w);
	if (is_raw)
		ats_json_w_raw(&w, "text", text.p, text.n);
	else
		ats_json_w_strn(&w, "text", text.p, text.n);
	ats_json_w_end(&w);
	if (end(s, c, &w, is_error) < 0)
		shim_end(s, "out of memory");
}

void
shim_call_raw(struct shim *s, struct shim_call *c, bool is_error, struct ats_slice text)
{
	answer(s, c, is_error, text, true);
}

void
shim_call_text(struct shim *s, struct shim_call *c, bool is_error, const char *text, size_t n)
{
	answer(s, c, is_error, (struct ats_slice){ text, n }, false);
}

static void
write_image(struct ats_json_w *w, const struct ats_json_val *mime, const char *p, size_t n)
{
	ATS_CLEANUP_BUF struct ats_buf digits = { 0 };

	ats_buf_init(&digits, SHIM_RESULT);
	if (w->rc == 0)
		w->rc = ats_base64_encode(p, n, &digits);
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "type", "image");
	ats_json_w_strn(w, "data", digits.data, digits.len);
	ats_json_w_raw(w, "mimeType", mime->raw.p, mime->raw.n);
	ats_json_w_end(w);
}

static int
write_block(struct ats_json_w *w, struct ats_slice block, const char **p, size_t *left)
{
	struct ats_json_val len, mime;
	uint64_t n;

	if (!ats_json_get(block, "len", &len) || ats_json_to_u64(&len, &n) < 0 || n > *left)
		return -ATS_E_FIELD;
	if (ats_json_member_is(block, "type", "text")) {
		begin_text(w);
		ats_json_w_strn(w, "text", *p, n);
		ats_json_w_end(w);
	} else if (ats_json_member_is(block, "type", "image") &&
	    ats_json_get(block, "mime", &mime) && mime.type == ATS_JSON_STRING) {
		write_image(w, &mime, *p, n);
	} else {
		return -ATS_E_FIELD;
	}
	*p += n;
	*left -= n;
	return w->rc;
}

static int
write_blocks(struct ats_json_w *w, struct ats_slice blocks, const char *p, size_t n)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	int rc = 0;

	ats_json_iter_init(&it, blocks);
	while (rc == 0 && ats_json_next(&it, &key, &v))
		rc = v.type == ATS_JSON_OBJECT ? write_block(w, v.raw, &p, &n) : -ATS_E_FIELD;
	return rc < 0 ? rc : n > 0 ? -ATS_E_FIELD : 0;
}

void
shim_call_blocks(struct shim *s, struct shim_call *c, bool is_error, struct ats_slice blocks,
    const char *payload, size_t n)
{
	static const char odd[] = "The host's answer cannot be shown: it is too long, or its parts "
	    "do not fit together. Whether the tool ran is not known.";
	struct ats_buf out;
	struct ats_json_w w;

	if (c->cancelled || blocks.p == NULL) {
		shim_call_text(s, c, is_error, payload, n);
		return;
	}
	begin(&w, &out, c);
	if (write_blocks(&w, blocks, payload, n) < 0) {
		ats_buf_done(&out);
		shim_call_text(s, c, true, odd, sizeof(odd) - 1);
	} else if (end(s, c, &w, is_error) < 0) {
		shim_call_text(s, c, true, odd, sizeof(odd) - 1);
	}
}

void
shim_calls_fail(struct shim *s, const char *text)
{
	while (s->calls != NULL)
		shim_call_text(s, s->calls, true, text, strlen(text));
}

void
shim_call_progress(struct shim *s, struct shim_call *c, const char *message)
{
	ATS_CLEANUP_BUF struct ats_buf out = { 0 };
	struct ats_json_w w;

	if (c->token == NULL || c->cancelled)
		return;
	ats_buf_init(&out, 64u << 10);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_str(&w, "method", "notifications/progress");
	ats_json_w_object(&w, "params");
	ats_json_w_raw(&w, "progressToken", c->token, strlen(c->token));
	ats_json_w_u64(&w, "progress", ++c->progress);
	ats_json_w_str(&w, "message", message);
	while (w.depth > 0)
		ats_json_w_end(&w);
	if (w.rc == 0)
		out_line(s->out, out.data, out.len);
}
