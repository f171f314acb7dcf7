/* SPDX-License-Identifier: Apache-2.0
 *
 * What brain sends to a client library. Input: which allocation fails, a byte that says what
 * follows: one line as an answer to a call of that kind, or a tool, its input, a line break and a
 * delta. An answer has one of three ends, with a text that is UTF-8 without NUL and a code that is
 * a word. A delta is taken whole or not at all, and no path of the plan folder is in a ctx. */
#include "brain/client/ctx.h"
#include "proto/ctx.h"
#include "tests/fuzz/fuzz.h"

#define WS "/nowhere-at-all/ws"
#define PLANS "/nowhere-at-all/plans"

static void
check_answer(enum call_kind kind, struct ats_slice line, unsigned fault)
{
	struct ats_slice result = { NULL, 0 }, error = { NULL, 0 };
	struct ats_json_val v;
	struct ats_answer a;
	struct ats_buf text;
	char code[40];
	bool done;

	if (ats_json_scan(line.p, line.n, NULL) < 0 || ats_json_type(line) != ATS_JSON_OBJECT)
		return;
	if (ats_json_get(line, "result", &v) && v.type == ATS_JSON_OBJECT)
		result = v.raw;
	if (ats_json_get(line, "error", &v) && v.type == ATS_JSON_OBJECT)
		error = v.raw;
	ats_buf_init(&text, 1u << 20);
	ats_fault_alloc(fault);
	done = answer_read(kind, result, error, &text, code, &a);
	ats_fault_alloc(0);
	FUZZ_CHECK(done || fault > 0);
	if (done) {
		FUZZ_CHECK(a.end == ATS_DONE || a.end == ATS_NOT_STARTED || a.end == ATS_UNKNOWN);
		FUZZ_CHECK(a.end == ATS_DONE || a.is_error);
		FUZZ_CHECK(a.text_len == strlen(a.text) && ats_utf8_valid(a.text, a.text_len));
		FUZZ_CHECK(strspn(a.code, "abcdefghijklmnopqrstuvwxyz_0123456789") ==
		    strlen(a.code));
		FUZZ_CHECK(a.ctx_delta == NULL ||
		    ats_json_scan(a.ctx_delta, a.ctx_delta_len, NULL) == 0);
	}
	ats_buf_done(&text);
}

static size_t
count_shells(const struct ats_ctx *c)
{
	size_t n = 0;

	while (ats_ctx_shells(c)[n] != NULL)
		n++;
	return n;
}

/* Whether a string of the text begins with a path in the plan's directory: behind a quote that is
 * not itself part of a string. */
static bool
names_plans(const char *text)
{
	static const char path[] = "\"" PLANS "/";

	for (const char *p = strstr(text, path); p != NULL; p = strstr(p + 1, path)) {
		size_t escapes = 0;

		while (escapes < (size_t)(p - text) && p[-1 - (ptrdiff_t)escapes] == '\\')
			escapes++;
		if (escapes % 2 == 0)
			return true;
	}
	return false;
}

/* What would be sent with the same call next. */
static void
check_in(const struct ats_ctx *c, const char *tool, struct ats_slice input)
{
	char *text = NULL;
	int rc = ats_ctx_in(c, tool, input.p, input.n, &text);
	bool plan = ats_ctx_is_plan(c, tool, input.p, input.n) != 0;

	FUZZ_CHECK(plan == (rc == ATS_ERR_PLAN));
	FUZZ_CHECK((rc == 0) == (text != NULL));
	if (text != NULL) {
		FUZZ_CHECK(ats_json_scan(text, strlen(text), NULL) == 0);
		FUZZ_CHECK(!names_plans(text));
	}
	ats_free(text);
}

static void
check_delta(const char *tool, struct ats_slice both, unsigned fault)
{
	static const char known[] = "{\"cwd\":\"" WS "\",\"shells\":[\"bash_1\"]}";
	const char *nl = both.n == 0 ? NULL : memchr(both.p, '\n', both.n);
	struct ats_slice input = both, delta = { "{}", 2 };
	struct ats_ctx *c = NULL;
	int rc;

	if (nl != NULL) {
		input.n = (size_t)(nl - both.p);
		delta = (struct ats_slice){ nl + 1, both.n - input.n - 1 };
	}
	FUZZ_CHECK(ats_ctx_new(WS, PLANS, &c) == 0);
	FUZZ_CHECK(ats_ctx_apply(c, "Bash", "{}", 2, known, strlen(known)) == 0);
	ats_fault_alloc(fault);
	rc = ats_ctx_apply(c, tool, input.p, input.n, delta.p, delta.n);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || rc == ATS_ERR_ARG || rc == ATS_ERR_REFUSED ||
	    (rc == ATS_ERR_MEMORY && fault > 0));
	if (rc < 0) {
		FUZZ_CHECK(strcmp(ats_ctx_cwd(c), WS) == 0 && count_shells(c) == 1);
		FUZZ_CHECK(c->nreads == 0);
	}
	FUZZ_CHECK(ats_ctx_cwd_allowed(WS, ats_ctx_cwd(c)));
	FUZZ_CHECK(!plan_holds(&c->plan, ats_ctx_cwd(c)));
	for (size_t i = 0; i < c->nreads; i++)
		FUZZ_CHECK(!plan_holds(&c->plan, c->reads[i]->path));
	check_in(c, tool, input);
	ats_ctx_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), what = fuzz_byte(&in);
	struct ats_slice rest;
	char *copy;

	if (size > 8192)
		return 0;
	rest = fuzz_bytes(&in, in.n);
	copy = fuzz_copy(rest);
	rest.p = copy;
	if (what % 16 < 3)
		check_answer((enum call_kind)(what % 16), rest, fault);
	else
		check_delta(ats_tool_rows[(what % 16 - 3) % ATS_TOOL_COUNT].name, rest, fault);
	free(copy);
	return 0;
}
