/* SPDX-License-Identifier: Apache-2.0
 *
 * The screen of atsctl top. Process: atsctl; numbers and names are brain's, last lines of output
 * a sandbox's. */
#include "brain/ctl/top_screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brain/ctl/output.h"

static uint64_t
number(struct ats_slice object, const char *name)
{
	struct ats_json_val v;
	uint64_t n;

	return ats_json_get(object, name, &v) && ats_json_to_u64(&v, &n) == 0 ? n : 0;
}

/* At least width columns of a member's text. */
static void
put(FILE *f, struct ats_slice object, const char *name, int width)
{
	struct ats_json_val v;
	char *s = ats_json_get(object, name, &v) ? ats_json_dup_str(&v) : NULL;
	int n = s == NULL ? 1 : (int)strnlen(s, 4096);

	out_safe(f, s == NULL ? "-" : s, (size_t)n);
	for (; n < width; n++)
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

static void
sums(FILE *f, struct ats_slice status)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	uint64_t up = number(status, "up_ms") / 1000, boxes = 0, ready = 0, running = 0,
		 waiting = 0;
	uint64_t sessions = 0;

	if (first_of(status, "sandboxes", &it))
		for (; ats_json_next(&it, &key, &v); boxes++) {
			ready += ats_json_member_is(v.raw, "state", "ready");
			running += number(v.raw, "calls_running");
			waiting += number(v.raw, "calls_waiting");
		}
	if (first_of(status, "sessions", &it))
		while (ats_json_next(&it, &key, &v))
			sessions++;
	(void)fprintf(f, "engine up %" PRIu64 "h%02u   sandboxes %" PRIu64 " (%" PRIu64
	    " ready)   sessions %" PRIu64 "   clients %" PRIu64 "\n"
	    "calls running %" PRIu64 "   waiting %" PRIu64 "   for a person %" PRIu64 "\n",
	    up / 3600, (unsigned)(up / 60 % 60), boxes, ready, sessions, number(status, "clients"),
	    running, waiting, number(status, "approvals_waiting"));
}

static void
running(FILE *f, struct ats_slice status)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;

	(void)fprintf(f, "\n%-22s %-14s %-14s %-9s %9s %s\n", "CALL", "TOOL", "SESSION", "STATE",
	    "AGE", "LAST LINE");
	if (!first_of(status, "calls", &it))
		return;
	while (ats_json_next(&it, &key, &v)) {
		put(f, v.raw, "id", 22);
		put(f, v.raw, "tool", 14);
		put(f, v.raw, "session", 14);
		put(f, v.raw, "state", 9);
		put_time(f, number(v.raw, "age_ms") * 1000);
		put(f, v.raw, "last_line", 0);
		(void)fputc('\n', f);
	}
}

static void
ended_calls(FILE *f, struct ats_slice ended)
{
	static const char *const hops[] = { "total_us", "engine_queue_us", "approval_us",
		"journal_us", "wire_us", "queue_us", "worker_us", "run_us" };
	struct ats_json_iter it;
	struct ats_json_val v, t;
	struct ats_slice key;

	(void)fprintf(f, "\n%-22s %-14s %-14s %-11s %9s %9s %9s %9s %9s %9s %9s %9s\n", "ENDED",
	    "TOOL", "SESSION", "OUTCOME", "TOTAL", "WAIT", "APPROVAL", "JOURNAL", "WIRE", "QUEUE",
	    "WORKER", "RUN");
	if (!first_of(ended, "calls", &it))
		return;
	while (ats_json_next(&it, &key, &v)) {
		put(f, v.raw, "id", 22);
		put(f, v.raw, "tool", 14);
		put(f, v.raw, "session", 14);
		put(f, v.raw, ats_json_get(v.raw, "code", &t) ? "code" : "outcome", 11);
		if (ats_json_get(v.raw, "timings", &t) && t.type == ATS_JSON_OBJECT)
			for (size_t i = 0; i < ATS_ARRAY_LEN(hops); i++)
				put_time(f, number(t.raw, hops[i]));
		(void)fputc('\n', f);
	}
}

void
top_screen(FILE *f, struct ats_slice status, struct ats_slice ended)
{
	sums(f, status);
	running(f, status);
	ended_calls(f, ended);
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
	const char *end = text + n;

	for (unsigned row = 0; row < rows && text < end; row++) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl == NULL ? end : nl;

		(void)fwrite(text, 1, cut(text, (size_t)(stop - text), columns), f);
		(void)fputs(row + 1 < rows ? "\033[K\n" : "\033[K", f);
		text = nl == NULL ? end : nl + 1;
	}
	(void)fputs("\033[J", f);
}
