/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as ECMAScript writes them (Number::toString), which RFC 8785 takes: the shortest
 * digits that give the same double again. Linked into vault and engine; anybody controls the
 * text. What is given to the C library's conversions is at most 17 digits and an exponent, so
 * that their time has a bound and no locale matters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/policy/canon.h"

#define DIGITS_MAX 17		/* of a double; more are another number to an exact reader */
#define DIGITS_EXACT 15		/* so many survive a double, and are its shortest form then */
#define EXP_CLAMP 1000000	/* far beyond any double, far below overflow */
#define EXP_EXACT 307		/* within it doubles have all their bits */
#define WHOLE_MAX 9007199254740992u	/* 2^53 */
#define PLAIN_MAX 21		/* ECMAScript writes numbers below 10^21 without an exponent */

/* 0.DIGITS times 10^point; no leading or trailing zero. n = 0 is zero. */
struct decimal {
	char digits[DIGITS_MAX + 2];
	int n;
	long point;
};

static int
refuse(struct ats_err *err, struct ats_slice token, const char *why)
{
	return ats_err_set(err, ATS_E_JSON, "the number %.*s%s %s; write it as a string",
	    (int)(token.n < 40 ? token.n : 40), token.p, token.n < 40 ? "" : "...", why);
}

static long
exponent(const char *p, const char *end)
{
	bool minus = p < end && *p == '-';
	long v = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end; p++)
		if (v < EXP_CLAMP)
			v = v * 10 + (*p - '0');
	return minus ? -v : v;
}

/* False: more digits than a double has. [p, end) is a scanned number without its sign. */
static bool
read_decimal(const char *p, const char *end, struct decimal *ret)
{
	long point = 0, zeros = 0;
	bool behind = false;

	*ret = (struct decimal){ .n = 0 };
	for (; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			behind = true;
			continue;
		}
		if (*p == '0' && ret->n == 0) {
			point -= behind;
			continue;
		}
		point += !behind;
		if (*p == '0') {		/* a digit only if another follows */
			zeros++;
			continue;
		}
		if (ret->n + zeros >= DIGITS_MAX)
			return false;
		for (; zeros > 0; zeros--)
			ret->digits[ret->n++] = '0';
		ret->digits[ret->n++] = *p;
	}
	ret->point = point + (p < end ? exponent(p + 1, end) : 0);
	return true;
}

static double
to_double(const struct decimal *d)
{
	char text[DIGITS_MAX + 32];

	(void)snprintf(text, sizeof(text), "%.*se%ld", d->n, d->digits, d->point - d->n);
	return strtod(text, NULL);
}

/* v in n digits, rounded to the nearest. */
static struct decimal
rounded(double v, int n)
{
	struct decimal d = { .n = 0 };
	char text[DIGITS_MAX + 16];
	const char *e;

	(void)snprintf(text, sizeof(text), "%.*e", n - 1, v);
	e = strchr(text, 'e');
	d.digits[0] = text[0];
	if (n > 1)		/* whatever the locale puts for the point */
		memcpy(d.digits + 1, e - (n - 1), (size_t)n - 1);
	d.n = n;
	d.point = strtol(e + 1, NULL, 10) + 1;
	while (d.n > 1 && d.digits[d.n - 1] == '0')
		d.n--;
	d.digits[d.n] = '\0';
	return d;
}

/* The next number of n digits above; no carry goes beyond the first digit in what is asked. */
static bool
next_up(struct decimal *d, int n)
{
	while (d->n < n)
		d->digits[d->n++] = '0';
	for (int i = n; i-- > 0;) {
		if (d->digits[i] != '9') {
			d->digits[i]++;
			d->n = i + 1;
			return true;
		}
	}
	return false;
}

/* Whether n digits are enough for v. Below a power of two doubles are closer together than above
 * it, so that the nearest decimal can be another double's and the next one up still v's. */
static bool
is_enough(double v, int n, struct decimal *ret)
{
	*ret = rounded(v, n);
	if (to_double(ret) == v)
		return true;
	return to_double(ret) < v && next_up(ret, n) && to_double(ret) == v;
}

static struct decimal
shortest(double v, bool exact)
{
	struct decimal d, best;
	int least = exact ? DIGITS_EXACT : 1, most = DIGITS_MAX;

	best = rounded(v, DIGITS_MAX);
	while (least < most) {		/* what is enough stays enough with more digits */
		int n = (least + most) / 2;

		if (is_enough(v, n, &d)) {
			best = d;
			most = n;
		} else {
			least = n + 1;
		}
	}
	return best;
}

static int
write_decimal(const struct decimal *d, char *out)
{
	int n = d->n, point = (int)d->point, exp = point - 1, at = 0;

	if (point > 0 && point <= PLAIN_MAX) {
		int whole = point < n ? point : n;

		memcpy(out, d->digits, (size_t)whole);
		for (at = whole; at < point; at++)
			out[at] = '0';
		if (n > point) {
			out[at++] = '.';
			memcpy(out + at, d->digits + point, (size_t)(n - point));
			at += n - point;
		}
		return at;
	}
	if (point > -6 && point <= 0) {
		memcpy(out, "0.", 2);
		for (at = 2; at < 2 - point; at++)
			out[at] = '0';
		memcpy(out + at, d->digits, (size_t)n);
		return at + n;
	}
	out[at++] = d->digits[0];
	if (n > 1) {
		out[at++] = '.';
		memcpy(out + at, d->digits + 1, (size_t)n - 1);
		at += n - 1;
	}
	/* "e+NNN" and a NUL that is not ours: there is room for both */
	return at + snprintf(out + at, 8, "e%c%d", exp < 0 ? '-' : '+', abs(exp) % 1000);
}

/* Whole and above 2^53, and written without an exponent: an integer to one reader, a double to
 * the next. plain: it is written so here; else only if it would be in canonical form. */
static bool
is_too_whole(const struct decimal *d, bool plain)
{
	char text[DIGITS_MAX + 2];

	if (d->point < d->n || d->point < 16 || (d->point > PLAIN_MAX && !plain))
		return false;
	if (d->point > 16)
		return true;
	memset(text, '0', 16);
	memcpy(text, d->digits, (size_t)d->n);
	text[16] = '\0';
	return strtoull(text, NULL, 10) > WHOLE_MAX;
}

int
canon_number(struct ats_slice token, char ret[CANON_NUMBER_MAX], struct ats_err *err)
{
	const char *p = token.p, *end = token.p + token.n;
	bool minus = token.n > 0 && *p == '-', exact, plain = true;
	struct decimal d;
	double v;

	for (const char *q = p; q < end; q++)
		plain = plain && *q != '.' && *q != 'e' && *q != 'E';
	if (!read_decimal(p + minus, end, &d))
		return refuse(err, token, "has more digits than all readers keep");
	if (d.n == 0) {
		ret[0] = '0';
		return 1;
	}
	if (is_too_whole(&d, plain))
		return refuse(err, token, "is beyond 2^53, where readers round differently");
	exact = d.point > -EXP_EXACT && d.point <= EXP_EXACT;
	if (d.n > DIGITS_EXACT || !exact) {
		v = to_double(&d);
		if (v > 1.7976931348623157e308 || v == 0)
			return refuse(err, token, "is out of the range of a double");
		d = shortest(v, exact);
		if (is_too_whole(&d, false))
			return refuse(err, token,
			    "is beyond 2^53, where readers round differently");
	}
	if (minus)
		*ret = '-';
	return minus + write_decimal(&d, ret + minus);
}
