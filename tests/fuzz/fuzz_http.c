/* SPDX-License-Identifier: Apache-2.0
 *
 * What reaches ats-http. Input: how long the pieces are, then a request. The end of the head is
 * the same whatever was looked at before; a head that is taken has one framing, and with it one
 * body, whatever the pieces; the message in it is found inside of it. */
#include "brain/http/gate.h"
#include "brain/http/message.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define BODY_MAX (1u << 20)

static const struct gate *
gate(void)
{
	static const char *const hosts[] = { "tools.example" }, *const origins[] = {
		"https://app.example" };
	static struct gate g = { .hosts = hosts, .origins = origins, .nhosts = 1, .norigins = 1,
		.body_max = BODY_MAX };
	char token[] = TOKEN;

	if (g.token == NULL) {
		struct ats_secret *s;

		FUZZ_CHECK(ats_secret_new(token, sizeof(token) - 1, &s, NULL) == 0);
		g.token = s;
	}
	return &g;
}

static void
check_inside(struct ats_slice part, const char *p, size_t n)
{
	FUZZ_CHECK(part.p == NULL || (part.p >= p && part.p + part.n <= p + n));
}

static void
read_message(const char *p, size_t n)
{
	struct message m;
	struct said said;
	const char *why;
	int rc = message_read(p, n, &m, &why);

	check_inside(m.id, p, n);
	check_inside(m.method, p, n);
	check_inside(m.token, p, n);
	check_inside(m.whole, p, n);
	FUZZ_CHECK(rc != 0 || (m.whole.n >= 2 && m.whole.p[0] == '{'));
	if (rc == 0 && message_said(m.whole, &said) == 0) {
		FUZZ_CHECK(said.id.n == m.id.n);
		check_inside(said.token, p, n);
		check_inside(said.result, p, n);
	}
}

/* The body by pieces; returns how many bytes of it were used, or a negative error. */
static int64_t
unchunk(struct ats_slice s, size_t piece, struct ats_buf *out)
{
	struct ats_http_chunks c = { 0 };
	size_t at = 0, got;

	while (at < s.n && !c.done) {
		size_t k = s.n - at < piece ? s.n - at : piece;
		char *copy = fuzz_copy((struct ats_slice){ s.p + at, k });
		int64_t used = ats_http_chunks_decode(&c, copy, k, &got);

		if (used >= 0) {
			FUZZ_CHECK((size_t)used <= k && got <= (size_t)used);
			FUZZ_CHECK((size_t)used == k || c.done);
			FUZZ_CHECK(ats_buf_add(out, copy, got) == 0);
			at += (size_t)used;
		}
		free(copy);
		if (used < 0)
			return used;
	}
	return (int64_t)at;
}

static void
read_body(struct ats_slice rest, const struct request *r, size_t piece)
{
	struct ats_buf whole, pieces;
	int64_t a, b;

	if (r->framing != ATS_HTTP_CHUNKED) {
		if (r->length <= rest.n)
			read_message(rest.p, (size_t)r->length);
		return;
	}
	ats_buf_init(&whole, SIZE_MAX / 2);
	ats_buf_init(&pieces, SIZE_MAX / 2);
	a = unchunk(rest, rest.n + 1, &whole);
	b = unchunk(rest, piece, &pieces);
	FUZZ_CHECK(a == b);
	if (a >= 0) {
		FUZZ_CHECK(whole.len == pieces.len &&
		    memcmp(whole.data, pieces.data, whole.len) == 0);
		read_message(whole.data, whole.len);
	}
	ats_buf_done(&whole);
	ats_buf_done(&pieces);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ats_slice in = { (const char *)data + 1, size - 1 };
	struct ats_http_head h;
	struct request r;
	const char *why;
	size_t n, piece;
	char *text;
	int status;

	if (size < 1)
		return 0;
	piece = 1 + data[0] % 32;
	text = fuzz_copy(in);
	n = ats_http_head_end(text, in.n, 0);
	for (size_t from = 0; from < in.n && from < n; from += piece)
		FUZZ_CHECK(ats_http_head_end(text, in.n, from) == n || from + 3 > n);
	if (n == 0) {
		read_message(text, in.n);
	} else if (ats_http_response_read(text, n, &h, NULL) == 0) {
		FUZZ_CHECK(h.status < 1000 && h.nfields <= ATS_HTTP_FIELDS_MAX);
	} else if (ats_http_request_read(text, n, &h, NULL) == 0) {
		status = gate_judge(gate(), &h, &r, &why);
		FUZZ_CHECK(status == 0 || (status >= 400 && status < 500 && why != NULL));
		FUZZ_CHECK(r.framing != ATS_HTTP_LENGTH || status != 0 || r.length <= BODY_MAX);
		if (status == 0)
			read_body((struct ats_slice){ text + n, in.n - n }, &r, piece);
	}
	free(text);
	return 0;
}
