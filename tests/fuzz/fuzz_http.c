/* SPDX-License-Identifier: Apache-2.0
 *
 * What reaches ats-http. Input: how long the pieces are, then a request. The end of the head is
 * the same whatever was looked at before; a head that is taken has one framing, and with it one
 * body, whatever the pieces; the message in it is found inside of it; what the engine gets of a
 * request of 2026-07-28 is one line with an id of ours. */
#include "brain/http/gate.h"
#include "brain/http/message.h"
#include "brain/http/modern.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define METRICS_TOKEN "metrics-metrics-metrics-metrics-"
#define BODY_MAX (1u << 20)

static const struct gate *
gate(void)
{
	static const char *const hosts[] = { "tools.example" }, *const origins[] = {
		"https://app.example" };
	static struct gate g = { .hosts = hosts, .origins = origins, .nhosts = 1, .norigins = 1,
		.body_max = BODY_MAX };
	char token[] = TOKEN, metrics[] = METRICS_TOKEN;

	if (g.token == NULL) {
		struct ats_secret *s;

		FUZZ_CHECK(ats_secret_new(token, sizeof(token) - 1, &s, NULL) == 0);
		g.token = s;
		FUZZ_CHECK(ats_secret_new(metrics, sizeof(metrics) - 1, &s, NULL) == 0);
		g.metrics_token = s;
	}
	return &g;
}

static void
check_inside(struct ats_slice part, const char *p, size_t n)
{
	FUZZ_CHECK(part.p == NULL || (part.p >= p && part.p + part.n <= p + n));
}

/* A request of 2026-07-28 that is in order is one line with an id of ours, and nothing else of it
 * has changed: with the client's own id it is what came. */
static void
read_modern(const struct ats_http_head *h, const struct message *m)
{
	static const struct ats_http_head none = { .nfields = 0 };
	struct ats_slice parts[3];
	struct ats_buf line;
	struct message again;
	struct modern q;
	const char *why;

	modern_check(h != NULL ? h : &none, m, &q);
	ats_buf_init(&line, SIZE_MAX / 2);
	FUZZ_CHECK((q.status == 0) == (q.code == 0));
	FUZZ_CHECK(q.headers.len == 0 || q.status != 0 ||
	    ats_json_scan(q.headers.data, q.headers.len, NULL) == 0);
	if (q.status == 0) {
		FUZZ_CHECK(modern_line(m, "\"h-1\"", &q.headers, &line) == 0);
		FUZZ_CHECK(memchr(line.data, '\n', line.len) == NULL);
		FUZZ_CHECK(message_read(line.data, line.len, &again, &why) == 0);
		FUZZ_CHECK(again.id.n == 5 && memcmp(again.id.p, "\"h-1\"", 5) == 0);
		FUZZ_CHECK(again.method.n == m->method.n);
		modern_splice(again.whole, again.id, "\"h-1\"", parts);
		FUZZ_CHECK(parts[0].n + parts[1].n + parts[2].n == line.len);
	}
	ats_buf_done(&q.headers);
	ats_buf_done(&line);
}

static void
read_message(const struct ats_http_head *h, const char *p, size_t n)
{
	struct message m;
	struct said said;
	const char *why;
	int rc = message_read(p, n, &m, &why);
	size_t len;
	char *line;

	check_inside(m.id, p, n);
	check_inside(m.method, p, n);
	check_inside(m.token, p, n);
	check_inside(m.whole, p, n);
	FUZZ_CHECK(rc != 0 || (m.whole.n >= 2 && m.whole.p[0] == '{'));
	if (rc == 0) {
		(void)modern_is("", &m);
		line = message_line(m.whole, &len);
		FUZZ_CHECK(line != NULL && len == m.whole.n && strpbrk(line, "\r\n") == NULL);
		FUZZ_CHECK(ats_json_scan(line, len, NULL) == 0);
		free(line);
	}
	if (rc == 0 && m.id.p != NULL && m.method.p != NULL)
		read_modern(h, &m);
	if (rc == 0 && message_said(m.whole, &said) == 0) {
		FUZZ_CHECK(said.id.n == m.id.n);
		check_inside(said.token, p, n);
		check_inside(said.subscription, p, n);
		check_inside(said.result, p, n);
		FUZZ_CHECK(modern_status(said.code) >= 200 && modern_status(said.code) < 500);
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
read_body(const struct ats_http_head *h, struct ats_slice rest, const struct request *r,
    size_t piece)
{
	struct ats_buf whole, pieces;
	int64_t a, b;

	if (r->framing != ATS_HTTP_CHUNKED) {
		if (r->length <= rest.n)
			read_message(h, rest.p, (size_t)r->length);
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
		read_message(h, whole.data, whole.len);
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
		read_message(NULL, text, in.n);
	} else if (ats_http_tunnel_read(text, n, &h, NULL) == 0) {
		FUZZ_CHECK((ats_http_response_read(text, n, &h, NULL) == 0) == (text[7] == '1'));
		FUZZ_CHECK(h.status < 1000 && h.nfields <= ATS_HTTP_FIELDS_MAX);
	} else if (ats_http_request_read(text, n, &h, NULL) == 0) {
		status = gate_judge(gate(), &h, &r, &why);
		FUZZ_CHECK(status == 0 || (status >= 400 && status < 500 && why != NULL));
		FUZZ_CHECK(r.framing != ATS_HTTP_LENGTH || status != 0 || r.length <= BODY_MAX);
		/* Neither token opens the other's door. */
		FUZZ_CHECK(status != 0 || memmem(text, n, r.metrics ? METRICS_TOKEN : TOKEN,
		    sizeof(TOKEN) - 1) != NULL);
		FUZZ_CHECK(!r.metrics || status != 0 || (r.framing == ATS_HTTP_NONE &&
		    r.method == GATE_POST && r.session[0] == '\0'));
		if (status == 0)
			read_body(&h, (struct ats_slice){ text + n, in.n - n }, &r, piece);
	}
	free(text);
	return 0;
}
