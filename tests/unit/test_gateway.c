/* SPDX-License-Identifier: Apache-2.0
 *
 * The pure parts of ats-gateway: addresses, templates, masks, results, events, content, tools. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "brain/gateway/address.h"
#include "brain/gateway/encode.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/mcp_content.h"
#include "brain/gateway/mcp_tools.h"
#include "brain/gateway/result.h"
#include "brain/gateway/sse.h"
#include "common/base64.h"
#include "proto/brain.h"
#include "tests/lib/unit.h"

static struct ats_slice
slice(const char *s)
{
	return (struct ats_slice){ s, strlen(s) };
}

/* ---- addresses ------------------------------------------------------------------------------- */
static enum address_class
class_of(const char *text, struct sockaddr_storage *ss, socklen_t *len)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(ss, &in, sizeof(in));
		*len = sizeof(in);
	} else {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
		memcpy(ss, &in6, sizeof(in6));
		*len = sizeof(in6);
	}
	return address_classify((struct sockaddr *)ss, *len);
}

START_TEST(address_classify_knows_the_registries)
{
	static const struct {
		const char *text;
		enum address_class want;
	} rows[] = {
		{ "8.8.8.8", ADDRESS_PUBLIC }, { "1.1.1.1", ADDRESS_PUBLIC },
		{ "11.0.0.0", ADDRESS_PUBLIC }, { "9.255.255.255", ADDRESS_PUBLIC },
		{ "10.0.0.0", ADDRESS_PRIVATE }, { "10.255.255.255", ADDRESS_PRIVATE },
		{ "100.63.255.255", ADDRESS_PUBLIC }, { "100.64.0.0", ADDRESS_PRIVATE },
		{ "100.127.255.255", ADDRESS_PRIVATE }, { "100.128.0.0", ADDRESS_PUBLIC },
		{ "127.0.0.1", ADDRESS_PRIVATE }, { "127.255.255.255", ADDRESS_PRIVATE },
		{ "169.254.169.254", ADDRESS_LINK }, { "169.253.0.1", ADDRESS_PUBLIC },
		{ "172.15.255.255", ADDRESS_PUBLIC }, { "172.16.0.0", ADDRESS_PRIVATE },
		{ "172.31.255.255", ADDRESS_PRIVATE }, { "172.32.0.0", ADDRESS_PUBLIC },
		{ "192.168.0.1", ADDRESS_PRIVATE }, { "192.169.0.1", ADDRESS_PUBLIC },
		{ "192.0.0.8", ADDRESS_NEVER }, { "192.0.2.1", ADDRESS_NEVER },
		{ "198.18.0.1", ADDRESS_PRIVATE }, { "198.20.0.1", ADDRESS_PUBLIC },
		{ "198.51.100.1", ADDRESS_NEVER }, { "203.0.113.1", ADDRESS_NEVER },
		{ "0.0.0.0", ADDRESS_NEVER }, { "0.1.2.3", ADDRESS_NEVER },
		{ "223.255.255.255", ADDRESS_PUBLIC }, { "224.0.0.1", ADDRESS_NEVER },
		{ "240.0.0.1", ADDRESS_NEVER }, { "255.255.255.255", ADDRESS_NEVER },
		{ "2606:4700::1", ADDRESS_PUBLIC }, { "::1", ADDRESS_PRIVATE },
		{ "::", ADDRESS_NEVER }, { "::2", ADDRESS_NEVER }, { "fe80::1", ADDRESS_LINK },
		{ "febf::1", ADDRESS_LINK }, { "fec0::1", ADDRESS_PRIVATE },
		{ "fc00::1", ADDRESS_PRIVATE }, { "fdff::1", ADDRESS_PRIVATE },
		{ "fd00:ec2::254", ADDRESS_LINK }, { "ff02::1", ADDRESS_NEVER },
		{ "2001:db8::1", ADDRESS_NEVER }, { "2001::1", ADDRESS_NEVER },
		{ "2001:200::1", ADDRESS_PUBLIC }, { "3fff::1", ADDRESS_NEVER },
		{ "4000::1", ADDRESS_NEVER }, { "::ffff:8.8.8.8", ADDRESS_PUBLIC },
		{ "::ffff:127.0.0.1", ADDRESS_PRIVATE }, { "::127.0.0.1", ADDRESS_PRIVATE },
		{ "::ffff:169.254.169.254", ADDRESS_LINK }, { "64:ff9b::7f00:1", ADDRESS_PRIVATE },
		{ "64:ff9b::808:808", ADDRESS_PUBLIC }, { "64:ff9b:1::1", ADDRESS_NEVER },
		{ "2002:7f00:1::", ADDRESS_PRIVATE }, { "2002:808:808::", ADDRESS_PUBLIC },
	};
	struct sockaddr_storage ss = { 0 };
	socklen_t len;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(class_of(rows[i].text, &ss, &len) == rows[i].want, "%s",
		    rows[i].text);
	ss.ss_family = AF_UNIX;
	ck_assert_int_eq(address_classify((struct sockaddr *)&ss, sizeof(ss)), ADDRESS_NEVER);
	ss.ss_family = AF_INET6;
	ck_assert_int_eq(address_classify((struct sockaddr *)&ss, 4), ADDRESS_NEVER);
}
END_TEST

START_TEST(address_is_allowed_as_the_configuration_says)
{
	static const struct {
		const char *text, *host;
		bool private, want;
	} rows[] = {
		{ "8.8.8.8", "x.example", false, true }, { "10.1.1.1", "x.example", false, false },
		{ "10.1.1.1", "x.example", true, true }, { "::1", "localhost", true, true },
		{ "169.254.169.254", "x.example", true, false },
		{ "169.254.169.254", "169.254.169.254", true, true },
		{ "169.254.169.254", "169.254.169.254", false, false },
		{ "fe80::1", "fe80::1", true, true }, { "fe80::2", "fe80::1", true, false },
		{ "0.0.0.0", "0.0.0.0", true, false },
	};
	struct sockaddr_storage ss = { 0 };
	socklen_t len;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		(void)class_of(rows[i].text, &ss, &len);
		ck_assert_msg(address_is_allowed((struct sockaddr *)&ss, len, rows[i].host,
		    rows[i].private) == rows[i].want, "%zu", i);
	}
}
END_TEST

/* ---- templates ------------------------------------------------------------------- */
static struct ats_gw_part path_parts[] = { { false, (char[]){ "/a/" } }, { true, (char[]){ "x" } },
	{ true, (char[]){ "y" } }, { false, (char[]){ "/end" } } };
static const struct ats_gw_template path = { path_parts, ATS_ARRAY_LEN(path_parts) };

START_TEST(encode_path_keeps_arguments_in_their_segment)
{
	static const struct {
		const char *args, *want;	/* NULL: refused */
	} rows[] = {
		{ "{\"x\":\"b\",\"y\":1}", "/a/b1/end" },
		{ "{\"x\":\"\\u00e9 %\",\"y\":true}", "/a/%C3%A9%20%25true/end" },
		{ "{\"x\":\"?#&=;@:!\",\"y\":\"~-._\"}",
		    "/a/%3F%23%26%3D%3B%40%3A%21~-._/end" },
		{ "{\"x\":\".\",\"y\":\".\"}", NULL },
		{ "{\"x\":\"..\",\"y\":\"a\"}", "/a/..a/end" },
		{ "{\"x\":\"a/b\",\"y\":1}", NULL },
		{ "{\"x\":\"a\\\\b\",\"y\":1}", NULL },
		{ "{\"x\":\"\",\"y\":1}", NULL },
		{ "{\"x\":\"a\\u0000\",\"y\":1}", NULL },
		{ "{\"x\":\"a\\n\",\"y\":1}", NULL },
		{ "{\"x\":\"a\\u007f\",\"y\":1}", NULL },
		{ "{\"x\":null,\"y\":1}", NULL },
		{ "{\"x\":[],\"y\":1}", NULL },
		{ "{\"y\":1}", NULL },
	};
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_err err = { 0 };

	ats_buf_init(&out, 100);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		int rc;

		ats_buf_reset(&out);
		rc = encode_path(&out, &path, slice(rows[i].args), &err);
		ck_assert_msg(rc == (rows[i].want != NULL ? 0 : -ATS_E_INVAL), "%s", rows[i].args);
		if (rc == 0)
			ck_assert_str_eq(out.data, rows[i].want);
	}
	/* Over the cap it is too big, not cut. */
	ck_assert_int_eq(encode_path(&out, &path,
			     slice("{\"x\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				   "aaaaaaaaaaaaaaaaaaaaaaaaa\","
				   "\"y\":1}"),
			     &err),
	    -ATS_E_TOOBIG);
}
END_TEST

START_TEST(encode_rest_leaves_out_what_the_path_has)
{
	struct ats_gw_tool t = { .path = path };
	struct ats_slice args = slice("{\"x\":1,\"k \\\"\":[1, {\"x\":2}],\"y\":2,\"z\":\"a b&\"}");
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&out, 1000);
	ck_assert_int_eq(encode_rest(&out, &t, args, false, NULL), 0);
	ck_assert_str_eq(out.data, "{\"k \\\"\":[1, {\"x\":2}],\"z\":\"a b&\"}");
	ats_buf_reset(&out);
	ck_assert_int_eq(encode_rest(&out, &t, args, true, NULL), -ATS_E_INVAL);
	ats_buf_reset(&out);
	ck_assert_int_eq(
	    encode_rest(&out, &t, slice("{\"x\":1,\"k \":3,\"z\":\"a b&\"}"), true, NULL),
	    0);
	ck_assert_str_eq(out.data, "k+=3&z=a+b%26");
}
END_TEST

/* ---- masks and results ----------------------------------------------------------- */
static void
masked(const struct mask *m, const char *in, const char *want)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&out, 4096);
	ck_assert_int_eq(mask_apply(m, in, strlen(in), &out), 0);
	ck_assert_str_eq(out.data, want);
}

START_TEST(mask_apply_finds_each_form)
{
	static const char secret[] = "a/b+c\"d\\e f\xc3\xa9=1";
	struct mask *m = mask_new(secret, sizeof(secret) - 1);
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	masked(m, "x a/b+c\"d\\e f\xc3\xa9=1 y a/b+c", "x *** y a/b+c");
	masked(m, "a/b+c\\\"d\\\\e f\xc3\xa9=1|a\\/b+c\\\"d\\\\e f\xc3\xa9=1", "***|***");
	masked(m, "a%2Fb%2Bc%22d%5Ce%20f%C3%A9%3D1", "***");
	masked(m, "a%2fb%2bc%22d%5ce%20f%c3%a9%3d1", "***");
	masked(m, "?q=a%2Fb%2Bc%22d%5Ce+f%C3%A9%3D1&", "?q=***&");
	masked(m, "612f622b6322645c652066c3a93d31 612F622B6322645C652066C3A93D31", "*** ***");
	masked(NULL, secret, secret);
	/* Base64 at each offset, with something before and behind it. */
	ats_buf_init(&text, 4096);
	for (size_t before = 0; before < 6; before++)
		for (size_t after = 0; after < 4; after++) {
			struct ats_buf raw ATS_CLEANUP_BUF = { 0 }, out ATS_CLEANUP_BUF = { 0 };

			ats_buf_init(&raw, 100);
			ats_buf_init(&out, 4096);
			ats_buf_reset(&text);
			ck_assert_int_eq(ats_buf_add(&raw, "zzzzzz", before), 0);
			ck_assert_int_eq(ats_buf_add_str(&raw, secret), 0);
			ck_assert_int_eq(ats_buf_add(&raw, "yyyy", after), 0);
			ck_assert_int_eq(ats_base64_encode(raw.data, raw.len, &text), 0);
			ck_assert_int_eq(mask_apply(m, text.data, text.len, &out), 0);
			ck_assert_msg(strstr(out.data, "***") != NULL && out.len < 3 + 8 + 8,
			    "%zu %zu: %s", before, after, out.data);
		}
	mask_free(m);
	/* One too short to tell from other text is left. */
	m = mask_new("abc", 3);
	masked(m, "abcabc", "abcabc");
	mask_free(m);
}
END_TEST

START_TEST(cuts_leave_no_part_of_a_form)
{
	struct mask *m = mask_new("SECRET012345", 12);
	struct ats_buf in ATS_CLEANUP_BUF = { 0 }, out ATS_CLEANUP_BUF = { 0 };
	char log[6000];

	ats_buf_init(&in, 1 << 20);
	ats_buf_init(&out, 1 << 20);
	for (size_t i = 0; i < 5000; i++)
		ck_assert_int_eq(ats_buf_add_str(&in, "SECRET012345"), 0);
	for (size_t n = in.len - 12; n < in.len; n++) {
		ats_buf_reset(&out);
		ck_assert_int_eq(mask_cut(m, in.data, n, 200, &out), 0);
		ck_assert_ptr_null(memchr(out.data, 'E', out.len));
		ck_assert_ptr_null(strchr(mask_quote(m, log, sizeof(log), in.data, n), 'E'));
		ats_buf_reset(&out);
		ck_assert_int_eq(mask_tail(m, in.data + in.len - n, n, 200, &out), 0);
		ck_assert_ptr_null(memchr(out.data, 'E', out.len));
		ck_assert_uint_le(out.len, 200);
	}
	ats_buf_reset(&out);
	ck_assert_int_eq(mask_cut(m, "short\xc3\xa9", 7, 6, &out), 0);
	ck_assert_str_eq(out.data, "short");
	ats_buf_reset(&out);
	ck_assert_int_eq(mask_cut(NULL, "whole", 5, 5, &out), 0);
	ck_assert_str_eq(out.data, "whole");
	mask_free(m);
}
END_TEST

START_TEST(mask_renew_keeps_the_secret_before)
{
	char secret[] = "secret-0/", text[128];
	struct mask *m = mask_new(secret, sizeof(secret) - 1);

	for (char c = '1'; c <= '9'; c++) {
		secret[7] = c;
		ck_assert_int_eq(mask_renew(m, secret, sizeof(secret) - 1), 0);
		snprintf(text, sizeof(text), "secret-%c/ secret-%c%%2F x", c, c - 1);
		masked(m, text, "*** *** x");
		if (c > '1') {
			snprintf(text, sizeof(text), "secret-%c/", c - 2);
			masked(m, text, text);
		}
	}
	ck_assert_int_eq(mask_renew(m, "new", 3), 0);	/* too short to tell from other text */
	masked(m, "new secret-9/ secret-8/", "new *** secret-8/");
	mask_free(m);
}
END_TEST

START_TEST(mask_apply_prefers_the_longest)
{
	struct mask *m = mask_new("aaaa", 4);

	masked(m, "aaaaaaaab", "******b");
	masked(m, "aaa", "aaa");
	mask_free(m);
}
END_TEST

START_TEST(result_text_is_capped_at_a_character)
{
	static char text[300001];
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	struct result r;
	const char *mark;

	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[0] = 'x';			/* the cap falls into a character */
	text[1] = 'y';
	memmove(text + 1, text + 2, sizeof(text) - 2);
	result_init(&r, NULL);
	ck_assert_int_eq(result_text(&r, text, strlen(text)), 0);
	mark = strstr(r.payload.data, "\n[cut: the first 99999 of 299999 bytes");
	ck_assert_ptr_nonnull(mark);
	ck_assert_uint_eq((size_t)(mark - r.payload.data), 99999);
	ck_assert(ats_utf8_valid(r.payload.data, r.payload.len));
	/* Nothing more goes in. */
	ck_assert_int_eq(result_text(&r, "more", 4), 0);
	ck_assert_int_eq(result_text(&r, "more", 4), 0);
	ck_assert_uint_le(r.payload.len, RESULT_TEXT_MAX + 200);
	ats_buf_init(&json, 10000);
	ck_assert_int_eq(result_json(&r, 1, &json), 0);
	result_done(&r);
}
END_TEST

/* However the cap falls, no part of a credential is shown. */
START_TEST(result_text_does_not_cut_a_credential)
{
	static const char secret[] = "0123456789abcdef0123456789abcdef";
	struct mask *m = mask_new(secret, 32);
	static char text[200000];

	for (size_t at = RESULT_TEXT_MAX - 40; at < RESULT_TEXT_MAX + 40; at++) {
		struct gather g;
		struct result r;

		memset(text, '-', sizeof(text));
		memcpy(text + at, secret, 32);
		for (unsigned way = 0; way < 3; way++) {
			result_init(&r, m);
			gather_init(&g, m);
			for (size_t i = 0; way > 0 && i < sizeof(text); i += 1000)
				ck_assert_int_eq(gather_add(&g, text + i, 1000), 0);
			g.stopped = way == 2;
			ck_assert_int_eq(way == 0 ? result_text(&r, text, sizeof(text)) :
			    result_gathered(&r, &g), 0);
			ck_assert_msg(memmem(r.payload.data, r.payload.len, "0123", 4) == NULL &&
			    memmem(r.payload.data, r.payload.len, "cdef", 4) == NULL, "%zu", at);
			result_done(&r);
			gather_done(&g);
		}
	}
	/* Where it makes up all of the text, too. */
	for (size_t i = 0; i + 32 <= sizeof(text); i += 32)
		memcpy(text + i, secret, 32);
	for (size_t n = 116000; n < 116040; n++) {
		struct result r;

		result_init(&r, m);
		ck_assert_int_eq(result_text(&r, text, sizeof(text) - n % 64), 0);
		ck_assert_ptr_null(memmem(r.payload.data, r.payload.len, "0123", 4));
		result_done(&r);
	}
	mask_free(m);
}
END_TEST

START_TEST(result_image_is_one_of_four_and_has_a_cap)
{
	static char big[RESULT_IMAGE_MAX + 1];
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	struct result r;

	result_init(&r, NULL);
	ck_assert_int_eq(result_image(&r, "IMAGE/PNG; x=y", "abc", 3), 0);
	ck_assert_int_eq(result_image(&r, "image/svg+xml", "abc", 3), 0);
	ck_assert_int_eq(result_image(&r, "image/gif", big, sizeof(big)), 0);
	ck_assert_int_eq(result_image(&r, "image/gif", big, RESULT_IMAGE_MAX - 3), 0);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_int_eq(result_text(&r, "t", 1), 0);
	ats_buf_init(&json, 10000);
	ck_assert_int_eq(result_json(&r, 1, &json), 0);
	ck_assert_ptr_nonnull(
	    strstr(json.data, "{\"type\":\"image\",\"mime\":\"image/png\",\"len\":3}"));
	ck_assert_ptr_nonnull(strstr(r.payload.data, "[image/svg+xml, 3 bytes: not shown"));
	ck_assert_uint_eq(r.nblocks, RESULT_BLOCKS_MAX);
	result_done(&r);
}
END_TEST

/* ---- events
 * --------------------------------------------------------------------------------------
 */
static int
on_event(void *ctx, const char *data, size_t n)
{
	struct ats_buf *out = ctx;
	int rc = ats_buf_add(out, data, n);

	return rc < 0 ? rc : ats_buf_add_char(out, '|');
}

START_TEST(sse_add_reads_events_however_they_are_cut)
{
	static const char in[] =
	    ": c\n\ndata: a\ndata:b\nid: 1\n\nevent: other\ndata: no\n\n"
	    "event: message\r\ndata: c\r\n\r\ndata: d\r\rdata\n\ndata: \n\ndata: e";
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&out, 1000);
	for (size_t step = 1; step < sizeof(in); step++) {
		struct sse s;

		sse_init(&s, 100);
		ats_buf_reset(&out);
		for (size_t at = 0; at < sizeof(in) - 1; at += step) {
			size_t n = sizeof(in) - 1 - at < step ? sizeof(in) - 1 - at : step;

			ck_assert_int_eq(sse_add(&s, in + at, n, on_event, &out), 0);
		}
		ck_assert_str_eq(out.data, "a\nb|c|d|");
		sse_done(&s);
	}
}
END_TEST

START_TEST(sse_add_has_a_cap)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct sse s;

	ats_buf_init(&out, 1000);
	sse_init(&s, 10);
	ck_assert_int_eq(sse_add(&s, "data: 12345678", 14, on_event, &out), -ATS_E_TOOBIG);
	sse_done(&s);
	sse_init(&s, 10);
	ck_assert_int_eq(sse_add(&s, "data:1234\ndata:1234\ndata:1\n", 27, on_event, &out),
	    -ATS_E_TOOBIG);
	sse_done(&s);
}
END_TEST

/* ---- MCP
 * -------------------------------------------------------------------------------------------
 */
START_TEST(mcp_content_refuses_what_is_none)
{
	static const char *const rows[] = { "[]", "1", "{\"content\":{}}", "{\"content\":[1]}",
		"{\"content\":[{\"type\":\"resource\"}]}",
		"{\"content\":[{\"type\":\"resource\",\"resource\":[]}]}" };
	struct result r;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		result_init(&r, NULL);
		ck_assert_msg(mcp_content(&r, "g", slice(rows[i])) == -ATS_E_FIELD, "%s", rows[i]);
		result_done(&r);
	}
	result_init(&r, NULL);
	ck_assert_int_eq(mcp_content(&r, "g", slice("{\"content\":[],\"isError\":true}")), 0);
	ck_assert(r.is_error);
	result_done(&r);
}
END_TEST

START_TEST(mcp_tools_page_takes_names_that_agents_can_call)
{
	struct ats_gw_config c = { .name = (char[]){ "gw" } };
	struct mcp_tools *l = mcp_tools_new();
	char *cursor = NULL;

	ck_assert_int_eq(
	    mcp_tools_page(l, &c,
		slice("{\"tools\":[{\"name\":\"a.b\",\"inputSchema\":{},"
		      "\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":true}},"
		      "{\"name\":\"a_b\",\"inputSchema\":{}},{\"name\":\"c\","
		      "\"inputSchema\":{},"
		      "\"annotations\":{\"destructiveHint\":false}},{\"name\":"
		      "\"a\\u0000\",\"inputSchema\":{}}],"
		      "\"nextCursor\":\"n\"}"),
		&cursor),
	    0);
	ck_assert_str_eq(cursor, "n");
	free(cursor);
	ck_assert_uint_eq(l->n, 2);
	ck_assert_uint_eq(l->v[0].flags, GATEWAY_READ_ONLY | GATEWAY_IDEMPOTENT);
	ck_assert_uint_eq(l->v[1].flags, 0);
	ck_assert_str_eq(l->v[0].shown, "gw__a_b");
	ck_assert_ptr_eq(mcp_tools_find(l, &c, "a_b"), &l->v[0]);
	ck_assert_ptr_eq(mcp_tools_find(l, &c, "a.b"), &l->v[0]);
	ck_assert_ptr_null(mcp_tools_find(l, &c, "d"));
	ck_assert_int_eq(mcp_tools_page(l, &c, slice("{\"tools\":[1]}"), &cursor), -ATS_E_FIELD);
	ck_assert_int_eq(mcp_tools_page(l, &c, slice("{}"), &cursor), -ATS_E_FIELD);
	ck_assert_int_eq(mcp_tools_page(l, &c, slice("[]"), &cursor), -ATS_E_FIELD);
	mcp_tools_free(l);
}
END_TEST

ATS_UNIT_MAIN("gateway", address_classify_knows_the_registries,
    address_is_allowed_as_the_configuration_says, encode_path_keeps_arguments_in_their_segment,
    encode_rest_leaves_out_what_the_path_has, mask_apply_finds_each_form,
    mask_renew_keeps_the_secret_before, cuts_leave_no_part_of_a_form,
    mask_apply_prefers_the_longest, result_text_is_capped_at_a_character,
    result_text_does_not_cut_a_credential, result_image_is_one_of_four_and_has_a_cap,
    sse_add_reads_events_however_they_are_cut, sse_add_has_a_cap, mcp_content_refuses_what_is_none,
    mcp_tools_page_takes_names_that_agents_can_call)
