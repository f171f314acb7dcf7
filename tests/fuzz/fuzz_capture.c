/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of a command. Input: which allocation fails, flags, how many characters may
 * be shown, how often the bytes come again, how long the pieces are, then the bytes. The
 * text is valid UTF-8 and the same whatever the pieces were; it is all of the output, or
 * its head and its tail around the marker. */
#include "common/json.h"
#include "hands/front/capture.h"
#include "hands/fs/text.h"
#include "tests/fuzz/fuzz.h"

enum { MANY = 1, NAMED = 2, NARROW = 4 };

static size_t
characters(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)p[i] & 0xc0) != 0x80;
	return count;
}

static int
fill(struct capture *c, struct ats_slice all, size_t piece)
{
	int rc = 0;

	capture_init(c);
	for (size_t at = 0; at < all.n; at += piece) {
		int one =
		    capture_add(c, all.p + at, all.n - at < piece ? all.n - at : piece);

		rc = rc < 0 ? rc : one;
	}
	FUZZ_CHECK(c->total == all.n);
	return rc;
}

/* Of a text that was cut: what stands before and behind the marker. */
static void
check_cut(struct ats_slice all, const struct ats_buf *text, size_t max, const char *more)
{
	const char *mark = strstr(text->data, "\n\n[... cut: "), *end, *last = NULL;
	struct ats_buf repaired;
	unsigned long long total;
	size_t head, tail;

	/* the output may hold one of its own */
	for (; mark != NULL; mark = strstr(mark + 1, "\n\n[... cut: "))
		if (sscanf(mark, "\n\n[... cut: %llu bytes", &total) == 1 &&
		    total == all.n)
			last = last == NULL ? mark : last;
	if (last == NULL || memchr(text->data, '\0', text->len) != NULL ||
	    memmem(all.p, all.n, "[... cut", 8) != NULL)
		return;
	end = strstr(last, " ...]\n\n");
	FUZZ_CHECK(end != NULL && (more == NULL || memmem(last, (size_t)(end - last),
						       more, strlen(more)) != NULL));
	end += 7;
	head = (size_t)(last - text->data);
	tail = text->len - (size_t)(end - text->data);
	FUZZ_CHECK(
	    characters(text->data, head) == max / 2 && characters(end, tail) == max / 2);
	ats_buf_init(&repaired, 8u << 20);
	FUZZ_CHECK(ats_utf8_repair(&repaired, all.p, all.n) == 0);
	FUZZ_CHECK(memcmp(repaired.data, text->data, head) == 0);
	if (text_is_utf8(all.p, all.n))
		FUZZ_CHECK(memcmp(repaired.data + repaired.len - tail, end, tail) == 0);
	ats_buf_done(&repaired);
}

static void
check_last_line(const struct capture *c)
{
	char line[64], small[5];

	FUZZ_CHECK(capture_last_line(c, line, sizeof(line)) == line);
	FUZZ_CHECK(strlen(line) < sizeof(line) && text_is_utf8(line, strlen(line)));
	FUZZ_CHECK(strpbrk(line, "\n\r") == NULL);
	(void)capture_last_line(c, small, sizeof(small));
	FUZZ_CHECK(strlen(small) < sizeof(small) && text_is_utf8(small, strlen(small)));
	FUZZ_CHECK(strncmp(line, small, strlen(small)) == 0);
}

static void
check(struct ats_slice all, size_t piece, size_t max, const char *more)
{
	struct capture c, d;
	struct ats_buf text, other, raw;
	bool cut, cut_too;

	ats_buf_init(&text, 8u << 20);
	ats_buf_init(&other, 8u << 20);
	ats_buf_init(&raw, 8u << 20);
	FUZZ_CHECK(fill(&c, all, piece) == 0 && fill(&d, all, all.n + 1) == 0);
	FUZZ_CHECK(capture_text(&c, max, more, &text, &cut) == 0);
	FUZZ_CHECK(capture_text(&d, max, more, &other, &cut_too) == 0);
	FUZZ_CHECK(cut == cut_too && fuzz_same(&text, &other));
	FUZZ_CHECK(text_is_utf8(text.data, text.len));
	ats_buf_truncate(&other, 0);
	FUZZ_CHECK(ats_utf8_repair(&other, all.p, all.n) == 0);
	FUZZ_CHECK(capture_whole(&c) == (all.n <= 2 * CAPTURE_SIDE));
	FUZZ_CHECK(
	    cut == (!capture_whole(&c) || characters(other.data, other.len) > max));
	if (cut)
		check_cut(all, &text, max, more);
	else
		FUZZ_CHECK(fuzz_same(&text, &other));
	if (capture_whole(&c)) {
		FUZZ_CHECK(capture_raw(&c, &raw) == 0);
		FUZZ_CHECK(raw.len == all.n && memcmp(raw.data, all.p, all.n) == 0);
	} else {
		FUZZ_CHECK(capture_raw(&c, &raw) == -ATS_E_TOOBIG && raw.len == 0);
	}
	check_last_line(&c);
	capture_done(&c);
	capture_done(&d);
	ats_buf_done(&text);
	ats_buf_done(&other);
	ats_buf_done(&raw);
}

/* Without memory bytes may be missing, but not in the middle of what is called whole. */
static void
check_fault(struct ats_slice all, size_t piece, size_t max, unsigned fault, size_t room)
{
	struct capture c;
	struct ats_buf text;
	char line[32];
	bool cut;
	int rc;

	ats_buf_init(&text, room);
	ats_fault_alloc(fault);
	(void)fill(&c, all, piece);
	rc = capture_text(&c, max, NULL, &text, &cut);
	(void)capture_last_line(&c, line, sizeof(line));
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || rc == -ATS_E_NOMEM || rc == -ATS_E_TOOBIG);
	FUZZ_CHECK(text_is_utf8(line, strlen(line)));
	FUZZ_CHECK(rc < 0 || text_is_utf8(text.data, text.len));
	ats_buf_done(&text);
	capture_done(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	size_t max = fuzz_byte(&in) * ((flags & MANY) != 0 ? 128u : 2u);
	size_t times = 1u + fuzz_byte(&in), piece = 1u + fuzz_byte(&in);
	struct ats_slice bytes = fuzz_bytes(&in, in.n), all;
	struct ats_buf many;

	if (size > 2048 || bytes.n == 0)
		return 0;
	ats_buf_init(&many, 1u << 20);
	times = (flags & MANY) != 0 ? times % 144 * 1024 / bytes.n + 1 : 1;
	if (times > 1)
		piece = piece * 397;
	while (times-- > 0)
		FUZZ_CHECK(ats_buf_add(&many, bytes.p, bytes.n) == 0);
	all = (struct ats_slice){ many.data, many.len };
	check(all, piece, max, (flags & NAMED) != 0 ? "/run/ats/spill/1.out" : NULL);
	if (fault > 0 || (flags & NARROW) != 0)
		check_fault(
		    all, piece, max, fault, (flags & NARROW) != 0 ? max : 8u << 20);
	ats_buf_done(&many);
	return 0;
}
