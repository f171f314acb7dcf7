/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/unit.h"

#include <stdio.h>

#include "common/http_head.h"

#define REQ "POST /mcp HTTP/1.1\r\n"

static int
read_request(const char *text, struct ats_http_head *h)
{
	struct ats_err err = { 0 };
	size_t n = strlen(text);

	ck_assert_uint_eq(ats_http_head_end(text, n, 0), n);
	return ats_http_request_read(text, n, h, &err);
}

START_TEST(a_request_has_its_parts)
{
	struct ats_http_head h;
	unsigned n;

	ck_assert_int_eq(read_request("GET /a?b=%20 HTTP/1.1\r\nHost: x:1\r\nA:\t 1 2 \t\r\na:3\r\n"
	    "Accept: text/html;q=0, Application/JSON ; q=1\r\nE:\r\n\r\n", &h), 0);
	ck_assert(ats_http_text_is_exactly(h.method, "GET"));
	ck_assert(ats_http_text_is_exactly(h.target, "/a?b=%20"));
	ck_assert_uint_eq(h.nfields, 5);
	ck_assert(ats_http_text_is_exactly(ats_http_field(&h, "HOST", &n), "x:1"));
	ck_assert_uint_eq(n, 1);
	ck_assert(ats_http_text_is_exactly(ats_http_field(&h, "a", &n), "1 2"));
	ck_assert_uint_eq(n, 2);
	ck_assert(ats_http_text_is_exactly(ats_http_field(&h, "e", NULL), ""));
	ck_assert_ptr_null(ats_http_field(&h, "none", &n).p);
	ck_assert_uint_eq(n, 0);
	ck_assert(ats_http_lists(ats_http_field(&h, "accept", NULL), "application/json"));
	ck_assert(ats_http_lists(ats_http_field(&h, "accept", NULL), "text/html"));
	ck_assert(!ats_http_lists(ats_http_field(&h, "accept", NULL), "text"));
	ck_assert(!ats_http_lists(ats_http_field(&h, "none", NULL), "x"));
}
END_TEST

/* Each of them is read otherwise by some server. */
START_TEST(what_two_readers_could_read_differently_is_refused)
{
	static const char *const rows[] = {
		"\r\n\r\n",
		"POST /mcp HTTP/1.0\r\n\r\n",
		"POST /mcp HTTP/2\r\n\r\n",
		"POST /mcp\r\n\r\n",
		"POST  /mcp HTTP/1.1\r\n\r\n",
		"POST /mcp HTTP/1.1 \r\n\r\n",
		" POST /mcp HTTP/1.1\r\n\r\n",
		"POST http://a/mcp HTTP/1.1\r\n\r\n",
		"POST * HTTP/1.1\r\n\r\n",
		"PO(ST /mcp HTTP/1.1\r\n\r\n",
		"POST /m\tcp HTTP/1.1\r\n\r\n",
		"POST /m\xc3\xa4 HTTP/1.1\r\n\r\n",
		REQ "Host: a\nX: b\r\n\r\n",
		REQ "Host: a\rX: b\r\n\r\n",
		REQ "Host : a\r\n\r\n",
		REQ " Host: a\r\n\r\n",
		REQ "Host: a\r\n folded\r\n\r\n",
		REQ ": a\r\n\r\n",
		REQ "Host\r\n\r\n",
		REQ "Ho st: a\r\n\r\n",
		REQ "Host: a\x01\r\n\r\n",
		REQ "Host: a\x7f\r\n\r\n",
	};
	struct ats_http_head h;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(read_request(rows[i], &h) == -ATS_E_PROTO, "row %zu", i);
}
END_TEST

START_TEST(no_more_fields_than_there_is_room_for)
{
	char text[16 * (ATS_HTTP_FIELDS_MAX + 4)] = REQ;
	struct ats_http_head h;

	for (unsigned i = 0; i < ATS_HTTP_FIELDS_MAX; i++)
		strcat(text, "F: 1\r\n");
	strcat(text, "\r\n");
	ck_assert_int_eq(read_request(text, &h), 0);
	ck_assert_uint_eq(h.nfields, ATS_HTTP_FIELDS_MAX);
	strcpy(text + strlen(text) - 2, "F: 1\r\n\r\n");
	ck_assert_int_eq(read_request(text, &h), -ATS_E_PROTO);
}
END_TEST

START_TEST(a_body_has_one_length)
{
	static const struct {
		const char *fields;
		int rc;
		enum ats_http_framing framing;
		uint64_t length;
	} rows[] = {
		{ "", 0, ATS_HTTP_NONE, 0 },
		{ "Content-Length: 0\r\n", 0, ATS_HTTP_LENGTH, 0 },
		{ "Content-Length: 007\r\n", 0, ATS_HTTP_LENGTH, 7 },
		{ "content-length: 999999999999999999\r\n", 0, ATS_HTTP_LENGTH,
		    999999999999999999 },
		{ "Transfer-Encoding: Chunked\r\n", 0, ATS_HTTP_CHUNKED, 0 },
		{ "Content-Length: 1\r\nContent-Length: 1\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: 1, 1\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", -ATS_E_PROTO, 0,
		    0 },
		{ "Transfer-Encoding: gzip, chunked\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Transfer-Encoding: xchunked\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Transfer-Encoding:\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length:\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: +1\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: -1\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: 0x1\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: 1 2\r\n", -ATS_E_PROTO, 0, 0 },
		{ "Content-Length: 9999999999999999999\r\n", -ATS_E_PROTO, 0, 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		enum ats_http_framing framing;
		struct ats_http_head h;
		uint64_t length;
		char text[200];

		(void)snprintf(text, sizeof(text), REQ "%s\r\n", rows[i].fields);
		ck_assert_int_eq(read_request(text, &h), 0);
		ck_assert_msg(ats_http_framing(&h, &framing, &length, NULL) == rows[i].rc,
		    "row %zu", i);
		if (rows[i].rc == 0) {
			ck_assert_uint_eq(framing, rows[i].framing);
			ck_assert_uint_eq(length, rows[i].length);
		}
	}
}
END_TEST

START_TEST(a_response_has_a_status)
{
	static const struct {
		const char *line;
		unsigned status;
	} rows[] = {
		{ "HTTP/1.1 101 Switching", 101 }, { "HTTP/1.1 200", 200 },
		{ "HTTP/1.1 404 ", 404 },
		{ "HTTP/1.0 200 OK", 0 }, { "HTTP/1.1 20 OK", 0 }, { "HTTP/1.1 2000 OK", 0 },
		{ "HTTP/1.1 2x0 OK", 0 }, { "HTTP/1.1", 0 }, { "HTTP/1.1  200", 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_http_head h;
		char text[100];
		int n = snprintf(text, sizeof(text), "%s\r\nA: b\r\n\r\n", rows[i].line);

		ck_assert_int_eq(ats_http_response_read(text, (size_t)n, &h, NULL),
		    rows[i].status == 0 ? -ATS_E_PROTO : 0);
		ck_assert_msg(rows[i].status == 0 || h.status == rows[i].status, "row %zu", i);
	}
}
END_TEST

/* Whatever the pieces that it comes in. */
START_TEST(chunks_are_the_body_in_any_pieces)
{
	static const char text[] = "5\r\nhello\r\n00A\r\n, wide \r\nw\r\n4\r\norld\r\n0\r\n\r\n"
	    "NEXT";

	for (size_t piece = 1; piece <= sizeof(text) - 1; piece++) {
		struct ats_http_chunks c = { 0 };
		char got[64] = "";
		size_t used = 0, have = 0;

		while (!c.done) {
			char buf[sizeof(text)];
			size_t left = sizeof(text) - 1 - used, n = left < piece ? left : piece, out;
			int64_t rc;

			ck_assert_uint_gt(n, 0);
			memcpy(buf, text + used, n);
			rc = ats_http_chunks_decode(&c, buf, n, &out);
			ck_assert_int_ge(rc, 0);
			memcpy(got + have, buf, out);
			have += out;
			used += (size_t)rc;
		}
		ck_assert_str_eq(got, "hello, wide \r\nworld");
		ck_assert_str_eq(text + used, "NEXT");
	}
}
END_TEST

START_TEST(chunks_are_read_strictly)
{
	static const char *const rows[] = { "\r\n", "g\r\n", "5;x=y\r\nhello\r\n", "5\nhello",
		"5\r\rhello", " 5\r\n", "5 \r\n", "5\r\nhelloX", "5\r\nhello\rX", "123456789\r\n",
		"-1\r\n", "0x5\r\n", "0\r\nTrailer: x\r\n\r\n", "0\r\n\rX" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_http_chunks c = { 0 };
		char buf[64];
		size_t n = strlen(rows[i]), out;

		memcpy(buf, rows[i], n);
		ck_assert_msg(ats_http_chunks_decode(&c, buf, n, &out) == -ATS_E_PROTO,
		    "row %zu", i);
	}
}
END_TEST

ATS_UNIT_MAIN("http_head", a_request_has_its_parts,
    what_two_readers_could_read_differently_is_refused, no_more_fields_than_there_is_room_for,
    a_body_has_one_length, a_response_has_a_status, chunks_are_the_body_in_any_pieces,
    chunks_are_read_strictly)
