/* SPDX-License-Identifier: Apache-2.0
 *
 * The screen of atsctl top. Process: atsctl; numbers and names are brain's, last lines of
 * output a sandbox's. */
#include "brain/ctl/top_screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "brain/ctl/output.h"

#define ID_MAX 22 /* c- and a number of 64 bits */
#define TOOL_MAX 24
#define HINT_ROWS 5u /* fewer have no room for it */

static uint64_t
number(struct ats_slice object, const char *name)
{
	struct ats_json_val v;
	uint64_t n;

	return ats_json_get(object, name, &v) && ats_json_to_u64(&v, &n) == 0 ? n : 0;
}

/* What a table may show; those of the lowest rank are left out, whole, where a terminal
 * is too narrow. A width is of characters, without the blank behind it. */
struct column {
	const char *head;
	int width;
	unsigned rank;	 /* none twice; the highest always stays */
	bool right, out; /* numbers stand at the right */
};

/* Leaves out columns until the others fit; 0: there is no edge. */
static void
choose(struct column *c, size_t n, unsigned columns)
{
	for (;;) {
		size_t sum = 0, left = 0;
		struct column *least = NULL;

		for (size_t i = 0; i < n; i++) {
			if (c[i].out)
				continue;
			sum += (size_t)c[i].width + (left++ > 0);
			if (least == NULL || c[i].rank < least->rank)
				least = &c[i];
		}
		if (columns == 0 || sum <= columns || left <= 1)
			return;
		least->out = true;
	}
}

static void
put_heads(FILE *f, const struct column *c, size_t n)
{
	(void)fputc('\n', f);
	for (size_t i = 0; i < n; i++)
		if (!c[i].out)
			(void)fprintf(
			    f, c[i].right ? "%*s " : "%-*s ", c[i].width, c[i].head);
	(void)fputc('\n', f);
}

/* The longest text of a member in the objects of an array, between least and most. */
static int
widest(struct ats_slice from, const char *array, const char *name, int least, int most)
{
	struct ats_json_iter it;
	struct ats_json_val v, e;
	struct ats_slice key;

	if (!ats_json_get(from, array, &v) || v.type != ATS_JSON_ARRAY)
		return least;
	for (ats_json_iter_init(&it, v.raw); ats_json_next(&it, &key, &e);)
		if (ats_json_get(e.raw, name, &v) && v.raw.n > (size_t)least + 2)
			least = v.raw.n - 2 < (size_t)most ? (int)v.raw.n - 2 : most;
	return least;
}

/* A member's text, at least as wide as its column. */
static void
put(FILE *f, struct ats_slice object, const char *name, const struct column *c)
{
	struct ats_json_val v;
	char *s;
	int n;

	if (c->out)
		return;
	s = ats_json_get(object, name, &v) ? ats_json_dup_str(&v) : NULL;
	n = s == NULL ? 1 : (int)strnlen(s, 4096);
	out_safe(f, s == NULL ? "-" : s, (size_t)n);
	for (; n < c->width; n++)
		(void)fputc(' ', f);
	(void)fputc(' ', f);
	free(s);
}

static void
put_time(FILE *f, uint64_t us)
{
	if (us < 10000)
		(void)fprintf(f, "%7" PRIu64 "us ", us);
	else if (us < 10000000)
		(void)fprintf(f, "%7" PRIu64 "ms ", us / 1000);
	else
		(void)fprintf(f, "%8" PRIu64 "s ", us / 1000000);
}

static bool
first_of(struct ats_slice object, const char *name, struct ats_json_iter *it)
{
	struct ats_json_val v;

	if (!ats_json_get(object, name, &v) || v.type != ATS_JSON_ARRAY)
		return false;
	ats_json_iter_init(it, v.raw);
	return true;
}

/* One of several in a line, or in the next where this one is full. */
static void ATS_PRINTF(4, 5)
    put_sum(FILE *f, unsigned *at, unsigned columns, const char *fmt, ...)
{
	char text[100];
	unsigned n;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = (unsigned)strlen(text);
	if (*at > 0 && columns > 0 && *at + 3 + n > columns) {
		(void)fputc('\n', f);
		*at = 0;
	}
	(void)fprintf(f, "%s%s", *at > 0 ? "   " : "", text);
	*at += n + (*at > 0 ? 3 : 0);
}

static void
sums(FILE *f, struct ats_slice status, unsigned columns)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	uint64_t up = number(status, "up_ms") / 1000, boxes = 0, ready = 0, running = 0,
		 waiting = 0;
	uint64_t sessions = 0;
	unsigned at;

	if (first_of(status, "sandboxes", &it))
		for (; ats_json_next(&it, &key, &v); boxes++) {
			ready += ats_json_member_is(v.raw, "state", "ready");
			running += number(v.raw, "calls_running");
			waiting += number(v.raw, "calls_waiting");
		}
	if (first_of(status, "sessions", &it))
		while (ats_json_next(&it, &key, &v))
			sessions++;
	at = 0;
	put_sum(f, &at, columns, "engine up %" PRIu64 "h%02u", up / 3600,
	    (unsigned)(up / 60 % 60));
	put_sum(
	    f, &at, columns, "sandboxes %" PRIu64 " (%" PRIu64 " ready)", boxes, ready);
	put_sum(f, &at, columns, "sessions %" PRIu64, sessions);
	put_sum(f, &at, columns, "clients %" PRIu64, number(status, "clients"));
	(void)fputc('\n', f);
	at = 0;
	put_sum(f, &at, columns, "calls running %" PRIu64, running);
	put_sum(f, &at, columns, "waiting %" PRIu64, waiting);
	put_sum(f, &at, columns, "for a person %" PRIu64,
	    number(status, "approvals_waiting"));
	(void)fputc('\n', f);
}

static void
running(FILE *f, struct ats_slice status, int id, int tool, unsigned columns)
{
	struct column c[] = { { "CALL", id, 6, false, false },
		{ "TOOL", tool, 5, false, false }, { "SESSION", 14, 1, false, false },
		{ "STATE", 9, 4, false, false }, { "AGE", 9, 3, true, false },
		{ "LAST LINE", 9, 2, false, false } };
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;

	choose(c, ATS_ARRAY_LEN(c), columns);
	put_heads(f, c, ATS_ARRAY_LEN(c));
	if (!first_of(status, "calls", &it))
		return;
	while (ats_json_next(&it, &key, &v)) {
		put(f, v.raw, "id", &c[0]);
		put(f, v.raw, "tool", &c[1]);
		put(f, v.raw, "session", &c[2]);
		put(f, v.raw, "state", &c[3]);
		if (!c[4].out)
			put_time(f, number(v.raw, "age_ms") * 1000);
		put(f, v.raw, "last_line", &c[5]);
		(void)fputc('\n', f);
	}
}

static void
ended_calls(FILE *f, struct ats_slice ended, int id, int tool, unsigned columns)
{
	static const char *const hops[] = { "total_us", "engine_queue_us", "approval_us",
		"journal_us", "wire_us", "queue_us", "worker_us", "run_us" };
	struct column c[] = { { "ENDED", id, 12, false, false },
		{ "TOOL", tool, 11, false, false }, { "SESSION", 14, 3, false, false },
		{ "OUTCOME", 11, 10, false, false }, { "TOTAL", 9, 9, true, false },
		{ "WAIT", 9, 7, true, false }, { "APPROVAL", 9, 5, true, false },
		{ "JOURNAL", 9, 1, true, false }, { "WIRE", 9, 6, true, false },
		{ "QUEUE", 9, 4, true, false }, { "WORKER", 9, 2, true, false },
		{ "RUN", 9, 8, true, false } };
	struct ats_json_iter it;
	struct ats_json_val v, t;
	struct ats_slice key;

	choose(c, ATS_ARRAY_LEN(c), columns);
	put_heads(f, c, ATS_ARRAY_LEN(c));
	if (!first_of(ended, "calls", &it))
		return;
	while (ats_json_next(&it, &key, &v)) {
		put(f, v.raw, "id", &c[0]);
		put(f, v.raw, "tool", &c[1]);
		put(f, v.raw, "session", &c[2]);
		put(f, v.raw, ats_json_get(v.raw, "code", &t) ? "code" : "outcome",
		    &c[3]);
		if (ats_json_get(v.raw, "timings", &t) && t.type == ATS_JSON_OBJECT)
			for (size_t i = 0; i < ATS_ARRAY_LEN(hops); i++)
				if (!c[4 + i].out)
					put_time(f, number(t.raw, hops[i]));
		(void)fputc('\n', f);
	}
}

void
top_screen(FILE *f, struct ats_slice status, struct ats_slice ended, unsigned columns)
{
	int id = widest(
	    ended, "calls", "id", widest(status, "calls", "id", 8, ID_MAX), ID_MAX);
	int tool = widest(ended, "calls", "tool",
	    widest(status, "calls", "tool", 10, TOOL_MAX), TOOL_MAX);

	sums(f, status, columns);
	running(f, status, id, tool, columns);
	ended_calls(f, ended, id, tool, columns);
}

/* Bytes of the first columns characters; wide ones may pass the edge by as many. */
static size_t
cut(const char *s, size_t n, unsigned columns)
{
	size_t i = 0;

	for (unsigned at = 0; i < n && at < columns; at++)
		for (i++; i < n && ((unsigned char)s[i] & 0xc0) == 0x80; i++)
			;
	return i;
}

void
top_fit(FILE *f, const char *text, size_t n, unsigned rows, unsigned columns)
{
	static const char *const hints[] = { "q: quit   any other key: draw anew",
		"q: quit" };
	const char *end = text + n, *hint = rows < HINT_ROWS		  ? ""
					    : strlen(hints[0]) <= columns ? hints[0]
									  : hints[1];

	if (hint[0] != '\0')
		rows--;
	for (unsigned row = 0; row < rows && text < end; row++) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl == NULL ? end : nl;

		(void)fwrite(text, 1, cut(text, (size_t)(stop - text), columns), f);
		(void)fputs(row + 1 < rows ? "\033[K\n" : "\033[K", f);
		text = nl == NULL ? end : nl + 1;
	}
	(void)fputs("\033[J", f);
	if (hint[0] != '\0')
		(void)fprintf(f, "\033[%u;1H%.*s", rows + 1, (int)columns, hint);
}
