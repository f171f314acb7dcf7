/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile texts made visible. Process: atsctl; an agent controls the texts. */
#include "brain/ctl/safe.h"

#include <string.h>

static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f }, { 0x7f, 0xa0 },		/* C0, C1 and the blank that does not break */
	{ 0xad, 0xad },				/* soft hyphen */
	{ 0x300, 0x36f },			/* overlays: they draw on what is before them */
	{ 0x600, 0x605 }, { 0x61c, 0x61c }, { 0x6dd, 0x6dd }, { 0x70f, 0x70f },
	{ 0x890, 0x891 }, { 0x8e2, 0x8e2 },
	{ 0x115f, 0x1160 },			/* Hangul fillers */
	{ 0x1680, 0x1680 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
	{ 0x2000, 0x200f },			/* odd spaces, zero width, marks of direction */
	{ 0x2028, 0x202f },			/* separators, embeddings and overrides */
	{ 0x205f, 0x206f },			/* joiners, isolates, deprecated formats */
	{ 0x20d0, 0x20ff }, { 0x2800, 0x2800 }, { 0x3000, 0x3000 }, { 0x3164, 0x3164 },
	{ 0xd800, 0xf8ff },			/* surrogates, private use */
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xffff },
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1345f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0x10ffff },			/* tags, selectors, private use */
};

bool
safe_is_hidden(uint32_t cp)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(hidden) && hidden[i].first <= cp; i++) {
		if (cp <= hidden[i].last)
			return true;
	}
	return false;
}

static uint32_t
code_point(const unsigned char *u, unsigned n)
{
	static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t cp = u[0] & lead[n];

	for (unsigned i = 1; i < n; i++)
		cp = cp << 6 | (u[i] & 0x3f);
	return cp;
}

static int
add_escape(struct ats_buf *out, uint32_t cp)
{
	if (cp == '\n' || cp == '\t')
		return ats_buf_add_str(out, cp == '\n' ? "\\n" : "\\t");
	if (cp < 0x10000)
		return ats_buf_addf(out, "\\u%04x", cp);
	cp -= 0x10000;
	return ats_buf_addf(out, "\\u%04x\\u%04x", 0xd800 + (cp >> 10), 0xdc00 + (cp & 0x3ff));
}

/* One character of n bytes; quote is escaped, too, 0 for none. */
static int
add_char(struct ats_buf *out, const char *s, unsigned n, char quote)
{
	uint32_t cp = code_point((const unsigned char *)s, n);

	if (safe_is_hidden(cp))
		return add_escape(out, cp);
	if (cp == '\\' || (quote != 0 && cp == (unsigned char)quote)) {
		int rc = ats_buf_add_char(out, '\\');

		return rc < 0 ? rc : ats_buf_add_char(out, (char)cp);
	}
	return ats_buf_add(out, s, n);
}

int
safe_text(struct ats_buf *out, const char *s, size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n;) {
		unsigned len = ats_utf8_seq(s + i, n - i);

		rc = len > 0 ? add_char(out, s + i, len, 0) :
		    ats_buf_addf(out, "\\x%02x", (unsigned)(unsigned char)s[i]);
		i += len > 0 ? len : 1;
	}
	return rc;
}

/* raw is what stands between the quotes. */
static int
add_string(struct ats_buf *out, struct ats_slice raw)
{
	const char *p = raw.p, *end = raw.p + raw.n;
	int rc = ats_buf_add_char(out, '"');
	unsigned char u[4];
	unsigned n;

	while (rc == 0 && p < end) {
		if (*p == '\\') {
			p = ats_json_unescape_one(p, end, u, &n);
			rc = add_char(out, (const char *)u, n, '"');
		} else {
			n = ats_utf8_seq(p, (size_t)(end - p));
			if (n == 0)
				return -ATS_E_UTF8;	/* scanned text has none */
			rc = add_char(out, p, n, '"');
			p += n;
		}
	}
	return rc < 0 ? rc : ats_buf_add_char(out, '"');
}

static int
new_line(struct ats_buf *out, unsigned depth)
{
	return ats_buf_addf(out, "\n%*s", (int)(2 * depth), "");
}

/* Containers call it again: a scanned text is ATS_JSON_DEPTH deep at most. */
static int
add_value(struct ats_buf *out, const struct ats_json_val *v, unsigned depth)
{
	bool object = v->type == ATS_JSON_OBJECT, empty = true;
	struct ats_json_iter it;
	struct ats_json_val e;
	struct ats_slice key;
	int rc;

	if (v->type == ATS_JSON_STRING)
		return add_string(out, (struct ats_slice){ v->raw.p + 1, v->raw.n - 2 });
	if (!object && v->type != ATS_JSON_ARRAY)
		return ats_buf_add(out, v->raw.p, v->raw.n);
	rc = ats_buf_add_char(out, object ? '{' : '[');
	for (ats_json_iter_init(&it, v->raw); rc == 0 && ats_json_next(&it, &key, &e);) {
		rc = empty ? 0 : ats_buf_add_char(out, ',');
		empty = false;
		if (rc == 0)
			rc = new_line(out, depth + 1);
		if (rc == 0 && object)
			rc = add_string(out, key);
		if (rc == 0 && object)
			rc = ats_buf_add_str(out, ": ");
		if (rc == 0)
			rc = add_value(out, &e, depth + 1);
	}
	if (rc == 0 && !empty)
		rc = new_line(out, depth);
	return rc < 0 ? rc : ats_buf_add_char(out, object ? '}' : ']');
}

int
safe_json(struct ats_buf *out, struct ats_slice json)
{
	struct ats_json_val v = ats_json_value(json);

	return add_value(out, &v, 0);
}
