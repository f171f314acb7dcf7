/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that are drawn: a scripted read worker asks for them, a scripted monitor draws.
 */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

#include <fcntl.h>
#include <sys/stat.h>

#define DELTA                          \
	"{\"reads\":[{\"path\":\"/ws/" \
	"a.pdf\",\"size\":9,\"mtime_ns\":1,\"sha256\":\"ab\"}]}"

static const char gif[] =
    "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0\x3b";
#define GIF_BYTES (sizeof(gif) - 1)

/* The worker's answer with or without a descriptor, which is of /dev/null then. */
static void
ask(struct fake_worker *w, const struct render_ask *a, const char *json, size_t cut,
    bool with_fd)
{
	static const char path[] = "/ws/a.pdf";
	struct reply_head h = { .what = REPLY_RENDER,
		.json_len = (uint32_t)strlen(json) };
	char buf[1024];
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t n = sizeof(h) + h.json_len, left = sizeof(*a) + sizeof(path) - 1 - cut;

	h.payload_len = (uint32_t)left;
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), json, h.json_len);
	memcpy(buf + n, a, sizeof(*a));
	memcpy(buf + n + sizeof(*a), path, sizeof(path) - 1);
	ck_assert_int_eq(
	    ats_fd_send(w->sock, buf, n + left, &fd, with_fd ? 1 : 0), (int)(n + left));
	close(fd);
}

/* A Read whose worker asks for these pages; returns the monitor that is to draw. */
static struct fake_worker *
start(struct rig *r, uint64_t id, uint64_t first, uint64_t last, uint64_t pages)
{
	struct render_ask a = { first, last, pages, 1234 };
	struct fake_worker *w;
	struct job_head h;
	char job[8192], want[64];
	struct stat st;

	call_tool(r, id, "Read", "{\"file_path\":\"a.pdf\"}", "");
	w = read_job(r, id, ATS_PROFILE_READ);
	ask(w, &a, "{\"outcome\":\"done\",\"ctx_delta\":" DELTA "}", 0, true);
	w = shell_job(r, &h, job, sizeof(job));
	ck_assert_uint_eq(h.flags, JOB_EXEC | JOB_INPUT);
	ck_assert(fstat(r->input, &st) == 0 && S_ISCHR(st.st_mode));
	snprintf(want, sizeof(want), "-f%c%llu%c-l%c%llu%c-", 0,
	    (unsigned long long)first, 0, 0, (unsigned long long)last, 0);
	ck_assert_ptr_nonnull(memmem(job + h.json_len, h.extra_len, "pdftoppm", 9));
	ck_assert_ptr_nonnull(memmem(job + h.json_len, h.extra_len, "-f", 3));
	ck_assert_int_eq(memcmp(job + h.json_len, "sh\0-c", 6), 0);
	return w;
}

static void
put(struct fake_worker *w, bool on_stderr, const void *p, size_t n)
{
	ck_assert_int_eq(ats_fd_write_all(on_stderr ? w->err : w->out, p, n), 0);
}

START_TEST(render_gives_images_between_texts)
{
	static const struct {
		uint64_t last, pages;
		const char *first, *tail;
	} rows[] = {
		{ 3, 9, "/ws/a.pdf, page 2 of 9:", "[There are more: pages \"4-5\".]" },
		{ 3, 4, "/ws/a.pdf, page 2 of 4:", "[There are more: pages \"4-4\".]" },
		{ 3, 3, "/ws/a.pdf, page 2 of 3:", "[The document ends with page 3.]" },
		{ 3, 0, "/ws/a.pdf, page 2:",
		    "[If there are more, they are pages \"4-5\".]" },
		{ 9, 0, "/ws/a.pdf, page 2:", "[The document ends with page 3.]" },
		{ 3, 1, "/ws/a.pdf, page 2:",
		    "[If there are more, they are pages \"4-5\".]" },
	};
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_worker *w = start(r, 50 + i, 2, rows[i].last, rows[i].pages);
		struct job_exit e = { .cwd = "/tmp" };
		size_t n = strlen(rows[i].first);
		struct frame fr;
		char blocks[128];

		put(w, false, gif, 5);
		turn(r);
		put(w, false, gif + 5, GIF_BYTES - 5);
		put(w, false, gif, GIF_BYTES);
		shell_exit(r, w, &e);
		expect(r, ATS_FRAME_RESULT, 50 + i, &fr);
		ck_assert_msg(strstr(fr.json, "\"is_error\"") == NULL, "%s", fr.payload);
		ck_assert_msg(
		    strstr(fr.json, "\"ctx_delta\":" DELTA) != NULL, "%s", fr.json);
		snprintf(blocks, sizeof(blocks),
		    "\"image/gif\",\"len\":%zu},{\"type\":\"text\","
		    "\"len\":7},{\"type\":\"image\"",
		    GIF_BYTES);
		ck_assert_ptr_nonnull(strstr(fr.json, blocks));
		ck_assert_mem_eq(fr.payload, rows[i].first, n);
		ck_assert_mem_eq(fr.payload + n, gif, GIF_BYTES);
		ck_assert_mem_eq(fr.payload + n + GIF_BYTES, "page 3:", 7);
		ck_assert_msg(
		    strcmp(fr.payload + n + 2 * GIF_BYTES + 7, rows[i].tail) == 0,
		    "row %zu: %s", i, fr.payload + n + 2 * GIF_BYTES + 7);
	}
	rig_free(r);
}
END_TEST

START_TEST(render_that_fails_says_how)
{
	static const struct {
		int status;
		const char *out, *err, *code, *want;
	} rows[] = {
		{ 127 << 8, "", "sh: not found", "bad_utf8", "poppler-utils" },
		{ 126 << 8, "", "", "bad_utf8", "cannot be run" },
		{ 99 << 8, "", "a\nWrong page range\n", "invalid",
		    "status 99 (it says: Wrong page range)" },
		{ 0, "", "", "invalid", "it printed nothing" },
		{ 0, "P6 1 1 255 ...", "", "invalid",
		    "not an image for each page: it is no image" },
		{ 0, "GIF89a\1\0\1\0", "", "invalid", "not an image for each page" },
		{ SIGKILL, "", "", "invalid", "SIGKILL" },
		{ SIGXCPU, "", "", "invalid", "SIGXCPU" },
	};
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_worker *w = start(r, 70 + i, 1, 10, 3);
		struct job_exit e = { .status = rows[i].status, .cwd = "/tmp" };
		struct frame fr;
		char code[40];

		put(w, false, rows[i].out, strlen(rows[i].out));
		put(w, true, rows[i].err, strlen(rows[i].err));
		shell_exit(r, w, &e);
		expect(r, ATS_FRAME_RESULT, 70 + i, &fr);
		snprintf(code, sizeof(code), "\"code\":\"%s\"", rows[i].code);
		ck_assert_msg(strstr(fr.json, code) != NULL, "row %zu: %s", i, fr.json);
		ck_assert_ptr_null(strstr(fr.json, "ctx_delta"));
		ck_assert_ptr_null(strstr(fr.json, "blocks"));
		ck_assert_msg(strstr(fr.payload, rows[i].want) != NULL, "row %zu: %s", i,
		    fr.payload);
		ck_assert_ptr_nonnull(strstr(fr.payload, "1234 bytes and 3 pages"));
	}
	rig_free(r);
}
END_TEST

START_TEST(render_gives_the_pages_before_a_failure)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w = start(r, 90, 1, 10, 0);
	struct job_exit e = { .status = 3 << 8, .cwd = "/tmp" };
	struct frame fr;

	put(w, false, gif, GIF_BYTES);
	put(w, false, "rest", 4);
	shell_exit(r, w, &e);
	expect(r, ATS_FRAME_RESULT, 90, &fr);
	ck_assert_ptr_null(strstr(fr.json, "is_error"));
	ck_assert_ptr_nonnull(memmem(fr.payload, fr.h.payload_len,
	    "[Page 2 could not be drawn by pdftoppm: it ended with status 3.]", 63));
	e.status = 0; /* no more pages than were asked for */
	w = start(r, 91, 1, 2, 0);
	for (int i = 0; i < 3; i++)
		put(w, false, gif, GIF_BYTES);
	shell_exit(r, w, &e);
	expect(r, ATS_FRAME_RESULT, 91, &fr);
	ck_assert_ptr_nonnull(
	    memmem(fr.payload, fr.h.payload_len, "there are too many", 18));
	ck_assert_ptr_null(memmem(fr.payload, fr.h.payload_len, "page 3:", 7));
	rig_free(r);
}
END_TEST

START_TEST(render_ends_with_its_call)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w = start(r, 95, 1, 10, 0);
	struct frame fr;

	send_frame(r, ATS_FRAME_CANCEL, 95, "{}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 95, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"code\":\"cancelled\""));
	turn(r);
	ck_assert_uint_eq(r->last_killed, w->serial);
	gone(r, w, SIGKILL);
	w = start(r, 96, 1, 10, 0); /* the monitor dies */
	gone(r, w, SIGKILL);
	expect(r, ATS_FRAME_RESULT, 96, &fr);
	ck_assert_ptr_nonnull(strstr(fr.payload, "SIGKILL"));
	w = start(r, 97, 1, 10, 0); /* the peer leaves */
	ats_fd_close(&r->brain);
	turn(r);
	ck_assert_uint_eq(r->last_killed, w->serial);
	rig_free(r);
}
END_TEST

START_TEST(render_that_nobody_may_ask_for_is_nonsense)
{
	static const struct {
		struct render_ask a;
		const char *json;
		size_t cut;
		bool with_fd;
	} rows[] = {
		{ { 1, 2, 0, 1 }, "{\"outcome\":\"done\"}", 0, false },
		{ { 0, 2, 0, 1 }, "{\"outcome\":\"done\"}", 0, true },
		{ { 2, 1, 0, 1 }, "{\"outcome\":\"done\"}", 0, true },
		{ { 1, 21, 0, 1 }, "{\"outcome\":\"done\"}", 0, true },
		{ { UINT64_MAX, UINT64_MAX, 0, 1 }, "{\"outcome\":\"done\"}", 0, true },
		{ { 1, 2, 0, 1 }, "{\"outcome\":\"done\"}", 10, true },
		{ { 1, 2, 0, 1 },
		    "{\"outcome\":\"done\",\"ctx_delta\":{\"cwd\":\"/etc\"}}", 0, true },
		{ { 1, 2, 0, 1 }, "{}", 0, true },
	};
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		call_tool(r, 200 + i, "Read", "{\"file_path\":\"a.pdf\"}", "");
		w = read_job(r, 200 + i, ATS_PROFILE_READ);
		ask(w, &rows[i].a, rows[i].json, rows[i].cut, rows[i].with_fd);
		expect(r, ATS_FRAME_RESULT, 200 + i, &fr);
		ck_assert_msg(strstr(fr.json, "\"code\":\"protocol\"") != NULL,
		    "row %zu: %s", i, fr.json);
		gone(r, w, 0);
	}
	call_tool(r, 300, "Write", "{\"file_path\":\"a\",\"content\":\"\"}", "");
	w = read_job(r, 300, ATS_PROFILE_WRITE);
	ask(w, &rows[0].a, "{\"outcome\":\"done\"}", 0, true);
	expect(r, ATS_FRAME_RESULT, 300, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"code\":\"protocol\""));
	call_validate(r, 301, "Read", "{\"file_path\":\"a.pdf\"}");
	w = read_job(r, 301, ATS_PROFILE_READ);
	ask(w, &rows[0].a, "{\"outcome\":\"done\"}", 0, true);
	expect(r, ATS_FRAME_RESULT, 301, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"code\":\"protocol\""));
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_render", render_gives_images_between_texts,
    render_that_fails_says_how, render_gives_the_pages_before_a_failure,
    render_ends_with_its_call, render_that_nobody_may_ask_for_is_nonsense)
