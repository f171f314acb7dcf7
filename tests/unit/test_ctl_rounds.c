/* SPDX-License-Identifier: Apache-2.0
 *
 * Approvals in answers (brain/ctl/mcp_rounds.c, mcp_retry.c), the states that clients carry
 * (mcp_state.c), and what requests say of themselves (mcp_meta.c). */
#include "brain/ctl/mcp_meta.h"
#include "brain/ctl/mcp_rounds.h"

#include "common/clock.h"
#include "tests/lib/unit.h"

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":%s}"

struct rig {
	struct mcp_rounds rounds;
	struct mcp_lines lines;
	struct ats_buf client, engine;
	struct round_decision said;
};

static struct ats_slice
slice(const char *s)
{
	return (struct ats_slice){ s, strlen(s) };
}

static void
begin(struct rig *g)
{
	ck_assert_int_eq(rounds_init(&g->rounds), 0);
	mcp_lines_init(&g->lines);
	ats_buf_init(&g->client, 1u << 20);
	ats_buf_init(&g->engine, 1u << 20);
	ck_assert_int_eq(rounds_watch(&g->rounds, &g->engine), 0);
	ck_assert_ptr_nonnull(strstr(g->engine.data, "\"method\":\"ats/call.watch\"}\n"));
}

static void
end(struct rig *g)
{
	rounds_done(&g->rounds);
	mcp_lines_done(&g->lines);
	ats_buf_done(&g->client);
	ats_buf_done(&g->engine);
}

/* As cmd_mcp does. True: the engine is to see it. */
static bool
from_client(struct rig *g, const char *line)
{
	int rc = rounds_from_client(&g->rounds, &g->lines, line, strlen(line), &g->client,
	    &g->engine, &g->said);

	ck_assert_int_ge(rc, 0);
	if (rc == 0)
		ck_assert_int_eq(mcp_from_client(&g->lines, line, strlen(line)), 0);
	return rc == 0;
}

static int
from_engine(struct rig *g, const char *line)
{
	return rounds_from_engine(&g->rounds, &g->lines, slice(line), &g->client);
}

static bool
call(struct rig *g, int id, const char *capabilities, const char *more)
{
	char line[4096], meta[512];

	(void)snprintf(meta, sizeof(meta), META, capabilities);
	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
	    "\"tools/call\",\"params\":{\"name\":\"g__t\",\"arguments\":{\"x\":1},%s%s}}",
	    id, meta, more);
	return from_client(g, line);
}

static void
waits(struct rig *g, int id, const char *approval)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"method\":\"ats/call.waits\","
	    "\"params\":{\"requestId\":%d,\"approval\":\"%s\"}}", id, approval);
	ck_assert_int_eq(from_engine(g, line), 1);
}

static int
approval(struct rig *g, const char *id, const char *args)
{
	struct approval a;
	int rc;

	approval_init(&a);
	(void)strcpy(a.id, id);
	(void)strcpy(a.tool, "t");
	(void)strcpy(a.sha256, id + 2);
	a.expires_ms = (uint64_t)ats_clock_wall_ms() + 60000;
	ck_assert_int_eq(ats_buf_add_str(&a.args, args), 0);
	rc = rounds_approval(&g->rounds, &a, &g->client);
	approval_done(&a);
	return rc;
}

/* What was said to the client since the last look; empties it. */
static char *
heard(struct rig *g)
{
	static char text[65536];

	ck_assert_uint_lt(g->client.len, sizeof(text));
	memcpy(text, g->client.len > 0 ? g->client.data : "", g->client.len);
	text[g->client.len] = '\0';
	ats_buf_reset(&g->client);
	return text;
}

static void
state_in(const char *text, char *out, size_t size)
{
	const char *p = strstr(text, "\"requestState\":");
	size_t n;

	ck_assert_ptr_nonnull(p);
	n = strcspn(p + 16, "\"");
	ck_assert_uint_lt(n + 64, size);
	(void)snprintf(out, size, ",\"requestState\":\"%.*s\",\"inputResponses\":{\"approval\":",
	    (int)n, p + 16);
}

START_TEST(meta_of_good_and_bad_requests)
{
	static const struct {
		const char *params;
		bool modern, forms;
	} t[] = {
		{ "{}", false, false }, { "{\"_meta\":7}", false, false },
		{ "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}",
		    false, false },
		{ "{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{}}}", false, false },
		{ "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\","
		  "\"io.modelcontextprotocol/clientCapabilities\":{}}}", false, false },
		{ "{\"_meta\":{\"io.modelcontextprotocol\\/protocolVersion\":\"2026-\\u00307-28\","
		  "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}",
		    true, true },
		{ "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		  "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":"
		  "{\"url\":{}}}}}", true, false },
		{ "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		  "\"io.modelcontextprotocol/clientCapabilities\":[{\"elicitation\":{}}]}}",
		    false, false },
	};
	struct mcp_meta m;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		mcp_meta_read(slice(t[i].params), &m);
		ck_assert_msg(m.modern == t[i].modern && m.forms == t[i].forms, "row %zu", i);
	}
	mcp_meta_read((struct ats_slice){ NULL, 0 }, &m);
	ck_assert(!m.modern);
}
END_TEST

static bool
reads(const unsigned char *key, const char *text, const char *digest, struct mcp_state *ret)
{
	char json[2 * STATE_MAX];
	struct ats_json_val v;

	(void)snprintf(json, sizeof(json), "\"%s\"", text);
	v = ats_json_value(slice(json));
	return state_read(key, &v, digest, ret);
}

START_TEST(a_state_is_good_with_its_key_and_request_only)
{
	struct mcp_state s = { .nr = UINT64_MAX, .expires_ms = 1 }, got = { .nr = 0 };
	unsigned char key[STATE_KEY_BYTES] = { 1 }, other[STATE_KEY_BYTES] = { 2 };
	char text[STATE_MAX], digest[ATS_SHA256_HEX], second[ATS_SHA256_HEX];

	(void)strcpy(s.approval, "a-0123456789ab");
	state_digest(slice("{\"name\":\"a\",\"arguments\":{\"b\":1},\"c\":2}"), digest);
	state_digest(slice("{\"arguments\":{\"b\":1},\"name\":\"a\"}"), second);
	ck_assert_str_eq(digest, second);
	state_digest(slice("{\"name\":\"a\",\"arguments\":{\"b\":2}}"), second);
	ck_assert_str_ne(digest, second);
	state_write(key, &s, digest, text);
	ck_assert(reads(key, text, digest, &got));
	ck_assert(got.nr == s.nr && got.expires_ms == 1);
	ck_assert_str_eq(got.approval, s.approval);
	ck_assert(!reads(other, text, digest, &got));
	ck_assert(!reads(key, text, second, &got));
	ck_assert(!reads(key, text, "", &got));
	for (size_t i = 0; text[i] != '\0'; i++) {
		text[i] ^= 1;
		ck_assert_msg(!reads(key, text, digest, &got), "byte %zu", i);
		text[i] ^= 1;
	}
	text[strlen(text) - 1] = '\0';
	ck_assert(!reads(key, text, digest, &got));
	ck_assert(!reads(key, "", digest, &got));
}
END_TEST

START_TEST(a_round_asks_decides_once_and_gives_the_answer_by_the_last_id)
{
	char more[1024], approve[1200];
	struct rig g;

	begin(&g);
	ck_assert(call(&g, 1, "{\"elicitation\":{}}", ""));
	waits(&g, 1, "a-000000000001");
	ck_assert_uint_eq(g.client.len, 0);
	ck_assert_int_eq(approval(&g, "a-000000000001", "{\"x\":1}"), 1);
	state_in(heard(&g), more, sizeof(more));
	ck_assert(!mcp_awaits(&g.lines));
	(void)snprintf(approve, sizeof(approve), "%s{\"action\":\"accept\",\"content\":"
	    "{\"decision\":\"approve\"}}}", more);
	ck_assert(!call(&g, 1, "{\"elicitation\":{}}", approve));
	ck_assert_ptr_nonnull(strstr(heard(&g), "-32600"));
	ck_assert(!call(&g, 2, "{}", approve));
	ck_assert_ptr_nonnull(strstr(heard(&g), "-32021"));
	ck_assert_int_eq(g.said.said, ELICIT_NOTHING);
	ck_assert(!call(&g, 3, "{\"elicitation\":{}}", approve));
	ck_assert_int_eq(g.said.said, ELICIT_APPROVE);
	ck_assert_str_eq(g.said.approval, "a-000000000001");
	ck_assert_str_eq(g.said.sha256, "000000000001");
	ck_assert_str_eq(g.said.way, "elicitation unnamed");
	ck_assert(mcp_awaits(&g.lines));
	ck_assert(!call(&g, 4, "{\"elicitation\":{}}", approve));
	ck_assert_int_eq(g.said.said, ELICIT_NOTHING);
	ck_assert_ptr_nonnull(strstr(heard(&g), "-32602"));
	ck_assert_int_eq(from_engine(&g, "{\"id\":2,\"result\":{}}"), 0);
	ck_assert_int_eq(from_engine(&g, "{ \"result\": {\"id\":1}, \"id\" : 1 }"), 1);
	ck_assert_str_eq(heard(&g), "{ \"result\": {\"id\":1}, \"id\" : 3 }\n");
	ck_assert_uint_eq(g.lines.n, 0);
	ck_assert_uint_eq(g.rounds.n, 0);
	/* No round is left: the engine is to refuse what it does not know. */
	ck_assert(call(&g, 5, "{\"elicitation\":{}}", approve));
	end(&g);
}
END_TEST

static void
answer_long(struct rig *g, int id, size_t n)
{
	char *line = malloc(n + 64);
	int head = snprintf(line, 64, "{\"id\":%d,\"result\":\"", id);

	memset(line + head, 'x', n);
	(void)strcpy(line + head + n, "\"}");
	ck_assert_int_eq(from_engine(g, line), 1);
	free(line);
}

START_TEST(held_answers_are_bounded_and_rounds_are_too)
{
	char id[32];
	struct rig g;

	begin(&g);
	ats_buf_done(&g.client);
	ats_buf_init(&g.client, 8u << 20);
	for (unsigned i = 0; i < ROUNDS_MAX + 1; i++) {
		ck_assert(call(&g, (int)i, "{\"elicitation\":{}}", ""));
		(void)snprintf(id, sizeof(id), "a-%012x", i);
		ck_assert_int_eq(approval(&g, id, "{}"), i < ELICIT_MAX);
		waits(&g, (int)i, id);
	}
	ck_assert_uint_eq(g.rounds.n, ROUNDS_MAX);
	for (int i = 0; i < 4; i++) {
		answer_long(&g, i, ROUNDS_HELD_MAX / 3);
		ck_assert_uint_le(g.rounds.held, ROUNDS_HELD_MAX);
	}
	ck_assert_uint_eq(g.rounds.n, ROUNDS_MAX - 2);
	/* One that is longer than all may be is alone, and no licence for the next. */
	answer_long(&g, 4, ROUNDS_HELD_MAX);
	ck_assert_uint_eq(g.rounds.n, ROUNDS_MAX - 4);
	answer_long(&g, 5, 1);
	ck_assert_uint_le(g.rounds.held, 64);
	ck_assert_uint_eq(g.rounds.n, ROUNDS_MAX - 5);
	end(&g);
}
END_TEST

START_TEST(lines_of_the_engine_that_are_no_json_lose_the_connection)
{
	struct rig g;

	begin(&g);
	ck_assert(call(&g, 1, "{\"elicitation\":{}}", ""));
	ck_assert_int_eq(from_engine(&g, "{"), 0);	/* not looked at: nothing is open */
	waits(&g, 1, "a-000000000001");
	ck_assert_int_eq(from_engine(&g, "{"), -ATS_E_PROTO);
	ck_assert_int_eq(from_engine(&g, "[{\"id\":1,\"result\":{}}]"), 0);
	ck_assert_int_eq(from_engine(&g, "7"), 0);
	ck_assert_int_eq(from_engine(&g, "{\"id\":1,\"result\":{}}"), 0);
	ck_assert_uint_eq(g.rounds.n, 0);
	end(&g);
}
END_TEST

ATS_UNIT_MAIN("ctl_rounds", meta_of_good_and_bad_requests,
    a_state_is_good_with_its_key_and_request_only,
    a_round_asks_decides_once_and_gives_the_answer_by_the_last_id,
    held_answers_are_bounded_and_rounds_are_too,
    lines_of_the_engine_that_are_no_json_lose_the_connection)
