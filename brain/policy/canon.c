/* SPDX-License-Identifier: Apache-2.0
 *
 * Canonical JSON. Linked into vault and engine; anybody controls the text. It is scanned first,
 * so depth and the number of members are bounded; what is written then is read again from the
 * scanned text, member by member in the order of their names. */
#include "brain/policy/canon.h"

#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "common/json.h"

struct member {
	struct ats_slice key;		/* still escaped */
	struct ats_json_val val;
};

struct canon {
	struct ats_buf *out;
	size_t max;			/* out->len at most */
	struct member *members;		/* of the objects that are open, the innermost last */
	size_t nmembers;
	struct ats_err *err;
};

/* ---- the order of names -------------------------------------------------------------- */

/* The next character of an escaped name; -1 at its end. */
static long
next_char(const char **p, const char *end)
{
	unsigned char c[4] = { 0 };
	unsigned n;

	if (*p >= end)
		return -1;
	if (**p == '\\') {
		*p = ats_json_unescape_one(*p, end, c, &n);
	} else {
		n = ats_utf8_seq(*p, (size_t)(end - *p));
		if (n == 0)		/* never in scanned text */
			n = 1;
		memcpy(c, *p, n);
		*p += n;
	}
	switch (n) {
	case 1:
		return c[0];
	case 2:
		return (c[0] & 0x1fL) << 6 | (c[1] & 0x3fL);
	case 3:
		return (c[0] & 0x0fL) << 12 | (c[1] & 0x3fL) << 6 | (c[2] & 0x3fL);
	default:
		return (c[0] & 0x07L) << 18 | (c[1] & 0x3fL) << 12 | (c[2] & 0x3fL) << 6 |
		       (c[3] & 0x3fL);
	}
}

/* Where a character stands among the code units of UTF-16: its own or its first half's. */
static long
first_unit(long c)
{
	return c < 0x10000 ? c : 0xd800 + ((c - 0x10000) >> 10);
}

static int
by_name(const void *va, const void *vb)
{
	const struct member *a = va, *b = vb;
	const char *pa = a->key.p, *pb = b->key.p;
	long ca, cb;

	do {
		ca = next_char(&pa, a->key.p + a->key.n);
		cb = next_char(&pb, b->key.p + b->key.n);
	} while (ca == cb && ca >= 0);
	if (first_unit(ca) != first_unit(cb))
		return first_unit(ca) < first_unit(cb) ? -1 : 1;
	return ca < cb ? -1 : ca > cb;
}

/* ---- values ----------------------------------------------------------------------------- */

static int
put(struct canon *c, const void *p, size_t n)
{
	int rc = n > c->max - c->out->len ? -ATS_E_TOOBIG : ats_buf_add(c->out, p, n);

	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(c->err, ATS_E_TOOBIG,
		    "the arguments are longer than %u bytes in canonical form", POLICY_CANON_MAX);
	return rc < 0 ? ats_err_set(c->err, -rc, "canonical JSON") : 0;
}

/* One escape of the text, in the only form that is canonical. */
static int
put_escape(struct canon *c, const char **p, const char *end)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
	unsigned char ch[4];
	const char *f;
	unsigned n;

	*p = ats_json_unescape_one(*p, end, ch, &n);
	if (n > 1 || (ch[0] >= 0x20 && ch[0] != '"' && ch[0] != '\\'))
		return put(c, ch, n);
	f = ch[0] == '\0' ? NULL : strchr(from, ch[0]);
	if (f != NULL)
		return put(c, (const char[]){ '\\', to[f - from] }, 2);
	return put(c, (const char[]){ '\\', 'u', '0', '0', hex[ch[0] >> 4], hex[ch[0] & 15] }, 6);
}

/* [p, end) is between the quotes. Nothing but escapes can be written in two ways. */
static int
put_string(struct canon *c, const char *p, const char *end)
{
	int rc = put(c, "\"", 1);

	while (rc == 0 && p < end) {
		const char *b = memchr(p, '\\', (size_t)(end - p));

		if (b == NULL)
			b = end;
		rc = put(c, p, (size_t)(b - p));
		for (p = b; rc == 0 && p < end && *p == '\\';)
			rc = put_escape(c, &p, end);
	}
	return rc < 0 ? rc : put(c, "\"", 1);
}

static int
put_number(struct canon *c, struct ats_slice token)
{
	char text[CANON_NUMBER_MAX];
	int n = canon_number(token, text, c->err);

	return n < 0 ? n : put(c, text, (size_t)n);
}

/* As deep as ats_json_scan has let it be. */
static int put_value(struct canon *c, const struct ats_json_val *v);

static int
put_array(struct canon *c, struct ats_slice raw)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	const char *comma = "[";
	int rc = 0;

	ats_json_iter_init(&it, raw);
	for (; rc == 0 && ats_json_next(&it, &key, &v); comma = ",") {
		rc = put(c, comma, 1);
		if (rc == 0)
			rc = put_value(c, &v);
	}
	if (rc == 0 && *comma == '[')
		rc = put(c, "[", 1);
	return rc < 0 ? rc : put(c, "]", 1);
}

static int
put_object(struct canon *c, struct ats_slice raw)
{
	struct member *m = c->members + c->nmembers;
	struct ats_json_iter it;
	size_t n = 0;
	int rc;

	ats_json_iter_init(&it, raw);
	while (c->nmembers + n < ATS_JSON_OPEN_KEYS && ats_json_next(&it, &m[n].key, &m[n].val))
		n++;
	if (n > 1)
		qsort(m, n, sizeof(*m), by_name);
	c->nmembers += n;
	rc = put(c, "{", 1);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (i > 0)
			rc = put(c, ",", 1);
		if (rc == 0)
			rc = put_string(c, m[i].key.p, m[i].key.p + m[i].key.n);
		if (rc == 0)
			rc = put(c, ":", 1);
		if (rc == 0)
			rc = put_value(c, &m[i].val);
	}
	c->nmembers -= n;
	return rc < 0 ? rc : put(c, "}", 1);
}

static int
put_value(struct canon *c, const struct ats_json_val *v)
{
	switch (v->type) {
	case ATS_JSON_OBJECT:
		return put_object(c, v->raw);
	case ATS_JSON_ARRAY:
		return put_array(c, v->raw);
	case ATS_JSON_STRING:
		return put_string(c, v->raw.p + 1, v->raw.p + v->raw.n - 1);
	case ATS_JSON_NUMBER:
		return put_number(c, v->raw);
	default:
		return put(c, v->raw.p, v->raw.n);	/* true, false, null */
	}
}

int
policy_canon(struct ats_slice json, struct ats_buf *out, struct ats_err *err)
{
	struct canon c = { .out = out, .max = out->len + POLICY_CANON_MAX, .err = err };
	size_t mark = out->len;
	struct ats_json_val v;
	int rc;

	if (json.n > POLICY_CANON_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "the arguments are longer than %u bytes",
		    POLICY_CANON_MAX);
	rc = ats_json_scan(json.p, json.n, err);
	if (rc < 0)
		return rc;
	c.members = ats_malloc(ATS_JSON_OPEN_KEYS * sizeof(*c.members));
	if (c.members == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "canonical JSON");
	v = ats_json_value(json);
	rc = put_value(&c, &v);
	free(c.members);
	if (rc < 0)
		ats_buf_truncate(out, mark);
	return rc;
}

void
policy_sha256(struct ats_slice canon, char ret_hex[ATS_SHA256_HEX])
{
	ats_sha256_hex(canon.p, canon.n, ret_hex);
}
