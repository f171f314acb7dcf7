/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixture tools that ask by their results (MCP 2026-07-28, Multi Round-Trip Requests). A state is
 * what it says and an HMAC of that by a key of this process. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/digest.h"
#include "tests/conformance/fixtures.h"

#define STATE_MAX 128

/* ROUND:MAC, in hexadecimal digits. */
static void
make_state(const struct fixture *f, unsigned round, char out[STATE_MAX])
{
	static unsigned char key[32];
	static bool made;
	unsigned char mac[ATS_SHA256_BYTES];
	char text[128], hex[2 * ATS_SHA256_BYTES + 1];

	if (!made && getrandom(key, sizeof(key), 0) == (ssize_t)sizeof(key))
		made = true;
	(void)snprintf(text, sizeof(text), "%s %u", f->name, round);
	ats_hmac_sha256(key, sizeof(key), text, strlen(text), mac);
	ats_hex(mac, sizeof(mac), hex);
	(void)snprintf(out, STATE_MAX, "%u:%s", round, hex);
}

/* Of which round the state is; 0: there is none, or it is not ours. */
static unsigned
state_of(const struct fixture *f, const struct rpc *r, bool *ret_bad)
{
	char state[STATE_MAX];
	struct ats_json_val v;

	*ret_bad = false;
	if (!ats_json_get(r->params, "requestState", &v))
		return 0;
	for (unsigned round = 1; round <= 2; round++) {
		make_state(f, round, state);
		if (v.type == ATS_JSON_STRING && v.raw.n == strlen(state) + 2 &&
		    ats_digest_equal(v.raw.p + 1, state, strlen(state)))
			return round;
	}
	*ret_bad = true;
	return 0;
}

/* Whether inputResponses has an object with the member for key. */
static bool
is_answered(const struct rpc *r, const char *key)
{
	struct ats_json_val all, v, content;

	return ats_json_get(r->params, "inputResponses", &all) && all.type == ATS_JSON_OBJECT &&
	    ats_json_get(all.raw, key, &v) && v.type == ATS_JSON_OBJECT &&
	    ats_json_get(v.raw, "content", &content);
}

static void
write_question(struct ats_json_w *w, const char *key, const char *member)
{
	ats_json_w_object(w, key);
	ats_json_w_str(w, "method", "elicitation/create");
	ats_json_w_object(w, "params");
	ats_json_w_str(w, "mode", "form");
	ats_json_w_str(w, "message", "Please say");
	ats_json_w_object(w, "requestedSchema");
	ats_json_w_str(w, "type", "object");
	ats_json_w_object(w, "properties");
	ats_json_w_object(w, member);
	ats_json_w_str(w, "type", strcmp(member, "ok") == 0 ? "boolean" : "string");
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_array(w, "required");
	ats_json_w_str(w, NULL, member);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
}

static void
write_sampling(struct ats_json_w *w)
{
	static const char params[] = "{\"messages\":[{\"role\":\"user\","
		"\"content\":{\"type\":\"text\","
		"\"text\":\"What is the capital of France?\"}}],\"maxTokens\":100}";

	ats_json_w_object(w, "capital");
	ats_json_w_str(w, "method", "sampling/createMessage");
	ats_json_w_raw(w, "params", params, sizeof(params) - 1);
	ats_json_w_end(w);
}

/* A result of the other type: the engine begins those of its own by "complete". */
static void
ask(struct rpc *r, const struct fixture *f, unsigned round, const char *key, const char *member)
{
	static const char complete[] = "\"complete\"", other[] = "\"input_required\"";
	struct ats_buf *out = &r->client->out;
	struct ats_json_w *w = rpc_begin(r);
	char state[STATE_MAX];
	size_t n = strlen(complete);

	if (w->rc < 0 || out->len < n || memcmp(out->data + out->len - n, complete, n) != 0) {
		client_drop(r->client, "results do not begin as they should");
		return;
	}
	ats_buf_truncate(out, out->len - n);
	if (ats_buf_add_str(out, other) < 0)
		w->rc = -ATS_E_NOMEM;
	ats_json_w_object(w, "inputRequests");
	if (strcmp(key, "capable") == 0 && fixture_may(r, "sampling"))
		write_sampling(w);
	if (fixture_may(r, "elicitation"))
		write_question(w, key, member);
	ats_json_w_end(w);
	if (round > 0) {
		make_state(f, round, state);
		ats_json_w_str(w, "requestState", state);
	}
	rpc_end(r);
}

void
fixture_rounds(const struct fixture *f, struct rpc *r)
{
	static const char done[] = "[{\"type\":\"text\",\"text\":\"state-ok\"}]";
	bool bad;
	unsigned round = state_of(f, r, &bad);

	if (!r->modern) {
		fixture_answer(r, done, true);
	} else if (bad) {
		rpc_error(r->client, r->id, RPC_PARAMS, "requestState: not one of this server's");
	} else if (strcmp(f->text, "step") == 0) {
		if (round == 1 && is_answered(r, "step1"))
			ask(r, f, 2, "step2", "color");
		else if (round == 2 && is_answered(r, "step2"))
			fixture_answer(r, done, false);
		else
			ask(r, f, 1, "step1", "name");
	} else if (strcmp(f->text, "confirm") == 0) {
		if (round == 1 && is_answered(r, "confirm"))
			fixture_answer(r, done, false);
		else
			ask(r, f, 1, "confirm", "ok");
	} else if (is_answered(r, f->text)) {
		fixture_answer(r, done, false);
	} else {
		ask(r, f, 0, f->text, "name");
	}
}
