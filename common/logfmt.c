/* SPDX-License-Identifier: Apache-2.0
 *
 * logfmt. Linked into every process; values are what peers say. */
#include "common/logfmt.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 48u
static const char cut_mark[] = " cut=true";

size_t
ats_logfmt_quote(char *out, size_t size, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	size_t o = 0;

	if (size < 3) {
		if (size > 0)
			out[0] = '\0';
		return 0;
	}
	out[o++] = '"';
	for (size_t i = 0; i < n && o + 6 < size; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\') {
			out[o++] = '\\';
			out[o++] = (char)c;
		} else if (c == '\n') {
			out[o++] = '\\';
			out[o++] = 'n';
		} else if (c < ' ' || c >= 0x7f) {
			out[o++] = '\\';
			out[o++] = 'x';
			out[o++] = hex[c >> 4];
			out[o++] = hex[c & 15];
		} else {
			out[o++] = (char)c;
		}
	}
	out[o++] = '"';
	out[o] = '\0';
	return o;
}

/* ---- conversions of a format --------------------------------------------------------- */
struct text {
	char p[ATS_LOGFMT_VALUE];
	size_t n;
};
struct args {
	va_list ap;
	bool broken;		/* a conversion that is not among ours: nothing after it is known */
};

static void
add(struct text *t, const char *s, size_t n)
{
	size_t room = sizeof(t->p) - t->n;

	if (n > room)
		n = room;
	memcpy(t->p + t->n, s, n);
	t->n += n;
}

static void
add_padded(struct text *t, const char *s, size_t n, size_t width, char pad)
{
	for (size_t i = n; i < width && i < 32; i++)
		add(t, &pad, 1);
	add(t, s, n);
}

static uint64_t
next_unsigned(struct args *a, unsigned longs, bool size)
{
	if (size)
		return va_arg(a->ap, size_t);
	return longs == 0 ? va_arg(a->ap, unsigned) :
	    longs == 1	  ? va_arg(a->ap, unsigned long) :
			    va_arg(a->ap, unsigned long long);
}

static int64_t
next_signed(struct args *a, unsigned longs, bool size)
{
	if (size)
		return va_arg(a->ap, ssize_t);
	return longs == 0 ? va_arg(a->ap, int) :
	    longs == 1	  ? va_arg(a->ap, long) :
			    va_arg(a->ap, long long);
}

/* p is behind the percent sign; returns what is behind the conversion. */
static const char *
convert(struct text *t, const char *p, struct args *a)
{
	size_t width = 0, most = SIZE_MAX;
	unsigned longs = 0;
	bool size = false;
	char pad = ' ', num[32];
	const char *s;
	int n = 0;

	if (*p == '0')
		pad = *p++;
	for (; *p >= '0' && *p <= '9'; p++)
		width = width * 10 + (size_t)(*p - '0');
	if (p[0] == '.' && p[1] == '*') {
		n = va_arg(a->ap, int);
		most = n < 0 ? SIZE_MAX : (size_t)n;
		p += 2;
	}
	for (; *p == 'l'; p++)
		longs++;
	for (; *p == 'h'; p++)
		;			/* promoted to int */
	if (*p == 'z')
		size = *p++ != '\0';
	switch (*p) {
	case 's':
		s = va_arg(a->ap, const char *);
		s = s == NULL ? "" : s;
		add(t, s, strnlen(s, most < sizeof(t->p) ? most : sizeof(t->p)));
		return p + 1;
	case 'c':
		num[0] = (char)va_arg(a->ap, int);
		add(t, num, 1);
		return p + 1;
	case '%':
		add(t, p, 1);
		return p + 1;
	case 'd':
	case 'i':
		n = snprintf(num, sizeof(num), "%" PRId64, next_signed(a, longs, size));
		break;
	case 'u':
		n = snprintf(num, sizeof(num), "%" PRIu64, next_unsigned(a, longs, size));
		break;
	case 'x':
		n = snprintf(num, sizeof(num), "%" PRIx64, next_unsigned(a, longs, size));
		break;
	default:
		a->broken = true;
		return p + strlen(p);
	}
	add_padded(t, num, n < 0 ? 0 : (size_t)n, width, pad);
	return p + 1;
}

/* Up to a character of until, or the end. */
static const char *
expand(struct text *t, const char *p, const char *until, struct args *a)
{
	t->n = 0;
	while (*p != '\0' && strchr(until, *p) == NULL) {
		if (*p == '%')
			p = convert(t, p + 1, a);
		else
			add(t, p++, 1);
	}
	return p;
}

/* ---- values -------------------------------------------------------------------------- */
static bool
is_bare(const struct text *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->p[i] <= ' ' || t->p[i] > '~' || strchr("\"\\=", t->p[i]) != NULL)
			return false;
	return t->n > 0;
}

/* As ats_logfmt_quote leaves it. */
static bool
is_quoted(const struct text *t)
{
	if (t->n < 2 || t->p[0] != '"' || t->p[t->n - 1] != '"')
		return false;
	for (size_t i = 1; i + 1 < t->n; i++) {
		if (t->p[i] < ' ' || t->p[i] > '~' || t->p[i] == '"')
			return false;
		if (t->p[i] == '\\' && ++i + 1 >= t->n)
			return false;	/* it escapes the last quote */
	}
	return true;
}

static void
clean_name(struct text *t)
{
	if (t->n > NAME_MAX_BYTES)
		t->n = NAME_MAX_BYTES;
	for (size_t i = 0; i < t->n; i++) {
		char c = t->p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'))
			t->p[i] = '_';
	}
}

/* name=value into out[size]; 0 where not even a part of it fits. */
static size_t
put(char *out, size_t size, const struct text *name, const struct text *value, bool quoted)
{
	size_t o = name->n;
	bool as_is = (!quoted && is_bare(value)) || (!quoted && is_quoted(value));

	if (o + 1 + 8 > size || (as_is && o + 1 + value->n >= size))
		return 0;
	memcpy(out, name->p, o);
	out[o++] = '=';
	if (!as_is)
		return o + ats_logfmt_quote(out + o, size - o, value->p, value->n);
	memcpy(out + o, value->p, value->n);
	return o + value->n;
}

size_t
ats_logfmt_fields(char *out, size_t size, const char *fmt, va_list ap)
{
	struct text name, value;
	struct args a = { .broken = false };
	size_t n = 0, one;
	bool quoted;

	if (size > 0)
		out[0] = '\0';
	if (size <= sizeof(cut_mark))
		return 0;
	size -= sizeof(cut_mark);
	va_copy(a.ap, ap);
	while (*(fmt += strspn(fmt, " ")) != '\0') {
		fmt = expand(&name, fmt, "= ", &a);
		clean_name(&name);
		fmt += *fmt == '=';
		quoted = *fmt == '"';
		fmt = expand(&value, fmt + quoted, quoted ? "\"" : " ", &a);
		fmt += *fmt == '"';
		one = n + 1 >= size ? 0 :
		    put(out + n + (n > 0), size - n - 1, &name, &value, quoted);
		if (one == 0 || a.broken) {
			memcpy(out + n, cut_mark + (n == 0), sizeof(cut_mark) - 1 - (n == 0));
			n += sizeof(cut_mark) - 1 - (n == 0);
			break;
		}
		if (n > 0)
			out[n++] = ' ';
		n += one;
	}
	va_end(a.ap);
	out[n] = '\0';
	return n;
}
