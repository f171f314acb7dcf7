/* SPDX-License-Identifier: Apache-2.0
 *
 * What upstreams and callers send to ats-gateway, by the first byte: events of a stream, a result
 * of tools/call, a list of tools, the arguments of a request, text to be masked. Whatever comes,
 * results are valid UTF-8 below their cap, no credential is in them, paths keep their form, and
 * events do not depend on how they are cut. */
#include "brain/gateway/encode.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/mcp_content.h"
#include "brain/gateway/mcp_tools.h"
#include "brain/gateway/sse.h"
#include "common/log.h"
#include "proto/brain.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "sEcr3t/+"
#define OUT_MAX (1u << 20)

static int
on_event(void *ctx, const char *data, size_t n)
{
	int rc = ats_buf_add(ctx, data, n);

	return rc < 0 ? rc : ats_buf_add_char(ctx, '\0');
}

static void
events(const char *p, size_t n)
{
	struct ats_buf whole ATS_CLEANUP_BUF = { 0 }, cut ATS_CLEANUP_BUF = { 0 };
	struct sse s;
	int rc, rc2 = 0;

	ats_buf_init(&whole, OUT_MAX);
	ats_buf_init(&cut, OUT_MAX);
	sse_init(&s, 200);
	rc = sse_add(&s, p, n, on_event, &whole);
	sse_done(&s);
	sse_init(&s, 200);
	for (size_t i = 0; rc2 == 0 && i < n; i++)
		rc2 = sse_add(&s, p + i, 1, on_event, &cut);
	sse_done(&s);
	FUZZ_CHECK(!(rc != rc2));
	FUZZ_CHECK(rc != 0 ||
	    (whole.len == cut.len && memcmp(whole.data, cut.data, cut.len) == 0));
}

static void
check(const struct result *r)
{
	size_t images = r->images;

	FUZZ_CHECK(!(r->text > RESULT_TEXT_MAX || images > RESULT_IMAGE_MAX));
	FUZZ_CHECK(!(r->nblocks > RESULT_BLOCKS_MAX));
	if (images == 0) {
		FUZZ_CHECK(!(!ats_utf8_valid(r->payload.data, r->payload.len)));
		FUZZ_CHECK(memmem(r->payload.data, r->payload.len, SECRET, strlen(SECRET)) == NULL);
	}
}

static void
content(const struct mask *m, struct ats_slice text)
{
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	struct result r;

	if (ats_json_scan(text.p, text.n, NULL) < 0)
		return;
	result_init(&r, m);
	if (mcp_content(&r, "gw", text) < 0)
		result_fail(&r, ATS_E_UPSTREAM, "none");
	check(&r);
	ats_buf_init(&json, 64u << 10);
	FUZZ_CHECK(!(result_json(&r, 1, &json) < 0));
	result_done(&r);
}

static void
tools(struct ats_slice text)
{
	char gw[] = "gw", allowed[] = "b";
	char *allow[] = { allowed, NULL };
	struct ats_gw_config c = { .name = gw, .allow = { allow, 1 } };
	struct mcp_tools *l;
	char *cursor;

	if (ats_json_scan(text.p, text.n, NULL) < 0)
		return;
	for (unsigned some = 0; some < 2; some++) {
		c.has_allow = some == 1;
		l = mcp_tools_new();
		cursor = NULL;
		if (l != NULL && mcp_tools_page(l, &c, text, &cursor) == 0)
			free(cursor);
		for (size_t i = 0; l != NULL && i < l->n; i++) {
			FUZZ_CHECK(!(ats_json_scan(l->v[i].json, strlen(l->v[i].json), NULL) < 0));
			FUZZ_CHECK(!(mcp_tools_find(l, &c, l->v[i].name) != &l->v[i]));
			FUZZ_CHECK(!(strlen(l->v[i].shown) >= ATS_GATEWAY_TOOL_MAX));
		}
		mcp_tools_free(l);
	}
}

static struct ats_gw_part parts[] = { { false, (char[]){ "/a/" } },
	{ true, (char[]){ "x" } }, { true, (char[]){ "y" } }, { false, (char[]){ "/z" } } };
static struct ats_gw_query query[] = { { (char[]){ "q" }, { parts + 1, 1 } },
	{ (char[]){ "r" }, { parts, 3 } } };
static const struct ats_gw_tool t = { .path = { parts, 4 }, .query = query, .nquery = 2 };

static void
request(struct ats_slice args)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };

	if (ats_json_scan(args.p, args.n, NULL) < 0 || ats_json_type(args) != ATS_JSON_OBJECT)
		return;
	ats_buf_init(&out, OUT_MAX);
	if (encode_path(&out, &t.path, args, NULL) == 0) {
		size_t slashes = 0;

		for (size_t i = 0; i < out.len; i++) {
			slashes += out.data[i] == '/';
			FUZZ_CHECK(!(strchr("?#\\ \r\n", out.data[i]) != NULL));
		}
		FUZZ_CHECK(!(slashes != 3 || strstr(out.data, "/../") != NULL ||
		    strstr(out.data, "/./") != NULL));
	}
	ats_buf_reset(&out);
	if (encode_query(&out, &t, args, NULL) == 0)
		FUZZ_CHECK(!(strpbrk(out.data, "#?/ \r\n") != NULL));
	ats_buf_reset(&out);
	if (encode_rest(&out, &t, args, false, NULL) == 0)
		FUZZ_CHECK(!(ats_json_scan(out.data, out.len, NULL) < 0));
	ats_buf_reset(&out);
	if (encode_rest(&out, &t, args, true, NULL) == 0)
		FUZZ_CHECK(!(strpbrk(out.data, "#?/ \r\n") != NULL));
}

static void
text(const struct mask *m, const char *p, size_t n)
{
	struct gather g;
	struct result r;

	gather_init(&g, m);
	result_init(&r, m);
	g.stopped = n % 2 == 1;
	FUZZ_CHECK(!(gather_add(&g, p, n) < 0 || result_gathered(&r, &g) < 0));
	FUZZ_CHECK(!(result_text(&r, p, n) < 0 || result_image(&r, "image/png", p, n) < 0));
	check(&r);
	result_done(&r);
	gather_done(&g);
}

/* Cut, at its end and for a line of a log, with the secret before and the one now. */
static void
cuts(const char *p, size_t n)
{
	struct mask *m = mask_new("another-" SECRET, strlen("another-" SECRET));
	size_t max = n % 97;
	struct ats_buf out;
	char line[128];

	FUZZ_CHECK(m != NULL && mask_renew(m, SECRET, strlen(SECRET)) == 0);
	FUZZ_CHECK(mask_longest(m) >= strlen(SECRET));
	ats_buf_init(&out, 1u << 20);
	FUZZ_CHECK(mask_cut(m, p, n, max, &out) == 0 && out.len <= max);
	FUZZ_CHECK(memmem(out.data, out.len, SECRET, strlen(SECRET)) == NULL);
	ats_buf_reset(&out);
	FUZZ_CHECK(mask_tail(m, p, n, max, &out) == 0 && out.len <= max);
	FUZZ_CHECK(memmem(out.data, out.len, SECRET, strlen(SECRET)) == NULL);
	FUZZ_CHECK(mask_quote(m, line, sizeof(line), p, n) == line);
	FUZZ_CHECK(strlen(line) < sizeof(line) && strstr(line, SECRET) == NULL);
	ats_buf_done(&out);
	mask_free(m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mask *m;
	const char *p = (const char *)data + 1;

	if (m == NULL) {
		ats_log_level_set(ATS_LOG_ERROR);
		m = mask_new(SECRET, strlen(SECRET));
	}
	if (size == 0 || m == NULL)
		return 0;
	size--;
	if (data[0] == 'e')
		events(p, size);
	else if (data[0] == 'c')
		content(m, (struct ats_slice){ p, size });
	else if (data[0] == 't')
		tools((struct ats_slice){ p, size });
	else if (data[0] == 'r')
		request((struct ats_slice){ p, size });
	else
		text(m, p, size);
	if (data[0] >= 'u')
		cuts(p, size);
	return 0;
}
