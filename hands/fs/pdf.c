/* SPDX-License-Identifier: Apache-2.0
 *
 * A glance at a PDF document: its mark, its number of pages when that is easy to see, and
 * the range of pages that a model asks for. Runs in workers of the read profile; bytes
 * and text are anybody's. Nothing is parsed here: that is a program's job which runs
 * apart. */
#include "hands/fs/pdf.h"

#include <stdlib.h>
#include <string.h>

#define MARK "%PDF-"
#define MARK_WITHIN 1024u
#define TREES_MAX 4096u	  /* nodes of page trees that are looked at */
#define NODE_BEFORE 1024u /* bytes of a node, around what names it */
#define NODE_AFTER (16u << 10)

bool
pdf_claims(const char *p, size_t n, bool is_named_so)
{
	size_t k = strlen(MARK);

	if (n >= k && memcmp(p, MARK, k) == 0)
		return true;
	return is_named_so &&
	       memmem(p, n < MARK_WITHIN ? n : MARK_WITHIN, MARK, k) != NULL;
}

/* ---- pages ------------------------------------------------------------------------- */
static bool
is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\0';
}

/* The number behind a name, or 0. */
static uint64_t
number_at(const char *p, const char *end)
{
	uint64_t v = 0;

	while (p < end && is_space(*p))
		p++;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > PDF_PAGE_LAST)
			return 0;
	}
	return v;
}

static const char *
find(const char *p, const char *end, const char *text)
{
	return p < end ? memmem(p, (size_t)(end - p), text, strlen(text)) : NULL;
}

/* A document for the web tells it at its beginning. */
static uint64_t
linearized(const char *p, const char *end)
{
	const char *limit = end - p > (long)MARK_WITHIN ? p + MARK_WITHIN : end;
	const char *at = find(p, limit, "/Linearized");
	const char *dict = at != NULL ? find(at, limit, ">>") : NULL;

	for (; dict != NULL && (at = find(at + 1, dict, "/N")) != NULL;)
		if (is_space(at[2]) || (at[2] >= '0' && at[2] <= '9'))
			return number_at(at + 2, dict);
	return 0;
}

/* The count of the page tree's node that is named at at; p is where the bytes begin. */
static uint64_t
node_count(const char *p, const char *at, const char *end)
{
	const char *from = at - p > (long)NODE_BEFORE ? at - NODE_BEFORE : p;
	const char *to = end - at > (long)NODE_AFTER ? at + NODE_AFTER : end;
	const char *obj = find(at, to, "endobj"), *next, *count;

	if (obj != NULL)
		to = obj;
	while ((next = find(from, at, "obj")) != NULL) /* the last one before it */
		from = next + 3;
	count = find(from, to, "/Count");
	return count != NULL ? number_at(count + 6, to) : 0;
}

uint64_t
pdf_page_count(const char *p, size_t n)
{
	const char *end = p + n, *at = p;
	uint64_t most = linearized(p, end);

	for (unsigned i = 0; i < TREES_MAX && (at = find(at, end, "/Pages")) != NULL;
	     i++) {
		uint64_t v = node_count(p, at, end);

		at += 6;
		if (v > most)
			most = v;
	}
	return most;
}

/* ---- what is asked for ---------------------------------------------------------------
 */
static bool
take_number(const char **s, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = *s;

	for (; *p >= '0' && *p <= '9'; p++)
		if ((v = v * 10 + (uint64_t)(*p - '0')) > PDF_PAGE_LAST)
			return false;
	if (p == *s || v == 0)
		return false;
	while (*p == ' ')
		p++;
	*s = p;
	*ret = v;
	return true;
}

int
pdf_range_parse(const char *text, struct pdf_range *ret, struct ats_err *err)
{
	const char *s = text != NULL ? text : "";
	struct pdf_range r = { 1, PDF_PAGES_FIRST };

	while (*s == ' ')
		s++;
	*ret = r;
	if (*s == '\0')
		return 0;
	if (!take_number(&s, &r.first))
		goto bad;
	r.last = r.first;
	if (*s == '-') {
		s++;
		while (*s == ' ')
			s++;
		if (*s == '\0')
			r.last = r.first + PDF_PAGES_MAX - 1;
		else if (!take_number(&s, &r.last))
			goto bad;
	}
	if (*s != '\0' || r.last < r.first)
		goto bad;
	if (r.last - r.first >= PDF_PAGES_MAX)
		return ats_err_set(err, ATS_E_FIELD,
		    "pages: %llu pages were asked for, %u at most can be shown at once",
		    (unsigned long long)(r.last - r.first + 1), PDF_PAGES_MAX);
	*ret = r;
	return 0;
bad:
	return ats_err_set(err, ATS_E_FIELD,
	    "pages: expected a page or a range of pages, counted from 1: \"3\", \"1-5\" "
	    "or \"10-\"");
}
