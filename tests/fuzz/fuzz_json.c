/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON text. Input: which allocation fails, flags, the text; with MADE the names of an
 * object's members instead, each a length and its bytes. What the scanner accepts json-c
 * accepts, to the same values, and the writer writes again; what it refuses the reader
 * still does not leave. Of names the scanner says whether two are the same. */
#include "common/json.h"
#include "tests/fuzz/fuzz.h"

#include <json-c/json.h>

enum { MADE = 1, NARROW = 2 }; /* NARROW: the other bits say how much room */

static struct json_object *
other_tree(const char *s, size_t n)
{
	struct json_tokener *t = json_tokener_new_ex(2 * ATS_JSON_DEPTH);
	struct json_object *tree;
	char *copy = malloc(n + 1);

	FUZZ_CHECK(t != NULL && copy != NULL);
	memcpy(copy, s, n);
	copy[n] = '\0';
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	tree = json_tokener_parse_ex(t, copy, (int)n + 1);
	FUZZ_CHECK(json_tokener_get_error(t) == json_tokener_success);
	json_tokener_free(t);
	free(copy);
	return tree;
}

static void
same_number(const struct ats_json_val *v, struct json_object *o)
{
	uint64_t u = 0;
	int64_t i = 0;
	int ru = ats_json_to_u64(v, &u), ri = ats_json_to_i64(v, &i);

	FUZZ_CHECK(json_object_is_type(o, json_type_int) ||
		   json_object_is_type(o, json_type_double));
	FUZZ_CHECK(ru < 0 || ri < 0 || (uint64_t)i == u);
	if (ru == 0)
		FUZZ_CHECK(json_object_get_uint64(o) == u);
	if (ri == 0 && json_object_is_type(o, json_type_int))
		FUZZ_CHECK(json_object_get_int64(o) == i);
}

static void
same_string(const struct ats_json_val *v, struct json_object *o, struct ats_json_w *w,
    const char *key)
{
	const char *s = json_object_get_string(o);
	size_t n = (size_t)json_object_get_string_len(o);
	struct ats_buf text;
	char *dup = ats_json_dup_str(v);
	int rc;

	FUZZ_CHECK(json_object_is_type(o, json_type_string));
	ats_buf_init(&text, 1u << 20);
	rc = ats_json_to_str(v, &text);
	/* one with a NUL is none for us */
	FUZZ_CHECK(rc == 0 ? text.len == n && memcmp(text.data, s, n) == 0
			   : rc == -ATS_E_FIELD && memchr(s, '\0', n) != NULL);
	FUZZ_CHECK((dup != NULL) == (rc == 0) && (dup == NULL || strcmp(dup, s) == 0));
	FUZZ_CHECK(ats_json_key_is((struct ats_slice){ v->raw.p + 1, v->raw.n - 2 }, s) ==
		   (rc == 0));
	ats_json_w_strn(w, key, s, n);
	free(dup);
	ats_buf_done(&text);
}

/* Both trees at once, and written again. */
static void
walk(const struct ats_json_val *v, struct json_object *o, struct ats_json_w *w,
    const char *key, unsigned depth)
{
	struct ats_json_val child, found;
	struct ats_json_iter it;
	struct ats_slice k;
	struct json_object *at = NULL;
	size_t n = 0;
	int64_t i;

	FUZZ_CHECK(depth <= ATS_JSON_DEPTH);
	switch (v->type) {
	case ATS_JSON_STRING:
		same_string(v, o, w, key);
		return;
	case ATS_JSON_NUMBER:
		same_number(v, o);
		if (ats_json_to_i64(v, &i) == 0)
			ats_json_w_i64(w, key, i);
		else
			ats_json_w_raw(w, key, v->raw.p, v->raw.n);
		return;
	case ATS_JSON_BOOL:
		FUZZ_CHECK(json_object_is_type(o, json_type_boolean) &&
			   json_object_get_boolean(o) == v->b);
		ats_json_w_bool(w, key, v->b);
		return;
	case ATS_JSON_NULL:
		FUZZ_CHECK(o == NULL);
		ats_json_w_null(w, key);
		return;
	case ATS_JSON_OBJECT:
		FUZZ_CHECK(json_object_is_type(o, json_type_object));
		ats_json_w_object(w, key);
		break;
	case ATS_JSON_ARRAY:
		FUZZ_CHECK(json_object_is_type(o, json_type_array));
		ats_json_w_array(w, key);
		break;
	case ATS_JSON_END:
		FUZZ_CHECK(false);
	}
	ats_json_iter_init(&it, v->raw);
	for (; ats_json_next(&it, &k, &child); n++) {
		const char *name = NULL;

		FUZZ_CHECK(child.raw.p >= v->raw.p &&
			   child.raw.p + child.raw.n <= v->raw.p + v->raw.n);
		if (v->type == ATS_JSON_ARRAY) {
			at = json_object_array_get_idx(o, n);
		} else {
			json_object_object_foreach(o, other, value)
			{
				if (ats_json_key_is(k, other)) {
					name = other;
					at = value;
				}
			}
			if (name == NULL)
				return; /* a NUL in it */
			FUZZ_CHECK(ats_json_get(v->raw, name, &found) &&
				   found.raw.p == child.raw.p);
		}
		walk(&child, at, w, name, depth + 1);
	}
	FUZZ_CHECK(
	    n == (v->type == ATS_JSON_ARRAY ? json_object_array_length(o)
					    : (size_t)json_object_object_length(o)));
	ats_json_w_end(w);
}

static void
accepted(const char *s, size_t n, unsigned fault, size_t room)
{
	struct ats_json_val v = ats_json_value((struct ats_slice){ s, n });
	struct json_object *o, *again;
	struct ats_json_w w, narrow;
	struct ats_buf out, little;

	if (memmem(s, n, "\\u0000", 6) != NULL)
		return; /* json-c cuts names there */
	o = other_tree(s, n);
	ats_buf_init(&out, 16u << 20);
	ats_json_w_init(&w, &out);
	walk(&v, o, &w, NULL, 0);
	FUZZ_CHECK(
	    w.rc == 0 && w.depth == 0 && ats_json_scan(out.data, out.len, NULL) == 0);
	again = other_tree(out.data, out.len);
	FUZZ_CHECK(json_object_equal(o, again) || memmem(s, n, "e", 1) != NULL ||
		   memmem(s, n, "E", 1) != NULL || memchr(s, '.', n) != NULL);
	ats_buf_init(&little, room);
	ats_json_w_init(&narrow, &little);
	ats_fault_alloc(fault);
	ats_json_w_object(&narrow, NULL);
	ats_json_w_u64(&narrow, "n", n);
	ats_json_w_str(&narrow, "text", "a\n\xff");
	ats_json_w_raw(&narrow, "raw", out.data, out.len);
	ats_json_w_end(&narrow);
	ats_fault_alloc(0);
	FUZZ_CHECK(narrow.rc == 0 || narrow.rc == -ATS_E_TOOBIG ||
		   (narrow.rc == -ATS_E_NOMEM && fault > 0));
	FUZZ_CHECK(narrow.rc < 0 || ats_json_scan(little.data, little.len, NULL) == 0 ||
		   v.type >= ATS_JSON_OBJECT); /* one level more may be too deep */
	ats_buf_done(&little);
	ats_buf_done(&out);
	json_object_put(o);
	json_object_put(again);
}

/* Text that nobody has scanned. */
static void
refused(struct ats_slice raw, unsigned depth)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	struct ats_buf text;
	uint64_t u;

	ats_json_iter_init(&it, raw);
	for (unsigned n = 0; n < 64 && ats_json_next(&it, &key, &v); n++) {
		FUZZ_CHECK(v.raw.p >= raw.p && v.raw.p + v.raw.n <= raw.p + raw.n);
		FUZZ_CHECK(key.p >= raw.p && key.p + key.n <= raw.p + raw.n);
		ats_buf_init(&text, 256);
		(void)ats_json_key_is(key, "cells");
		(void)!ats_json_to_str(&v, &text);
		(void)!ats_json_to_u64(&v, &u);
		ats_buf_done(&text);
		if (depth < 4)
			refused(v.raw, depth + 1);
	}
}

static void
characters(const char *s, size_t n, unsigned fault, size_t room)
{
	struct ats_buf out, again, plain, little, shown;
	bool valid = true;
	int rc;

	ats_buf_init(&out, 64u << 10);
	ats_buf_init(&again, 64u << 10);
	ats_buf_init(&plain, 64u << 10);
	ats_buf_init(&little, room);
	for (size_t at = 0, k; valid && at < n; at += k)
		valid = (k = ats_utf8_seq(s + at, n - at)) > 0;
	FUZZ_CHECK(ats_utf8_repair(&out, s, n) == 0 &&
		   ats_utf8_cut_tail(out.data, out.len) == 0);
	FUZZ_CHECK(valid == (out.len == n && memcmp(out.data, s, n) == 0));
	FUZZ_CHECK(
	    ats_utf8_repair(&again, out.data, out.len) == 0 && fuzz_same(&out, &again));
	ats_buf_init(&shown, 4 * n + 1);
	FUZZ_CHECK(ats_utf8_show(&shown, s, n) == 0 && ats_utf8_valid(shown.data, shown.len));
	for (size_t i = 0; i < shown.len; i++)
		FUZZ_CHECK((unsigned char)shown.data[i] >= ' ' && shown.data[i] != 0x7f);
	ats_buf_done(&shown);
	ats_fault_alloc(fault);
	rc = ats_utf8_repair(&little, s, n);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 ? fuzz_same(&little, &out) : little.len == 0);
	rc = ats_json_uncomment(&plain, s, n);
	FUZZ_CHECK(rc == 0 ? plain.len == n : rc == -ATS_E_JSON);
	for (size_t i = 0; rc == 0 && i < n; i++)
		FUZZ_CHECK(
		    plain.data[i] == s[i] || (plain.data[i] == ' ' && s[i] != '\n'));
	ats_buf_done(&out);
	ats_buf_done(&again);
	ats_buf_done(&plain);
	ats_buf_done(&little);
}

/* An object whose members have the names of the input; says whether all differ. */
static bool
make_object(struct fuzz_in *in, struct ats_buf *out)
{
	struct ats_slice *names = calloc(in->n + 1, sizeof(*names));
	bool differ = true;
	struct ats_json_w w;
	size_t n = 0;

	FUZZ_CHECK(names != NULL);
	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	for (; in->n > 0 && n < ATS_JSON_MAX_KEYS; n++) {
		uint8_t how = fuzz_byte(in);
		struct ats_slice s = fuzz_bytes(in, how % 4u);
		char name[32] = "";

		/* hex, so that all are valid; one byte of three in another spelling */
		for (size_t i = 0; i < s.n; i++)
			(void)snprintf(name + strlen(name), sizeof(name) - strlen(name),
			    "%02x", (unsigned char)s.p[i]);
		for (size_t i = 0; i < n; i++)
			differ = differ &&
				 (names[i].n != s.n || memcmp(names[i].p, s.p, s.n) != 0);
		names[n] = s;
		FUZZ_CHECK(ats_buf_addf(out, "%s\"", n > 0 ? "," : "") == 0);
		for (const char *p = name; *p != '\0'; p++)
			FUZZ_CHECK(
			    ((how & 4) != 0 ? ats_buf_addf(out, "\\u%04x", (unsigned)*p)
					    : ats_buf_add_char(out, *p)) == 0);
		FUZZ_CHECK(ats_buf_add_str(out, "\":0") == 0);
	}
	FUZZ_CHECK(ats_buf_add_char(out, '}') == 0);
	free(names);
	return differ;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	size_t room = (flags & NARROW) != 0 ? flags >> 2 : 16u << 20;
	struct ats_slice text;
	struct ats_buf made;
	struct ats_err err = { 0 };
	bool differ = true;
	char *copy;
	int rc;

	if (size > 4096)
		return 0;
	ats_buf_init(&made, 1u << 20);
	if ((flags & MADE) != 0) {
		differ = make_object(&in, &made);
		text = (struct ats_slice){ made.data, made.len };
	} else {
		text = fuzz_bytes(&in, in.n);
	}
	copy = fuzz_copy(text);
	characters(copy, text.n, fault, room);
	rc = ats_json_scan(copy, text.n, &err);
	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	FUZZ_CHECK((flags & MADE) == 0 || (rc == 0) == differ);
	if (rc == 0)
		accepted(copy, text.n, fault, room);
	else
		refused((struct ats_slice){ copy, text.n }, 0);
	free(copy);
	ats_buf_done(&made);
	return 0;
}
