/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the log: what a peer says stays within its field. */
#include "common/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/logfmt.h"
#include "tests/lib/unit.h"

#define PAIRS_MAX 8

struct pair {
	char name[64], value[2048];
	size_t n;
};

static char out[2048];

static const char * ATS_PRINTF(2, 3)
fields(size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	memset(out, 'Z', sizeof(out));
	va_start(ap, fmt);
	n = ats_logfmt_fields(out, size, fmt, ap);
	va_end(ap);
	ck_assert_uint_lt(n, size);
	ck_assert_uint_eq(strlen(out), n);
	return out;
}

static int
hex(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Reads what a reader of logfmt reads. Returns how many pairs, or -1 for no logfmt. */
static int
read_line(const char *s, struct pair *p)
{
	int n = 0;

	for (; *s != '\0'; n++, p++) {
		size_t len = strcspn(s, "= ");

		if (n == PAIRS_MAX || len == 0 || len >= sizeof(p->name) || s[len] != '=')
			return -1;
		memcpy(p->name, s, len);
		p->name[len] = '\0';
		p->n = 0;
		s += len + 1;
		if (*s != '"') {
			for (; *s != '\0' && *s != ' '; s++) {
				if (*s < '!' || *s > '~' || strchr("\"=\\", *s) != NULL)
					return -1;
				p->value[p->n++] = *s;
			}
			if (p->n == 0)
				return -1;
		} else {
			for (s++; *s != '"'; s++) {
				if (*s < ' ' || *s > '~')
					return -1;
				if (*s != '\\') {
					p->value[p->n++] = *s;
				} else if (*++s == 'x') {
					p->value[p->n++] = (char)(hex(s[1]) << 4 | hex(s[2]));
					s += 2;
				} else {
					p->value[p->n++] = *s == 'n' ? '\n' : *s;
				}
			}
			s++;
		}
		p->value[p->n] = '\0';
		if (*s == ' ' && s[1] != '\0')
			s++;
		else if (*s != '\0')
			return -1;
	}
	return n;
}

START_TEST(logfmt_fields_of_plain_words_are_bare)
{
	ck_assert_str_eq(fields(512, "sandbox=%s code=%d n=%zu id=c-%llu", "b-1", -7, (size_t)9,
	    UINT64_MAX == 0 ? 0ull : 18446744073709551615ull),
	    "sandbox=b-1 code=-7 n=9 id=c-18446744073709551615");
	ck_assert_str_eq(fields(512, "at=%s:%u hex=%02x", "127.0.0.1", 80u, 10u),
	    "at=127.0.0.1:80 hex=0a");
	ck_assert_str_eq(fields(512, "%s=%u", "signal", 9u), "signal=9");
	ck_assert_str_eq(fields(512, "cut=%.*s l=%ld c=%c p=%d%%", 2, "abc", -1L, 'x', 5),
	    "cut=ab l=-1 c=x p=5%");
	ck_assert_str_eq(fields(512, "  a=1   b=2 "), "a=1 b=2");
	ck_assert_str_eq(fields(512, "a=%lu b=%lld", 7ul, -8ll), "a=7 b=-8");
}
END_TEST

START_TEST(logfmt_fields_that_need_it_are_quoted)
{
	static const struct {
		const char *value, *quoted;
	} rows[] = {
		{ "two words", "\"two words\"" }, { "", "\"\"" }, { "a\"b", "\"a\\\"b\"" },
		{ "a=b", "\"a=b\"" }, { "back\\slash", "\"back\\\\slash\"" },
		{ "x\" level=error msg=\"forged", "\"x\\\" level=error msg=\\\"forged\"" },
		{ "line\nts=1", "\"line\\nts=1\"" }, { "cr\rtab\t", "\"cr\\x0dtab\\x09\"" },
		{ "esc\033[2J", "\"esc\\x1b[2J\"" }, { "\xc3\xa9", "\"\\xc3\\xa9\"" },
		{ "\"", "\"\\\"\"" }, { "\"\"\"", "\"\\\"\\\"\\\"\"" },
		{ "\"open\\\"", "\"\\\"open\\\\\\\"\"" },
		{ "\"a\" b=\"c\"", "\"\\\"a\\\" b=\\\"c\\\"\"" },
	};
	char want[256];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		(void)snprintf(want, sizeof(want), "why=%s n=1", rows[i].quoted);
		ck_assert_str_eq(fields(512, "why=%s n=%d", rows[i].value, 1), want);
		ck_assert_str_eq(fields(512, "why=\"%s\" n=%d", rows[i].value, 1), want);
	}
	ck_assert_str_eq(fields(512, "why=\"%s\"", "plain"), "why=\"plain\"");
	ck_assert_str_eq(fields(512, "as=%s/%s", "/a b", "c"), "as=\"/a b/c\"");
}
END_TEST

START_TEST(logfmt_fields_quote_what_is_quoted_once)
{
	char q[64];

	ck_assert_str_eq(fields(512, "why=%s", ats_log_quote(q, sizeof(q), "a \"b\"\n", 6)),
	    "why=\"a \\\"b\\\"\\n\"");
}
END_TEST

START_TEST(logfmt_fields_of_a_name_that_is_none)
{
	ck_assert_str_eq(fields(512, "%s=1 b=2", "a b=c\"\n"), "a_b_c__=1 b=2");
}
END_TEST

/* Each byte, alone and beside what ends a value, is what a reader finds again. */
START_TEST(logfmt_fields_any_byte_is_read_back)
{
	static const char *const shapes[] = { "%c", "a%c", "%ca", "\"%c", "%c\"", "\\%c",
		"a b=%c" };
	static struct pair p[PAIRS_MAX];
	char value[32];

	for (size_t s = 0; s < ATS_ARRAY_LEN(shapes); s++)
		for (int c = 1; c < 256; c++) {
			char *at;

			(void)snprintf(value, sizeof(value), "%s", shapes[s]);
			at = strstr(value, "%c");
			*at = (char)c;
			memmove(at + 1, at + 2, strlen(at + 2) + 1);
			ck_assert_int_eq(read_line(fields(512, "v=%s session=s-1", value), p), 2);
			ck_assert_str_eq(p[0].name, "v");
			ck_assert_uint_eq(p[0].n, strcmp(value, "\"\"") == 0 ? 0 : strlen(value));
			ck_assert_str_eq(p[1].name, "session");
			ck_assert_str_eq(p[1].value, "s-1");
			if (strcmp(value, "\"\"") != 0)
				ck_assert_mem_eq(p[0].value, value, p[0].n);
		}
}
END_TEST

START_TEST(logfmt_fields_without_room_are_left_out_whole)
{
	static struct pair p[PAIRS_MAX];
	char big[4000];
	int n;

	memset(big, '\n', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	for (size_t size = 1; size < 300; size++) {
		n = read_line(fields(size, "session=%s why=%s last=%d", "s-0123456789ab", big,
		    7), p);
		ck_assert_int_ge(n, 0);
		if (n > 0 && strcmp(p[0].name, "session") == 0)
			ck_assert_str_eq(p[0].value, "s-0123456789ab");
		if (n > 0 && n < 3)
			ck_assert_str_eq(p[n - 1].name, "cut");
	}
	memset(big, 'x', sizeof(big) - 1);
	n = read_line(fields(2048, "why=%s last=%d", big, 7), p);
	ck_assert_int_eq(n, 2);
	ck_assert_str_eq(p[1].value, "7");
	ck_assert_uint_eq(p[0].n, ATS_LOGFMT_VALUE);
}
END_TEST

START_TEST(logfmt_quote_fits_any_size)
{
	char q[64];

	for (size_t size = 0; size < sizeof(q); size++) {
		memset(q, 'Z', sizeof(q));
		ck_assert_uint_le(ats_logfmt_quote(q, size, "\n\"\x01yyyyyyyyyyyyyyyyyyyy", 23),
		    size);
		ck_assert_int_eq(q[size], 'Z');
	}
}
END_TEST

START_TEST(log_line_is_one_line_of_logfmt)
{
	static struct pair p[PAIRS_MAX];
	char text[4096];
	int pipe_fds[2];
	ssize_t n;

	ck_assert_int_eq(pipe(pipe_fds), 0);
	ats_log_init("test", ATS_LOG_INFO, pipe_fds[1]);
	ats_log(ATS_LOG_DEBUG, "not this", NULL);
	ats_log(ATS_LOG_WARN, "a \"message\"\nof two lines", "call=c-%d why=\"%s\"", 5,
	    "x\"\nts=0 level=error proc=vault msg=\"forged\"");
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert_ptr_eq(strchr(text, '\n'), text + n - 1);
	text[n - 1] = '\0';
	ck_assert_int_eq(read_line(text, p), 6);
	ck_assert_str_eq(p[0].name, "ts");
	ck_assert_str_eq(p[1].value, "warn");
	ck_assert_str_eq(p[2].value, "test");
	ck_assert_str_eq(p[3].value, "a \"message\"\nof two lines");
	ck_assert_str_eq(p[4].value, "c-5");
	ck_assert_str_eq(p[5].value, "x\"\nts=0 level=error proc=vault msg=\"forged\"");
	ats_log_init("test", ATS_LOG_INFO, STDERR_FILENO);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
}
END_TEST

/* What a line of each level begins with on that descriptor, when that stands in the environment. */
static void
expect_marks(int to, int from, const char *stream, const char *const marks[4])
{
	static const char *const levels[] = { "error", "warn", "info", "debug" };
	char text[512], begin[64];
	ssize_t n;

	if (stream != NULL)
		ck_assert_int_eq(setenv("JOURNAL_STREAM", stream, 1), 0);
	else
		ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
	ats_log_init("test", ATS_LOG_DEBUG, to);
	for (int level = ATS_LOG_ERROR; level <= ATS_LOG_DEBUG; level++) {
		ats_log((enum ats_log_level)level, "x", NULL);
		n = read(from, text, sizeof(text) - 1);
		ck_assert_int_gt(n, 0);
		text[n] = '\0';
		(void)snprintf(begin, sizeof(begin), "%sts=", marks[level]);
		ck_assert_int_eq(strncmp(text, begin, strlen(begin)), 0);
		(void)snprintf(begin, sizeof(begin), " level=%s ", levels[level]);
		ck_assert_ptr_nonnull(strstr(text, begin));
	}
}

/* Whether what an heir of the log gets tells it the same. */
static bool
env_has(const char *stream)
{
	char want[128];

	(void)snprintf(want, sizeof(want), "JOURNAL_STREAM=%s", stream);
	for (const char *const *e = ats_log_env(); *e != NULL; e++)
		if (strcmp(*e, want) == 0)
			return true;
	return false;
}

START_TEST(log_mark_is_the_priority_where_the_journal_reads)
{
	static const char *const priorities[] = { "<3>", "<4>", "<6>", "<7>" };
	static const char *const none[] = { "", "", "", "" };
	int pair[2], other[2];
	char is[64], no[80];
	struct stat st;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(pipe2(other, O_CLOEXEC), 0);
	ck_assert_int_eq(fstat(pair[1], &st), 0);
	(void)snprintf(is, sizeof(is), "%llu:%llu", (unsigned long long)st.st_dev,
	    (unsigned long long)st.st_ino);
	expect_marks(pair[1], pair[0], is, priorities);
	ck_assert(env_has(is));
	/* Inherited, but the log is another file: brain.log, a terminal. */
	expect_marks(other[1], other[0], is, none);
	ck_assert(!env_has(is));
	expect_marks(pair[1], pair[0], NULL, none);
	expect_marks(pair[1], pair[0], "", none);
	(void)snprintf(no, sizeof(no), "%s1", is);
	expect_marks(pair[1], pair[0], no, none);
	(void)snprintf(no, sizeof(no), "%llu:%llu", (unsigned long long)st.st_dev + 1,
	    (unsigned long long)st.st_ino);
	expect_marks(pair[1], pair[0], no, none);
	/* stderr, for what is no line of the log. */
	ck_assert_int_eq(setenv("JOURNAL_STREAM", is, 1), 0);
	ck_assert_str_eq(ats_log_mark(ATS_LOG_ERROR), "");
	ck_assert_int_eq(dup2(pair[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_str_eq(ats_log_mark(ATS_LOG_ERROR), "<3>");
	for (size_t i = 0; i < 2; i++) {
		(void)close(pair[i]);
		(void)close(other[i]);
	}
}
END_TEST

ATS_UNIT_MAIN("log", logfmt_fields_of_plain_words_are_bare, logfmt_fields_that_need_it_are_quoted,
    logfmt_fields_quote_what_is_quoted_once, logfmt_fields_of_a_name_that_is_none,
    logfmt_fields_any_byte_is_read_back, logfmt_fields_without_room_are_left_out_whole,
    logfmt_quote_fits_any_size, log_line_is_one_line_of_logfmt,
    log_mark_is_the_priority_where_the_journal_reads)
