/* SPDX-License-Identifier: Apache-2.0
 *
 * What brain answers, as a runtime needs it. Process: an agent runtime; the line was scanned, its
 * members may be anything. */
#include <string.h>

#include "brain/client/client.h"

/* Appends a string's text; a NUL in it becomes U+FFFD. */
static int
add_text(struct ats_buf *out, const struct ats_json_val *v)
{
	const char *p = v->raw.p + 1, *end = v->raw.p + v->raw.n - 1, *plain;
	unsigned char c[4];
	unsigned n;
	int rc = 0;

	while (rc == 0 && p < end) {
		plain = memchr(p, '\\', (size_t)(end - p));
		if (plain == NULL)
			plain = end;
		rc = ats_buf_add(out, p, (size_t)(plain - p));
		p = plain;
		if (rc < 0 || p == end)
			break;
		p = ats_json_unescape_one(p, end, c, &n);
		rc = n == 1 && c[0] == '\0' ? ats_buf_add(out, "\xef\xbf\xbd", 3) :
		    ats_buf_add(out, c, n);
	}
	return rc;
}

/* The texts of all content blocks, a line break between them. */
static int
add_content(struct ats_buf *out, const struct ats_json_val *content)
{
	struct ats_json_val block, v;
	struct ats_json_iter it;
	struct ats_slice key;
	bool first = true;
	int rc = 0;

	if (content->type != ATS_JSON_ARRAY)
		return 0;
	ats_json_iter_init(&it, content->raw);
	while (rc == 0 && ats_json_next(&it, &key, &block)) {
		if (block.type != ATS_JSON_OBJECT || !ats_json_get(block.raw, "text", &v) ||
		    v.type != ATS_JSON_STRING)
			continue;
		if (!first)
			rc = ats_buf_add_char(out, '\n');
		if (rc == 0)
			rc = add_text(out, &v);
		first = false;
	}
	return rc;
}

/* One of our words: nothing else is a code. */
static void
take_code(struct ats_slice object, char code[40])
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v;

	ats_buf_init(&text, 39);
	if (ats_json_get(object, "code", &v) && ats_json_to_str(&v, &text) == 0 &&
	    strspn(text.data, "abcdefghijklmnopqrstuvwxyz_0123456789") == text.len)
		memcpy(code, text.data, text.len + 1);
}

static int
from_error(enum call_kind kind, struct ats_slice error, struct ats_buf *text, char code[40],
    struct ats_answer *ret)
{
	struct ats_json_val v;
	int64_t number = 0;

	ret->end = ATS_NOT_STARTED;
	ret->is_error = 1;
	if (ats_json_get(error, "code", &v) && ats_json_to_i64(&v, &number) == 0)
		memcpy(code, number == -32601 ? "unknown_method" : number == -32602 ? "bad_field" :
		    "refused", number == -32601 ? 15 : number == -32602 ? 10 : 8);
	if (ats_json_get(error, "data", &v) && v.type == ATS_JSON_OBJECT)
		take_code(v.raw, code);
	/* Of what acts, those say that it may have. */
	if (kind != CALL_VALIDATE &&
	    (strcmp(code, "sandbox_lost") == 0 || strcmp(code, "gateway_lost") == 0 ||
	        strcmp(code, "timeout") == 0 ||
	        (kind == CALL_HOOK && strcmp(code, "cancelled") == 0)))
		ret->end = ATS_UNKNOWN;
	return ats_json_get(error, "message", &v) && v.type == ATS_JSON_STRING ?
	    add_text(text, &v) : 0;
}

static enum ats_end
end_of(struct ats_slice result, enum ats_end without)
{
	struct ats_json_val v;

	if (!ats_json_get(result, "outcome", &v))
		return without;
	if (ats_json_member_is(result, "outcome", "done"))
		return ATS_DONE;
	return ats_json_member_is(result, "outcome", "not_started") ? ATS_NOT_STARTED :
								       ATS_UNKNOWN;
}

static int
from_call(struct ats_slice result, struct ats_buf *text, char code[40], struct ats_answer *ret)
{
	struct ats_json_val v;

	ret->end = end_of(result, ATS_UNKNOWN);
	ret->is_error = ret->end != ATS_DONE ||
	    (ats_json_get(result, "is_error", &v) && v.type == ATS_JSON_BOOL && v.b);
	take_code(result, code);
	if (ats_json_get(result, "ctx_delta", &v) && v.type == ATS_JSON_OBJECT) {
		ret->ctx_delta = v.raw.p;
		ret->ctx_delta_len = v.raw.n;
	}
	return ats_json_get(result, "content", &v) ? add_content(text, &v) : 0;
}

static int
from_validate(struct ats_slice result, struct ats_buf *text, char code[40],
    struct ats_answer *ret)
{
	struct ats_json_val v;
	int rc = 0;

	ret->end = ATS_DONE;
	ret->valid = ats_json_get(result, "valid", &v) && v.type == ATS_JSON_BOOL && v.b;
	ret->is_error = !ret->valid;
	take_code(result, code);
	if (ats_json_get(result, "text", &v) && v.type == ATS_JSON_STRING)
		rc = add_text(text, &v);
	if (rc == 0 && ats_json_get(result, "notice", &v) && v.type == ATS_JSON_STRING) {
		rc = text->len > 0 ? ats_buf_add_char(text, '\n') : 0;
		rc = rc == 0 ? add_text(text, &v) : rc;
	}
	return rc;
}

/* What all hooks of the event decided is in the result; the text is the reason. */
static int
from_hook(struct ats_slice result, struct ats_buf *text, char code[40], struct ats_answer *ret)
{
	struct ats_json_val v;

	ret->end = end_of(result, ATS_DONE);
	ret->is_error = ret->end != ATS_DONE;
	take_code(result, code);
	return ats_json_get(result, "reason", &v) && v.type == ATS_JSON_STRING ?
	    add_text(text, &v) : 0;
}

bool
answer_read(enum call_kind kind, struct ats_slice result, struct ats_slice error,
    struct ats_buf *text, char code[40], struct ats_answer *ret)
{
	int rc;

	*ret = (struct ats_answer){ .code = code, .result = "" };
	code[0] = '\0';
	ats_buf_reset(text);
	if (error.p != NULL) {
		rc = from_error(kind, error, text, code, ret);
	} else if (result.p == NULL) {
		ret->end = ATS_UNKNOWN;
		ret->is_error = 1;
		memcpy(code, "protocol", 9);
		rc = ats_buf_add_str(text, "brain's answer has no result; the call may have run");
	} else {
		ret->result = result.p;
		ret->result_len = result.n;
		rc = kind == CALL_TOOL	       ? from_call(result, text, code, ret)
		     : kind == CALL_VALIDATE ? from_validate(result, text, code, ret)
					     : from_hook(result, text, code, ret);
	}
	ret->text = text->data;
	ret->text_len = text->len;
	return rc == 0;
}
