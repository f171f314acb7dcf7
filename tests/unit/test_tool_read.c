/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/read.c, read_kind.c, read_lines.c and notebook_show.c. */
#include "hands/tools/read_lines.h"
#include "tests/lib/tool_env.h"

#include "common/clock.h"
#include "common/digest.h"

#include <sys/resource.h>

START_TEST(read_shows_numbered_lines)
{
	static const struct { const char *file, *want; } rows[] = {
		{ "a\nb\n", "1\ta\n2\tb" }, { "a\nb", "1\ta\n2\tb" }, { "\n", "1\t" },
		{ "a\r\nb\r\n", "1\ta\n2\tb" }, { "a\rb\n", "1\ta\rb" }, { "a\r", "1\ta\r" },
		{ "\r\n\r\n", "1\t\n2\t" }, { "a\n\nb", "1\ta\n2\t\n3\tb" },
		{ "\xef\xbb\xbf" "a\n", "1\ta" }, { "a\f\vb\n", "1\ta\f\vb" },
		{ "a\xe2\x80\xa8" "b\n", "1\ta\xe2\x80\xa8" "b" }, { "<svg/>", "1\t<svg/>" },
		{ "tab\there\n", "1\ttab\there" }, { "x\r\r\n", "1\tx\r" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;
		char sha[ATS_SHA256_HEX];

		fake_start(&f);
		fake_put_str(&f, "ws/f", rows[i].file);
		fake_read(&f, "f", 0, 0);
		fake_expect_code(&f, 0);
		ck_assert_str_eq(f.res.text.data, rows[i].want);
		ats_sha256_hex(rows[i].file, strlen(rows[i].file), sha);
		ck_assert_uint_eq(f.env.nreads, 1);
		ck_assert_str_eq(f.reads[0].sha256, sha);
		ck_assert_str_eq(f.reads[0].path, fake_path(&f, "ws/f"));
		fake_stop(&f);
	}
}
END_TEST

START_TEST(read_offset_and_limit)
{
	static const struct { uint64_t offset, limit; const char *want; } rows[] = {
		{ 2, 1, "2\tb\n\n[Lines 2 to 2 of 4 are shown. Go on with offset 3.]" },
		{ 3, 2, "3\tc\n4\td" }, { 0, 4, "1\ta\n2\tb\n3\tc\n4\td" }, { 4, 100, "4\td" },
		{ 5, 0, "has 4 lines; offset 5 is past its end" },
		{ UINT64_MAX, 0, "has 4 lines" }, { 1, UINT64_MAX, "1\ta\n2\tb\n3\tc\n4\td" },
	};
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "a\nb\nc\nd\n");
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(strstr(fake_read(&f, "f", rows[i].offset, rows[i].limit),
		    rows[i].want) != NULL, "row %zu: %s", i, f.res.text.data);
	fake_put_str(&f, "ws/e", "");
	ck_assert_ptr_nonnull(strstr(fake_read(&f, "e", 0, 0), "is empty"));
	fake_stop(&f);
}
END_TEST

START_TEST(read_default_is_2000_lines)
{
	struct fake_env f;
	char *p = malloc(3 * 2001 + 1);

	for (int i = 0; i < 2001; i++)
		memcpy(p + 3 * i, "ab\n", 4);
	fake_start(&f);
	fake_put_str(&f, "ws/f", p);
	fake_read(&f, "f", 0, 0);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "\n2000\tab\n\n[Lines 1 to 2000 of 2001 are "
	    "shown. Go on with offset 2001.]"));
	free(p);
	fake_stop(&f);
}
END_TEST

/* Up to 256 KB a file comes whole; one byte more and it comes in pages of 100,000. */
START_TEST(read_of_up_to_256_kb_is_whole)
{
	static const size_t sizes[] = { 200000, 262145 };

	for (size_t k = 0; k < 2; k++) {
		size_t n = sizes[k];
		char *p = malloc(n + 1);
		struct fake_env f;

		for (size_t i = 0; i < n; i++)
			p[i] = i % 500 == 499 ? '\n' : 'x';
		fake_start(&f);
		fake_put(&f, "ws/f", p, n);
		fake_read(&f, "f", 0, 0);
		ck_assert_int_eq(strstr(f.res.text.data, "Go on with offset") != NULL, k == 1);
		ck_assert_uint_gt(f.res.text.len, k == 0 ? n : 95000);
		ck_assert_uint_lt(f.res.text.len, k == 0 ? n + 4000 : 101000);
		free(p);
		fake_stop(&f);
	}
}
END_TEST

/* Larger than what is read whole, where the first piece is looked at. */
START_TEST(read_bom_of_a_large_file_is_not_shown)
{
	size_t n = 17u << 20;
	char *p = malloc(n);
	struct fake_env f;

	memset(p, 'x', n);
	memcpy(p, "\xef\xbb\xbf" "first\n", 9);
	fake_start(&f);
	fake_put(&f, "ws/f", p, n);
	fake_read(&f, "f", 1, 1);
	ck_assert_mem_eq(f.res.text.data, "1\tfirst\n", 8);
	memcpy(p, "\xff\xfe", 2);
	fake_put(&f, "ws/f", p, n);
	fake_read(&f, "f", 1, 1);
	fake_expect_code(&f, ATS_E_TOOBIG);
	free(p);
	fake_stop(&f);
}
END_TEST

/* Pages of any file put together give all its lines. */
START_TEST(read_pages_of_a_large_file_join)
{
	static const size_t sizes[] = { 300000, 17u << 20 };

	for (size_t k = 0; k < 2; k++) {
		struct fake_env f;
		uint64_t next = 1, lines = 0;
		size_t n = sizes[k];
		char *p = malloc(n);

		for (size_t i = 0; i < n; i++)
			p[i] = i % 997 == 996 ? '\n' : (char)('a' + i % 26);
		fake_start(&f);
		fake_put(&f, "ws/f", p, n);
		for (int page = 0; page < (k == 0 ? 100 : 3) && next > 0; page++) {
			const char *text = fake_read(&f, "f", next, 0), *more;
			const char *want = p + 997 * (next - 1);
			char number[32];

			fake_expect_code(&f, 0);
			ck_assert_uint_lt(f.res.text.len, 101000);
			snprintf(number, sizeof(number), "%llu\t", (unsigned long long)next);
			ck_assert_mem_eq(text, number, strlen(number));
			ck_assert_mem_eq(text + strlen(number), want, 996 < n ? 900 : n);
			more = strstr(text, "Go on with offset ");
			lines = next;
			next = more != NULL ? strtoull(more + 18, NULL, 10) : 0;
		}
		ck_assert_uint_gt(lines, 100);
		ck_assert_uint_eq(strlen(f.reads[0].sha256), 64);
		free(p);
		fake_stop(&f);
	}
}
END_TEST

/* A CRLF on the border of two pieces of a stream, and characters cut by it. */
START_TEST(read_stream_pieces_do_not_show)
{
	struct fake_env f;
	size_t n = 17u << 20;

	for (size_t shift = 0; shift < 4; shift++) {
		char *p = malloc(n);
		const char *text;

		memset(p, 'x', n);
		for (size_t i = 0; i + 100 < n; i += 100)
			p[i] = '\n';
		memcpy(p + 65536 - 10 + shift, "\n\xe6\x97\xa5\xe6\x9c\xac\r\n\r\nend\n", 15);
		fake_start(&f);
		fake_put(&f, "ws/f", p, n);
		text = fake_read(&f, "f", 650, 20);
		ck_assert_msg(strstr(text, "\t\xe6\x97\xa5\xe6\x9c\xac\n") != NULL, "%s", text);
		ck_assert(strstr(text, "\t\n") != NULL && strchr(text, '\r') == NULL);
		free(p);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(read_long_line_is_cut)
{
	struct fake_env f;
	size_t n = 50000;
	char *p = malloc(3 * n + 8);

	for (size_t i = 0; i < n; i++)
		memcpy(p + 3 * i, "\xe4\xbd\xa0", 3);
	memcpy(p + 3 * n, "\nnext", 6);
	fake_start(&f);
	fake_put_str(&f, "ws/f", p);
	fake_read(&f, "f", 0, 0);
	ck_assert_mem_eq(f.res.text.data + 2, p, 6000);
	ck_assert_ptr_nonnull(strstr(f.res.text.data + 6000, " [... line cut: 144000 more bytes]\n"
	    "2\tnext"));
	free(p);
	fake_stop(&f);
}
END_TEST

/* A page of a file that can still be changed is as good as the whole of it: what counts is
 * the content, not its time. */
START_TEST(read_page_of_a_large_file_is_held_against_its_hash)
{
	size_t n = 17u << 20;
	char *p = malloc(n);
	struct timespec times[2];
	struct fake_env f;
	struct stat st;

	fake_start(&f);
	memset(p, 'a', n);
	for (size_t i = 99; i < n; i += 100)
		p[i] = '\n';
	memcpy(p + 500, "needle", 6);
	fake_put(&f, "ws/f", p, n);
	ck_assert_ptr_nonnull(strstr(fake_read(&f, "f", 6, 1), "needle"));
	ck_assert_uint_eq(strlen(f.reads[0].sha256), 64);
	/* another time alone is no change */
	ck_assert_int_eq(utimensat(AT_FDCWD, fake_path(&f, "ws/f"), NULL, 0), 0);
	fake_edit(&f, "f", "needle", "Needle", false);
	fake_expect_code(&f, 0);
	fake_read(&f, "f", 9, 1);
	ck_assert_uint_eq(strlen(f.reads[0].sha256), 64);
	/* the same time alone is not the same */
	ck_assert_int_eq(stat(fake_path(&f, "ws/f"), &st), 0);
	p[n - 2] = 'b';
	fake_put(&f, "ws/f", p, n);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	ck_assert_int_eq(utimensat(AT_FDCWD, fake_path(&f, "ws/f"), times, 0), 0);
	fake_edit(&f, "f", "needle", "x", false);
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_read(&f, "f", 9, 1);
	fake_edit(&f, "f", "needle", "x", false);
	fake_expect_code(&f, 0);
	free(p);
	fake_stop(&f);
}
END_TEST

START_TEST(read_huge_files_keep_memory_bounded)
{
	struct fake_env f;
	struct rusage before, after;
	int fd;
	uint64_t start = ats_clock_ms();

	fake_start(&f);
	getrusage(RUSAGE_SELF, &before);
	fd = open(fake_path(&f, "ws/sparse"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(ftruncate(fd, 10ll << 30), 0);
	close(fd);
	fake_read(&f, "sparse", 0, 0);
	fake_expect_code(&f, ATS_E_UTF8);
	f.reads[0] = (struct tool_read){ strdup(fake_path(&f, "ws/sparse")), 1, 1, strdup("") };
	f.env.nreads = 1;
	fake_edit(&f, "sparse", "a", "b", false);
	fake_expect_code(&f, ATS_E_TOOBIG);
	fake_write(&f, "sparse", "b");
	fake_expect_code(&f, ATS_E_TOOBIG);
	/* a line of 40 MB */
	fd = open(fake_path(&f, "ws/line"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	{
		char *p = malloc(1u << 20);

		memset(p, 'x', 1u << 20);
		for (int i = 0; i < 40; i++)
			ck_assert_int_eq(ats_fd_write_all(fd, p, 1u << 20), 0);
		free(p);
	}
	close(fd);
	ck_assert_ptr_nonnull(strstr(fake_read(&f, "line", 0, 0), "line cut"));
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 8192);
	ck_assert_uint_lt(ats_clock_ms() - start, 5000);
	fake_stop(&f);
}
END_TEST

#define CORPUS "tests/fuzz/corpus/image/"

static char *
load(const char *name, size_t *ret_n)
{
	char path[128], *p = NULL;

	snprintf(path, sizeof(path), CORPUS "%s", name);
	ck_assert_msg(ats_fd_slurp(AT_FDCWD, path, 1u << 20, &p, ret_n, NULL) == 0, "%s", path);
	memmove(p, p + 1, --*ret_n);	/* the first byte is the fuzzer's */
	return p;
}

START_TEST(read_image_is_a_block_or_a_text_error)
{
	static const char *const files[][2] = { { "rgb.png", "image/png" },
		{ "prog.jpg", "image/jpeg" }, { "anim.gif", "image/gif" },
		{ "anim.webp", "image/webp" } };
	struct fake_env f;
	char want[128];

	fake_start(&f);
	for (size_t i = 0; i < ATS_ARRAY_LEN(files); i++) {
		size_t n;
		char *p = load(files[i][0], &n), *more = malloc(n + 7);

		memcpy(more, p, n);
		memcpy(more + n, "garbage", 7);
		for (int k = 0; k < 2; k++) {	/* what follows it is no part of it */
			fake_put(&f, "ws/i.dat", more, k == 0 ? n : n + 7);
			fake_read(&f, "i.dat", 0, 0);
			fake_expect_code(&f, 0);
			snprintf(want, sizeof(want),
			    "[{\"type\":\"image\",\"mime\":\"%s\",\"len\":%zu}]", files[i][1], n);
			ck_assert_str_eq(f.res.blocks.data, want);
			ck_assert_uint_eq(f.res.text.len, n);
			ck_assert_mem_eq(f.res.text.data, p, n);
			ck_assert_uint_eq(f.env.nreads, 1);
		}
		fake_put(&f, "ws/i.dat", p, n - 3);
		fake_read(&f, "i.dat", 0, 0);
		ck_assert(f.res.is_error && f.res.blocks.len == 0);
		free(more);
		free(p);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(read_what_is_named_as_an_image_and_is_none_is_an_error)
{
	static const struct { const char *name, *bytes; size_t n; const char *want; } rows[] = {
		{ "x.png", "just text\n", 10, "named as an image, but it is text of 10 bytes" },
		{ "x.JPEG", "", 0, "named as an image, but it is empty" },
		{ "x.webp", "\x89PNG\r\n\x1a\n garbage of all kinds", 30, "it is not shown" },
		{ "x.gif", "\0\1\2\3", 4, "binary data" },
		{ "x.png", "\0\0\0\x18" "ftypheic\0\0\0\0mif1heic", 24, "a HEIC image" },
		{ "x", "\0\0\0\x1c" "ftypavif\0\0\0\0mif1heic", 24, "Convert it to PNG" },
	};
	struct fake_env f;

	fake_start(&f);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		char path[32];

		snprintf(path, sizeof(path), "ws/%s", rows[i].name);
		fake_put(&f, path, rows[i].bytes, rows[i].n);
		ck_assert_msg(strstr(fake_read(&f, rows[i].name, 0, 0), rows[i].want) != NULL,
		    "row %zu: %s", i, f.res.text.data);
		ck_assert(f.res.is_error && f.res.blocks.len == 0 && f.env.nreads == 0);
	}
	fake_put_str(&f, "ws/x.png", "just text\n");
	ck_assert_str_eq(fake_read(&f, "x.png", 1, 0), "1\tjust text");
	fake_put_str(&f, "ws/x.svg", "<svg/>");
	ck_assert_str_eq(fake_read(&f, "x.svg", 0, 0), "1\t<svg/>");
	fake_stop(&f);
}
END_TEST

START_TEST(read_large_sides_are_told)
{
	struct fake_env f;
	size_t n;
	char *p = load("still.gif", &n);

	fake_start(&f);
	p[6] = (char)0xd1;	/* 2001 */
	p[7] = 7;
	fake_put(&f, "ws/i", p, n);
	fake_read(&f, "i", 0, 0);
	fake_expect_code(&f, 0);
	ck_assert_ptr_nonnull(strstr(f.res.blocks.data, "},{\"type\":\"text\",\"len\":"));
	ck_assert_ptr_nonnull(memmem(f.res.text.data, f.res.text.len, "[2001x2 pixels.", 15));
	p[6] = 0x41;		/* 8001 */
	p[7] = 0x1f;
	fake_put(&f, "ws/i", p, n);
	ck_assert_ptr_nonnull(strstr(fake_read(&f, "i", 0, 0), "8001x2 pixels, and models take"));
	fake_expect_code(&f, ATS_E_TOOBIG);
	free(p);
	fake_stop(&f);
}
END_TEST

static const char three[] = "%PDF-1.4\n1 0 obj\n<< /Type /Pages /Count 3 /Kids [] >>\nendobj";

/* Nothing is drawn here: the descriptor and what is wanted are handed on. */
START_TEST(read_pdf_asks_for_its_pages_to_be_drawn)
{
	struct fake_env f;
	char sha[ATS_SHA256_HEX], byte;

	fake_start(&f);
	fake_put_str(&f, "ws/x.dat", three);
	fake_read(&f, "x.dat", 0, 0);
	fake_expect_code(&f, 0);
	ck_assert_str_eq(f.res.text.data, fake_path(&f, "ws/x.dat"));
	ck_assert(f.res.render.fd >= 0 && f.res.render.first == 1 && f.res.render.last == 10);
	ck_assert(f.res.render.pages == 3 && f.res.render.size == strlen(three));
	ck_assert(read(f.res.render.fd, &byte, 1) == 1 && byte == '%');
	ats_sha256_hex(three, strlen(three), sha);
	ck_assert_str_eq(f.reads[0].sha256, sha);
	/* a large one is not read for that, but for its hash */
	ck_assert_int_eq(truncate(fake_path(&f, "ws/x.dat"), 20 << 20), 0);
	fake_read(&f, "x.dat", 0, 0);
	ck_assert(f.res.render.fd >= 0 && f.res.render.size == 20 << 20);
	ck_assert(read(f.res.render.fd, &byte, 1) == 1 && byte == '%');
	ck_assert_uint_eq(strlen(f.reads[0].sha256), ATS_SHA256_HEX - 1);
	ck_assert_str_eq(f.res.text.data, fake_path(&f, "ws/x.dat"));
	ck_assert_int_eq(truncate(fake_path(&f, "ws/x.dat"), 300ll << 20), 0);
	ck_assert_ptr_nonnull(strstr(fake_read(&f, "x.dat", 0, 0), "can be shown"));
	fake_expect_code(&f, ATS_E_TOOBIG);
	ck_assert_int_lt(f.res.render.fd, 0);
	/* text that speaks of PDF */
	fake_put_str(&f, "ws/x.c", "a %PDF-1.4");
	ck_assert_str_eq(fake_read(&f, "x.c", 0, 0), "1\ta %PDF-1.4");
	fake_put_str(&f, "ws/x.pdf", "a");
	ck_assert_str_eq(fake_read(&f, "x.pdf", 0, 0), "1\ta");
	fake_stop(&f);
}
END_TEST

START_TEST(read_pages_are_checked)
{
	struct ats_in_read in = { .file_path = "x.pdf", .pages = "2-" };
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/x.pdf", three);
	ck_assert_int_eq(tool_read.run(&f.env, &in, &f.res), 0);
	ck_assert(!f.res.is_error && f.res.render.first == 2 && f.res.render.last == 21);
	in.pages = "x";
	ck_assert_int_eq(tool_read.run(&f.env, &in, &f.res), 0);
	fake_expect_code(&f, ATS_E_FIELD);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "pages: expected"));
	ck_assert_int_lt(f.res.render.fd, 0);
	fake_stop(&f);
}
END_TEST

#define GIF "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
#define GIF_BYTES 34

START_TEST(read_notebook_shows_cells)
{
	static const char nb[] =
	    "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":[\"# T\\n\",\"x\"]},"
	    "{\"id\":\"abc\",\"cell_type\":\"code\",\"source\":\"print(1)\",\"outputs\":["
	    "{\"output_type\":"
	    "\"stream\",\"text\":[\"1\\n\"]},{\"data\":{\"text/"
	    "plain\":[\"<Fig>\"],\"image/png\":\"aa\"}}]},{\"cell_type\":\"code\",\"source\":\"\","
	    "\"outputs\":[{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"v\"},{}]},"
	    "{\"cell_type\":\"code\",\"source\":\"y\",\"outputs\":[]}],\"nbformat\":4}";
	static const char want[] = "<cell id=\"cell-0\" type=\"markdown\">\n# T\nx\n</cell>\n"
	    "<cell id=\"abc\" type=\"code\">\nprint(1)\n<output>\n1\n<Fig>\n"
	    "[an image, not shown: it is no image]\n</output>\n</cell>\n"
	    "<cell id=\"cell-2\" type=\"code\">\n<output>\nE: v\n</output>\n</cell>\n"
	    "<cell id=\"cell-3\" type=\"code\">\ny\n</cell>\n";
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/n.ipynb", nb);
	fake_read(&f, "n.ipynb", 0, 0);
	ck_assert_str_eq(f.res.text.data, want);
	ck_assert_uint_eq(f.res.blocks.len, 0);
	fake_read(&f, "n.ipynb", 1, 0);
	ck_assert_mem_eq(f.res.text.data, "1\t{\"cells\"", 10);
	fake_put_str(&f, "ws/n.ipynb", "not json");
	ck_assert_str_eq(fake_read(&f, "n.ipynb", 0, 0), "1\tnot json");
	fake_stop(&f);
}
END_TEST

START_TEST(read_notebook_images_are_blocks_between_text)
{
	static const char nb[] =
	    "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"x\",\"outputs\":["
	    "{\"data\":{\"text/plain\":\"<Fig>\",\"image/gif\":\"" GIF "\"}},"
	    "{\"data\":{\"image/png\":[\"R0lGODlhAQABAIAAAAAAAP//\\n\","
	    "\"/ywAAAAAAQABAAACAUwAOw==\\n\"]}},"
	    "{\"text\":\"after\"},{\"data\":{\"image/jpeg\":7}}]}]}";
	static const char before[] = "<cell id=\"cell-0\" type=\"code\">\nx\n<output>\n<Fig>\n";
	static const char after[] = "after\n[an image, not shown: it is not base64]\n</output>\n"
	    "</cell>\n";
	struct fake_env f;
	char want[300];

	fake_start(&f);
	fake_put_str(&f, "ws/n.ipynb", nb);
	fake_read(&f, "n.ipynb", 0, 0);
	fake_expect_code(&f, 0);
	snprintf(want, sizeof(want), "[{\"type\":\"text\",\"len\":%zu},"
	    "{\"type\":\"image\",\"mime\":\"image/gif\",\"len\":34},"
	    "{\"type\":\"image\",\"mime\":\"image/gif\",\"len\":34},"
	    "{\"type\":\"text\",\"len\":%zu}]", strlen(before), strlen(after));
	ck_assert_str_eq(f.res.blocks.data, want);
	ck_assert_mem_eq(f.res.text.data, before, strlen(before));
	ck_assert_mem_eq(f.res.text.data + strlen(before), "GIF89a", 6);
	ck_assert_str_eq(f.res.text.data + strlen(before) + 2 * GIF_BYTES, after);
	fake_stop(&f);
}
END_TEST

/* Many images and much text: what does not fit is told, and the blocks stay right. */
START_TEST(read_notebook_of_any_size_is_bounded)
{
	static const char image[] = "{\"cell_type\":\"code\",\"source\":\"x\",\"outputs\":["
	    "{\"data\":{\"image/gif\":\"" GIF "\"}}]},";
	struct fake_env f;
	struct ats_buf nb;
	uint64_t sum = 0;

	ats_buf_init(&nb, 8u << 20);
	ck_assert_int_eq(ats_buf_add_str(&nb, "{\"cells\":["), 0);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(ats_buf_add_str(&nb, image), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(ats_buf_addf(&nb, "{\"source\":\"%0100000d\"}%s", 0,
		    i < 2 ? "," : ""), 0);
	}
	ck_assert_int_eq(ats_buf_add_str(&nb, "]}"), 0);
	fake_start(&f);
	fake_put(&f, "ws/n.ipynb", nb.data, nb.len);
	fake_read(&f, "n.ipynb", 0, 0);
	fake_expect_code(&f, 0);
	ck_assert_ptr_nonnull(memmem(f.res.text.data, f.res.text.len, "there are too many", 18));
	ck_assert_ptr_nonnull(memmem(f.res.text.data, f.res.text.len, "was cut in cell 42", 18));
	ck_assert_uint_lt(f.res.text.len, 262144);
	ck_assert_int_eq(ats_json_scan(f.res.blocks.data, f.res.blocks.len, NULL), 0);
	for (const char *p = f.res.blocks.data; (p = strstr(p, "\"len\":")) != NULL; p++)
		sum += strtoull(p + 6, NULL, 10);
	ck_assert_uint_eq(sum, f.res.text.len);
	ats_buf_done(&nb);
	fake_stop(&f);
}
END_TEST

START_TEST(read_errors_say_what_is_wrong)
{
	static const struct { const char *name, *text; int code; } rows[] = {
		{ "none", "does not exist", ATS_E_NOENT },
		{ "dir", "Use LS or Glob", ATS_E_NOTFILE },
		{ "bin", "ELF", ATS_E_UTF8 }, { "/etc/passwd", "outside", ATS_E_ESCAPES },
		{ "../ws-evil/x", "outside", ATS_E_ESCAPES },
	};
	struct fake_env f;

	fake_start(&f);
	mkdir(fake_path(&f, "ws/dir"), 0755);
	fake_put_str(&f, "ws/bin", "\x7f" "ELF...");
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		fake_read(&f, rows[i].name, 0, 0);
		fake_expect_code(&f, rows[i].code);
		ck_assert_ptr_nonnull(strstr(f.res.text.data, rows[i].text));
	}
	fake_stop(&f);
}
END_TEST

START_TEST(read_of_4_kib_is_fast)
{
	struct fake_env f;
	uint64_t start;
	char p[4096];

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = i % 40 == 39 ? '\n' : 'x';
	fake_start(&f);
	fake_put(&f, "ws/f", p, sizeof(p));
	start = ats_clock_us();
	for (int i = 0; i < 1000; i++) {
		struct ats_in_read in = { .file_path = "f" };

		tool_result_done(&f.res);
		tool_result_init(&f.res, 4u << 20);
		ck_assert_int_eq(tool_read.run(&f.env, &in, &f.res), 0);
	}
	printf("# Read of 4 KiB: %.1f us\n", (double)(ats_clock_us() - start) / 1000);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_read", read_shows_numbered_lines, read_offset_and_limit,
    read_default_is_2000_lines, read_of_up_to_256_kb_is_whole,
    read_bom_of_a_large_file_is_not_shown, read_pages_of_a_large_file_join,
    read_stream_pieces_do_not_show, read_long_line_is_cut,
    read_page_of_a_large_file_is_held_against_its_hash,
    read_huge_files_keep_memory_bounded, read_image_is_a_block_or_a_text_error,
    read_what_is_named_as_an_image_and_is_none_is_an_error, read_large_sides_are_told,
    read_pdf_asks_for_its_pages_to_be_drawn, read_pages_are_checked,
    read_notebook_images_are_blocks_between_text, read_notebook_of_any_size_is_bounded,
    read_notebook_shows_cells, read_errors_say_what_is_wrong, read_of_4_kib_is_fast)
