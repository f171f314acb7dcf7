/* SPDX-License-Identifier: Apache-2.0
 *
 * The pull reader, over text that ats_json_scan has accepted. Linked into every process.
 * It never leaves the slice it was given, even if the text was not scanned. */
#include "common/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"

static const char *
skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* p is at an opening quote; returns the place after the closing one, or end. */
static const char *
skip_string(const char *p, const char *end)
{
	const char *start = ++p, *q, *b;

	while (p < end && (q = memchr(p, '"', (size_t)(end - p))) != NULL) {
		for (b = q; b > start && b[-1] == '\\'; b--)
			continue;
		if (((q - b) & 1) == 0)
			return q + 1;
		p = q + 1;
		start = p; /* the quote was escaped: what is before it is settled */
	}
	return end;
}

static const char *
skip_container(const char *p, const char *end)
{
	unsigned depth = 0;

	while (p < end) {
		switch (*p) {
		case '"':
			p = skip_string(p, end);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0)
				return p + 1;
			break;
		default:
			break;
		}
		p++;
	}
	return end;
}

static const char *
skip_value(const char *p, const char *end)
{
	if (p >= end)
		return end;
	if (*p == '"')
		return skip_string(p, end);
	if (*p == '{' || *p == '[')
		return skip_container(p, end);
	while (p < end && memchr(",]} \n\t\r", *p, 7) == NULL)
		p++;
	return p;
}

static enum ats_json_type
type_of(char c)
{
	switch (c) {
	case '"':
		return ATS_JSON_STRING;
	case '{':
		return ATS_JSON_OBJECT;
	case '[':
		return ATS_JSON_ARRAY;
	case 't':
	case 'f':
		return ATS_JSON_BOOL;
	case 'n':
		return ATS_JSON_NULL;
	default:
		return ATS_JSON_NUMBER;
	}
}

enum ats_json_type
ats_json_type(struct ats_slice raw)
{
	const char *end = raw.p + raw.n, *p = skip_space(raw.p, end);

	return p < end ? type_of(*p) : ATS_JSON_END;
}

struct ats_json_val
ats_json_value(struct ats_slice raw)
{
	const char *end = raw.p + raw.n, *p = skip_space(raw.p, end);
	struct ats_json_val v = { .type = ATS_JSON_END };

	if (p >= end)
		return v;
	v.type = type_of(*p);
	v.raw.p = p;
	v.raw.n = (size_t)(skip_value(p, end) - p);
	v.b = *p == 't';
	return v;
}

void
ats_json_iter_init(struct ats_json_iter *it, struct ats_slice container)
{
	const char *end = container.p + container.n, *p = skip_space(container.p, end);

	it->in_object = p < end && *p == '{';
	it->end = end;
	it->p = p < end && (*p == '{' || *p == '[') ? p + 1 : end;
}

bool
ats_json_next(struct ats_json_iter *it, struct ats_slice *ret_key,
    struct ats_json_val *ret_val)
{
	const char *p = skip_space(it->p, it->end), *q;

	if (p < it->end && *p == ',')
		p = skip_space(p + 1, it->end);
	if (p >= it->end || *p == '}' || *p == ']') {
		it->p = it->end;
		return false;
	}
	*ret_key = (struct ats_slice){ .p = p };
	if (it->in_object) {
		q = skip_string(p, it->end);
		ret_key->p = p + 1;
		ret_key->n = q - p >= 2 ? (size_t)(q - p) - 2 : 0;
		p = skip_space(q, it->end);
		if (p < it->end && *p == ':')
			p = skip_space(p + 1, it->end);
		if (p >= it->end) {
			it->p = it->end;
			return false;
		}
	}
	q = skip_value(p, it->end);
	ret_val->type = type_of(*p);
	ret_val->raw = (struct ats_slice){ .p = p, .n = (size_t)(q - p) };
	ret_val->b = *p == 't';
	it->p = q;
	return true;
}

bool
ats_json_key_is(struct ats_slice key, const char *name)
{
	size_t n = strlen(name);
	unsigned char c[4];
	unsigned nc;

	if (key.n == n && memcmp(key.p, name, n) == 0)
		return true;
	if (key.n <= n || memchr(key.p, '\\', key.n) == NULL)
		return false;
	for (const char *p = key.p, *end = key.p + key.n; p < end;) {
		if (*p == '\\') {
			p = ats_json_unescape_one(p, end, c, &nc);
		} else {
			c[0] = (unsigned char)*p++;
			nc = 1;
		}
		if (c[0] == '\0' || strncmp(name, (const char *)c, nc) != 0)
			return false;
		name += nc;
	}
	return *name == '\0';
}

bool
ats_json_get(struct ats_slice object, const char *name, struct ats_json_val *ret_val)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;

	ats_json_iter_init(&it, object);
	if (!it.in_object)
		return false;
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, name)) {
			*ret_val = v;
			return true;
		}
	}
	return false;
}

bool
ats_json_member_is(struct ats_slice object, const char *name, const char *word)
{
	struct ats_json_val v;
	size_t n = strlen(word);

	return ats_json_get(object, name, &v) && v.type == ATS_JSON_STRING &&
	    v.raw.n == n + 2 && memcmp(v.raw.p + 1, word, n) == 0;
}

int
ats_json_to_u64(const struct ats_json_val *v, uint64_t *ret)
{
	uint64_t n = 0;

	if (v->type != ATS_JSON_NUMBER || v->raw.n == 0)
		return -ATS_E_FIELD;
	for (size_t i = 0; i < v->raw.n; i++) {
		char c = v->raw.p[i];

		if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (unsigned)(c - '0'), &n))
			return -ATS_E_FIELD;
	}
	*ret = n;
	return 0;
}

int
ats_json_to_i64(const struct ats_json_val *v, int64_t *ret)
{
	struct ats_json_val a = *v;
	uint64_t n;
	int rc;

	if (v->type != ATS_JSON_NUMBER || v->raw.n == 0)
		return -ATS_E_FIELD;
	if (a.raw.p[0] != '-') {
		rc = ats_json_to_u64(&a, &n);
		if (rc < 0 || n > INT64_MAX)
			return -ATS_E_FIELD;
		*ret = (int64_t)n;
		return 0;
	}
	a.raw.p++;
	a.raw.n--;
	rc = ats_json_to_u64(&a, &n);
	if (rc < 0 || n > (uint64_t)INT64_MAX + 1)
		return -ATS_E_FIELD;
	*ret = n > INT64_MAX ? INT64_MIN : -(int64_t)n;
	return 0;
}

static unsigned
hex4(const char *p)
{
	unsigned v = 0;

	for (int k = 0; k < 4; k++) {
		unsigned c = (unsigned char)p[k];

		v = v << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

static unsigned
put_utf8(unsigned c, unsigned char out[4])
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (unsigned char)(0xc0 | c >> 6);
		out[1] = (unsigned char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (unsigned char)(0xe0 | c >> 12);
		out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (unsigned char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | c >> 18);
	out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (unsigned char)(0x80 | (c & 0x3f));
	return 4;
}

const char *
ats_json_unescape_one(
    const char *p, const char *end, unsigned char ret[4], unsigned *ret_n)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *f;
	unsigned c;

	if (end - p < 2 || (p[1] == 'u' && end - p < 6)) { /* never in scanned text */
		ret[0] = '?';
		*ret_n = 1;
		return end;
	}
	if (p[1] != 'u') {
		f = strchr(from, p[1]);
		ret[0] = (unsigned char)(f != NULL ? to[f - from] : p[1]);
		*ret_n = 1;
		return p + 2;
	}
	c = hex4(p + 2) & 0xffff;
	p += 6;
	if (c >= 0xd800 && c <= 0xdbff && end - p >= 6) {
		c = 0x10000 + ((c - 0xd800) << 10) + ((hex4(p + 2) - 0xdc00) & 0x3ff);
		p += 6;
	}
	*ret_n = put_utf8(c, ret);
	return p;
}

/* Unescapes [p, end) to out, or only counts if out is NULL. -ATS_E_FIELD on a NUL. */
static int
unescape(const char *p, const char *end, char *out, size_t *ret_n)
{
	unsigned char c[4];
	unsigned nc;
	size_t n = 0;

	while (p < end) {
		const char *b = memchr(p, '\\', (size_t)(end - p));
		size_t run = (size_t)((b != NULL ? b : end) - p);

		if (out != NULL)
			memcpy(out + n, p, run);
		n += run;
		p += run;
		if (p >= end)
			break;
		/* Several escapes in a row are usual; memchr only pays between them. */
		while (p < end && *p == '\\') {
			p = ats_json_unescape_one(p, end, c, &nc);
			if (c[0] == '\0')
				return -ATS_E_FIELD;
			if (out != NULL)
				memcpy(out + n, c, nc);
			n += nc;
		}
	}
	*ret_n = n;
	return 0;
}

static int
string_body(const struct ats_json_val *v, const char **ret_p, const char **ret_end)
{
	if (v->type != ATS_JSON_STRING || v->raw.n < 2)
		return -ATS_E_FIELD;
	*ret_p = v->raw.p + 1;
	*ret_end = v->raw.p + v->raw.n - 1;
	return 0;
}

int
ats_json_to_str(const struct ats_json_val *v, struct ats_buf *out)
{
	const char *p, *end;
	size_t n = 0;
	char *to;
	int rc = string_body(v, &p, &end);

	if (rc < 0)
		return rc;
	rc = ats_buf_reserve(out, (size_t)(end - p), &to);
	if (rc == -ATS_E_TOOBIG) {	/* it may fit all the same once unescaped */
		rc = unescape(p, end, NULL, &n);
		if (rc == 0)
			rc = ats_buf_reserve(out, n, &to);
	}
	if (rc == 0)
		rc = unescape(p, end, to, &n);
	if (rc == 0)
		ats_buf_commit(out, n);
	else if (out->base != NULL)
		out->data[out->len] = '\0';
	return rc;
}

char *
ats_json_dup_str(const struct ats_json_val *v)
{
	const char *p, *end;
	size_t n;
	char *s;

	if (string_body(v, &p, &end) < 0)
		return NULL;
	s = ats_malloc((size_t)(end - p) + 1);
	if (s == NULL)
		return NULL;
	if (unescape(p, end, s, &n) < 0) {
		free(s);
		return NULL;
	}
	s[n] = '\0';
	return s;
}

char *
ats_json_dup_key(struct ats_slice key)
{
	struct ats_json_val k = { .type = ATS_JSON_STRING,
		.raw = { .p = key.p - 1, .n = key.n + 2 } };	/* with its quotes */

	return ats_json_dup_str(&k);
}
