/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict scanner: one pass, no allocation, no recursion. Linked into every process;
 * anybody controls the bytes, so every byte costs a bounded number of steps. */
#include "common/json.h"

#include <string.h>

#include "common/json_in.h"

struct scan {
	const char *s;
	size_t n, i;
	struct ats_err *err;
	unsigned depth;
	uint64_t object;		/* bit per depth: object, else array */
	uint32_t first[ATS_JSON_DEPTH + 1];
	struct ats_json_names names;
};

static int
bad(struct scan *sc, const char *why)
{
	return ats_err_set(
	    sc->err, ATS_E_JSON, "not strict JSON at byte %zu: %s", sc->i, why);
}

static void
skip_space(struct scan *sc)
{
	while (sc->i < sc->n) {
		char c = sc->s[sc->i];

		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return;
		sc->i++;
	}
}

static int
hex4(const struct scan *sc, size_t i, unsigned *ret)
{
	unsigned v = 0;

	if (sc->n - i < 4)
		return -ATS_E_JSON;
	for (size_t k = 0; k < 4; k++) {
		char c = sc->s[i + k];

		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v |= (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			v |= (unsigned)(c - 'A') + 10;
		else
			return -ATS_E_JSON;
	}
	*ret = v;
	return 0;
}

/* At a backslash. */
static int
scan_escape(struct scan *sc)
{
	unsigned hi, lo;

	if (sc->n - sc->i < 2)
		return bad(sc, "the text ends in an escape");
	if (sc->s[sc->i + 1] != 'u') {
		if (memchr("\"\\/bfnrt", sc->s[sc->i + 1], 8) == NULL)
			return bad(sc, "unknown escape");
		sc->i += 2;
		return 0;
	}
	if (hex4(sc, sc->i + 2, &hi) < 0)
		return bad(sc, "\\u without four hex digits");
	if (hi < 0xd800 || hi > 0xdfff) {
		sc->i += 6;
		return 0;
	}
	if (hi > 0xdbff || sc->n - sc->i < 12 || sc->s[sc->i + 6] != '\\' ||
	    sc->s[sc->i + 7] != 'u' || hex4(sc, sc->i + 8, &lo) < 0 || lo < 0xdc00 ||
	    lo > 0xdfff)
		return bad(sc, "lone surrogate");
	sc->i += 12;
	return 0;
}

/* At the opening quote; leaves i after the closing one. */
static int
scan_string(struct scan *sc)
{
	unsigned len;
	int rc;

	sc->i++;
	for (;;) {
		sc->i = ats_json_plain_run(sc->s, sc->i, sc->n);
		if (sc->i >= sc->n)
			return bad(sc, "the text ends in a string");
		unsigned char c = (unsigned char)sc->s[sc->i];
		if (c == '"') {
			sc->i++;
			return 0;
		}
		if (c == '\\') {
			rc = scan_escape(sc);
			if (rc < 0)
				return rc;
		} else if (c < 0x20) {
			return bad(sc, "control character in a string");
		} else {
			len = ats_utf8_seq(sc->s + sc->i, sc->n - sc->i);
			if (len == 0)
				return ats_err_set(sc->err, ATS_E_UTF8,
				    "not valid UTF-8 at byte %zu", sc->i);
			sc->i += len;
		}
	}
}

static bool
digits(struct scan *sc)
{
	size_t start = sc->i;

	while (sc->i < sc->n && sc->s[sc->i] >= '0' && sc->s[sc->i] <= '9')
		sc->i++;
	return sc->i > start;
}

static int
scan_number(struct scan *sc)
{
	if (sc->s[sc->i] == '-')
		sc->i++;
	if (sc->i < sc->n && sc->s[sc->i] == '0')
		sc->i++;
	else if (!digits(sc))
		return bad(sc, "not a number");
	if (sc->i < sc->n && sc->s[sc->i] == '.') {
		sc->i++;
		if (!digits(sc))
			return bad(sc, "no digit after the point");
	}
	if (sc->i < sc->n && (sc->s[sc->i] == 'e' || sc->s[sc->i] == 'E')) {
		sc->i++;
		if (sc->i < sc->n && (sc->s[sc->i] == '+' || sc->s[sc->i] == '-'))
			sc->i++;
		if (!digits(sc))
			return bad(sc, "no digit in the exponent");
	}
	return 0;
}

static int
scan_word(struct scan *sc, const char *word)
{
	size_t n = strlen(word);

	if (sc->n - sc->i < n || memcmp(sc->s + sc->i, word, n) != 0)
		return bad(sc, "unexpected character");
	sc->i += n;
	return 0;
}

static int
name_add(struct scan *sc, size_t off, size_t len)
{
	switch (ats_json_names_add(&sc->names, sc->first[sc->depth], off, len)) {
	case 0:
		return 0;
	case -ATS_E_EXISTS:
		return bad(sc, "member name used twice");
	default:
		/* With more space it may do. */
		return sc->names.max < ATS_JSON_OPEN_KEYS ? -ATS_E_FULL :
		    bad(sc, "too many members");
	}
}

/* ---- structure ------------------------------------------------------------------ */
static int
open_container(struct scan *sc, bool object)
{
	if (sc->depth >= ATS_JSON_DEPTH)
		return bad(sc, "nested too deeply");
	sc->depth++;
	if (object)
		sc->object |= 1ull << sc->depth;
	else
		sc->object &= ~(1ull << sc->depth);
	sc->first[sc->depth] = sc->names.n;
	sc->i++;
	return 0;
}

static bool
in_object(const struct scan *sc)
{
	return (sc->object >> sc->depth & 1) != 0;
}

/* A member's name and its colon. */
static int
scan_name(struct scan *sc)
{
	size_t off;
	int rc;

	skip_space(sc);
	if (sc->i >= sc->n || sc->s[sc->i] != '"')
		return bad(sc, "a member name is missing");
	off = sc->i + 1;
	rc = scan_string(sc);
	if (rc == 0)
		rc = name_add(sc, off, sc->i - 1 - off);
	if (rc < 0)
		return rc;
	skip_space(sc);
	if (sc->i >= sc->n || sc->s[sc->i] != ':')
		return bad(sc, "a colon is missing");
	sc->i++;
	return 0;
}

/* One value, or the opening of a container; *ret_opened says which. */
static int
scan_value(struct scan *sc, bool *ret_opened)
{
	*ret_opened = false;
	skip_space(sc);
	if (sc->i >= sc->n)
		return bad(sc, "the text ends where a value should be");
	switch (sc->s[sc->i]) {
	case '"':
		return scan_string(sc);
	case '{':
	case '[':
		*ret_opened = true;
		return open_container(sc, sc->s[sc->i] == '{');
	case 't':
		return scan_word(sc, "true");
	case 'f':
		return scan_word(sc, "false");
	case 'n':
		return scan_word(sc, "null");
	default:
		return scan_number(sc);
	}
}

/* After a value: closes what ends here; leaves i after the comma if more members come. */
static int
scan_after(struct scan *sc)
{
	while (sc->depth > 0) {
		char close = in_object(sc) ? '}' : ']';

		skip_space(sc);
		if (sc->i >= sc->n)
			return bad(sc, "the text ends inside a container");
		if (sc->s[sc->i] == ',') {
			sc->i++;
			return in_object(sc) ? scan_name(sc) : 0;
		}
		if (sc->s[sc->i] != close)
			return bad(sc, "a comma or the end of the container is missing");
		sc->i++;
		if (close == '}')
			ats_json_names_drop(&sc->names, sc->first[sc->depth]);
		sc->depth--;
	}
	return 0;
}

/* After an opening bracket: empty containers close at once. */
static int
scan_opened(struct scan *sc, bool *ret_value_next)
{
	char close = in_object(sc) ? '}' : ']';

	skip_space(sc);
	*ret_value_next = true;
	if (sc->i < sc->n && sc->s[sc->i] == close) {
		sc->i++;
		sc->depth--;
		*ret_value_next = false;
		return 0;
	}
	return close == '}' ? scan_name(sc) : 0;
}

static int
scan_all(struct scan *sc)
{
	bool opened, value_next;
	int rc;

	do {
		rc = scan_value(sc, &opened);
		if (rc < 0)
			return rc;
		value_next = false;
		if (opened) {
			rc = scan_opened(sc, &value_next);
			if (rc < 0)
				return rc;
		}
		if (!value_next) {
			rc = scan_after(sc);
			if (rc < 0)
				return rc;
		}
	} while (sc->depth > 0);
	skip_space(sc);
	return sc->i == sc->n ? 0 : bad(sc, "bytes after the value");
}

/* sc->names has its space. */
static int
scan_from_start(struct scan *sc, const char *s, size_t n, struct ats_err *err)
{
	sc->s = s;
	sc->n = n;
	sc->i = 0;
	sc->err = err;
	sc->depth = 0;
	sc->object = 0;
	ats_json_names_init(&sc->names, s, n);
	return scan_all(sc);
}

/* A function of its own, for its stack. */
static int __attribute__((noinline))
scan_many(const char *s, size_t n, struct ats_err *err)
{
	struct ats_json_name v[ATS_JSON_OPEN_KEYS] ATS_UNINITIALIZED;
	uint16_t set[ATS_JSON_SLOTS] ATS_UNINITIALIZED;
	struct scan sc ATS_UNINITIALIZED;

	sc.names.v = v;
	sc.names.set = set;
	sc.names.max = ATS_JSON_OPEN_KEYS;
	sc.names.slots = ATS_JSON_SLOTS;
	return scan_from_start(&sc, s, n, err);
}

int
ats_json_scan(const char *s, size_t n, struct ats_err *err)
{
	/* Not cleared: a usual text touches a few lines of them. */
	struct ats_json_name v[ATS_JSON_FEW_KEYS] ATS_UNINITIALIZED;
	uint16_t set[ATS_JSON_FEW_SLOTS] ATS_UNINITIALIZED;
	struct scan sc ATS_UNINITIALIZED;
	int rc;

	if (n > UINT32_MAX / 2)
		return ats_err_set(err, ATS_E_TOOBIG, "JSON of %zu bytes", n);
	sc.names.v = v;
	sc.names.set = set;
	sc.names.max = ATS_JSON_FEW_KEYS;
	sc.names.slots = ATS_JSON_FEW_SLOTS;
	rc = scan_from_start(&sc, s, n, err);
	return rc == -ATS_E_FULL ? scan_many(s, n, err) : rc;
}
