/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/hooks.h"

#include <string.h>

#include "tests/lib/unit.h"

/* ---- configuration --------------------------------------------------------------------- */

static int
parse(const char *text, bool strict, struct ats_hooks *h, struct ats_err *err)
{
	memset(h, 0, sizeof(*h));
	memset(err, 0, sizeof(*err));
	ck_assert_int_eq(ats_json_scan(text, strlen(text), err), 0);
	return ats_hooks_read(h, "hooks", (struct ats_slice){ text, strlen(text) }, strict, err);
}

#define ONE(hook) "{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[" hook "]}]}"
#define COMMAND "\"type\":\"command\",\"command\":\"true\""

START_TEST(hooks_are_read_with_their_matchers_and_in_order)
{
	struct ats_hooks h;
	struct ats_err err;

	ck_assert_int_eq(parse("{\"PreToolUse\":[{\"matcher\":\"Bash|Edit\",\"hooks\":[{" COMMAND
	    "},{" COMMAND ",\"timeout\":5,\"onFailure\":\"block\"}]},{\"hooks\":[{\"type\":"
	    "\"command\",\"command\":\"/bin/x\",\"args\":[\"a b\",\"\"],\"onFailure\":"
	    "\"continue\"}]}],\"Stop\":[{\"hooks\":[{" COMMAND "}]}],\"SessionEnd\":[]}", true, &h,
	    &err), 0);
	ck_assert_uint_eq(h.n, 4);
	ck_assert_uint_eq(h.events, ATS_HOOK_BIT(ATS_HOOK_PRE_TOOL_USE) |
	    ATS_HOOK_BIT(ATS_HOOK_STOP));
	ck_assert_str_eq(h.v[0].matcher, "Bash|Edit");
	ck_assert_uint_eq(h.v[0].timeout_ms, ATS_HOOK_TIMEOUT_MS);
	ck_assert(!h.v[0].blocks && h.v[1].blocks && !h.v[2].blocks);
	ck_assert_uint_eq(h.v[1].timeout_ms, 5000);
	ck_assert_ptr_null(h.v[2].matcher);
	ck_assert_uint_eq(h.v[2].nargs, 3);
	ck_assert_str_eq(h.v[2].args[0], "/bin/x");
	ck_assert_str_eq(h.v[2].args[1], "a b");
	ck_assert_ptr_null(h.v[2].args[3]);
	ck_assert_int_eq(h.v[3].event, ATS_HOOK_STOP);
	ats_hooks_done(&h);
}
END_TEST

/* What is wrong, and a part of what is said about it. */
static const struct {
	const char *text, *says;
} wrong[] = {
	{ "[]", "hooks: must be an object of events" },
	{ "{\"PreTool\":[]}", "hooks: PreTool: unknown event" },
	{ "{\"PermissionRequest\":[]}", "unknown event, or one of which we never hear" },
	{ "{\"Stop\":{}}", "hooks: Stop must be an array" },
	{ "{\"Stop\":[1]}", "hooks.Stop[1]: must be an object" },
	{ "{\"Stop\":[{}]}", "hooks.Stop[1]: hooks must be an array" },
	{ "{\"Stop\":[{\"hooks\":[],\"if\":\"x\"}]}", "hooks.Stop[1]: if: unknown key" },
	{ "{\"Stop\":[{\"hooks\":[1]}]}", "hooks.Stop[1].hooks[1]: must be an object" },
	{ "{\"Stop\":[{\"matcher\":\"x\",\"hooks\":[]}]}", "matcher: Stop has nothing" },
	{ "{\"PreToolUse\":[{\"matcher\":\"(\",\"hooks\":[]}]}", "is no regular expression" },
	{ "{\"PreToolUse\":[{\"matcher\":1,\"hooks\":[]}]}", "matcher must be a string" },
	{ ONE("{\"type\":\"command\"}"), "hooks.PreToolUse[1].hooks[1]: command is missing" },
	{ ONE("{\"command\":\"x\"}"), "type is missing" },
	{ ONE("{\"type\":\"prompt\",\"prompt\":\"x\"}"), "hooks of other types (\"prompt\")" },
	{ ONE("{\"type\":1}"), "type must be \"command\"" },
	{ ONE("{" COMMAND "},{" COMMAND ",\"async\":true}"), "hooks[2]: async: unknown key" },
	{ ONE("{" COMMAND ",\"once\":true}"), "once: unknown key" },
	{ ONE("{" COMMAND ",\"statusMessage\":\"x\"}"), "statusMessage: unknown key" },
	{ ONE("{" COMMAND ",\"timeout\":0}"), "timeout must be a whole number of seconds" },
	{ ONE("{" COMMAND ",\"timeout\":3601}"), "from 1 to 3600" },
	{ ONE("{" COMMAND ",\"timeout\":1.5}"), "timeout must be" },
	{ ONE("{" COMMAND ",\"onFailure\":\"stop\"}"), "onFailure must be continue or block" },
	{ ONE("{" COMMAND ",\"args\":\"x\"}"), "args must be an array" },
	{ ONE("{" COMMAND ",\"args\":[1]}"), "args must be at most 32 strings" },
	{ ONE("{" COMMAND ",\"args\":[\"x\"]}"), "command must be the absolute path" },
	{ ONE("{\"type\":\"command\",\"command\":\"\"}"), "command must be a string" },
	{ ONE("{\"type\":\"command\",\"command\":\"a\\u0000b\"}"), "without NUL" },
};

START_TEST(hooks_wrong_keys_and_values_are_named)
{
	struct ats_hooks h;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(wrong); i++) {
		ck_assert_msg(parse(wrong[i].text, true, &h, &err) == -ATS_E_CONFIG, "%s",
		    wrong[i].text);
		ck_assert_msg(strstr(err.text, wrong[i].says) != NULL, "%s: %s", wrong[i].text,
		    err.text);
		ck_assert_ptr_null(h.v);
	}
}
END_TEST

START_TEST(hooks_of_a_repository_lose_only_what_is_wrong)
{
	struct ats_hooks h;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(wrong); i++) {
		ck_assert_msg(parse(wrong[i].text, false, &h, &err) == 0, "%s", wrong[i].text);
		ats_hooks_done(&h);
	}
	ck_assert_int_eq(parse("{\"Other\":[],\"PreToolUse\":[{\"matcher\":\"(\",\"hooks\":[{"
	    COMMAND
	    "}]},{\"hooks\":[{\"type\":\"http\"},{" COMMAND ",\"statusMessage\":\"x\"}]}]}", false,
	    &h, &err), 0);
	ck_assert_uint_eq(h.n, 1);
	ck_assert_uint_eq(h.skipped, 3);
	ck_assert_ptr_nonnull(strstr(h.why.text, "Other"));
	ats_hooks_done(&h);
}
END_TEST

START_TEST(hooks_over_their_number_are_refused)
{
	struct ats_buf text;
	struct ats_hooks h;
	struct ats_err err;

	ats_buf_init(&text, 1u << 20);
	ck_assert_int_eq(ats_buf_add_str(&text, "{\"Stop\":[{\"hooks\":["), 0);
	for (unsigned i = 0; i <= ATS_HOOKS_MAX; i++)
		ck_assert_int_eq(ats_buf_addf(&text, "%s{" COMMAND "}", i > 0 ? "," : ""), 0);
	ck_assert_int_eq(ats_buf_add_str(&text, "]}]}"), 0);
	ck_assert_int_eq(parse(text.data, true, &h, &err), -ATS_E_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 64 hooks"));
	ck_assert_int_eq(parse(text.data, false, &h, &err), 0);
	ck_assert_uint_eq(h.n, ATS_HOOKS_MAX);
	ats_hooks_done(&h);
	ats_buf_done(&text);
}
END_TEST

/* ---- matchers ------------------------------------------------------------------------------ */

static const struct {
	const char *matcher, *name;
	bool matches;
} matchers[] = {
	{ NULL, "Bash", true }, { "", "Bash", true }, { "*", "Bash", true },
	{ "Bash", "Bash", true }, { "Bas", "Bash", false }, { "bash", "Bash", false },
	{ "Bash|Edit", "Edit", true }, { "Bash|Edit", "Write", false },
	{ "Bash, Edit", "Edit", true }, { "Bash,Edit", "Bash", true }, { "|", "Bash", false },
	{ "|Bash", "Bash", true }, { "Bash Edit", "Bash", false }, { "Bash", "", false },
	{ "^Ba", "Bash", true }, { "B.*", "Bash", true }, { "as.$", "Bash", true },
	{ "^a", "Bash", false }, { "Edit|Wr.te", "Write", true },
	{ "Edit|Wr.te", "MultiEdit", true },
	{ "mcp__github__get", "mcp__github__get", true },
	{ "mcp__github", "mcp__github__get", false },
	{ "mcp__github__.*", "mcp__github__get", true }, { "mcp__.*__get", "mcp__a-b__get", true },
	{ "Bash.", "Bash", false }, { "(?i)bash", "Bash", true },
	{ "\xc3\xa9", "caf\xc3\xa9", true },
};

START_TEST(matcher_words_are_exact_and_the_rest_is_a_regex)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(matchers); i++) {
		ck_assert_int_eq(ats_hook_matcher_check(matchers[i].matcher, NULL), 0);
		ck_assert_msg(ats_hook_matches(matchers[i].matcher, matchers[i].name) ==
		    matchers[i].matches, "%s %s", matchers[i].matcher, matchers[i].name);
	}
}
END_TEST

START_TEST(matcher_that_is_none_is_refused_and_one_without_an_end_matches)
{
	static char name[200], longer[ATS_HOOK_MATCHER_MAX + 2];
	struct ats_err err;

	ck_assert_int_eq(ats_hook_matcher_check("(Bash", &err), -ATS_E_INVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "at byte"));
	ck_assert_int_eq(ats_hook_matcher_check("a\xff.", &err), -ATS_E_INVAL);
	ck_assert_int_eq(ats_hook_matcher_check("\\C.", &err), -ATS_E_INVAL);
	memset(longer, 'x', sizeof(longer) - 1);
	ck_assert_int_eq(ats_hook_matcher_check(longer, &err), -ATS_E_INVAL);
	/* Steps without end: within its limits nobody knows. */
	memset(name, 'a', sizeof(name) - 2);
	name[sizeof(name) - 2] = 'b';
	ck_assert(ats_hook_matches("^(a|aa)+$", name));
	ck_assert(ats_hook_matches("(Bash", "Edit"));
}
END_TEST

/* ---- answers ------------------------------------------------------------------------------- */

static const struct {
	enum ats_hook_event event;
	const char *text;
	int rc;
	enum ats_hook_decision decision;
	const char *reason, *context, *input, *output;
} answers[] = {
	{ ATS_HOOK_PRE_TOOL_USE, "", 0, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "all is well\n", 0, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_SESSION_START, "\n a\xff text\n", 0, ATS_HOOK_NONE, NULL,
	    "a\xef\xbf\xbd text", NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, " {} \n", 0, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"decision\":\"block\",\"reason\":\"r\"}", 0, ATS_HOOK_DENY, "r",
	    NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"decision\":\"approve\"}", 0, ATS_HOOK_ALLOW, NULL, NULL, NULL,
	    NULL },
	{ ATS_HOOK_STOP, "{\"decision\":\"block\",\"reason\":\"go on\"}", 0, ATS_HOOK_DENY, "go on",
	    NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
	    "\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"why\",\"updatedInput\":"
	    "{\"command\":\"ls\"},\"additionalContext\":\"c\"},\"more\":[1]}", 0, ATS_HOOK_ASK,
	    "why", "c", "{\"command\":\"ls\"}", NULL },
	/* The newer form wins over the older one. */
	{ ATS_HOOK_PRE_TOOL_USE, "{\"decision\":\"approve\",\"hookSpecificOutput\":{"
	    "\"permissionDecision\":\"deny\"}}", 0, ATS_HOOK_DENY, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"hookSpecificOutput\":{\"permissionDecision\":\"defer\"}}", 0,
	    ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"continue\":false,\"stopReason\":\"s\",\"decision\":"
	    "\"approve\"}", 0, ATS_HOOK_DENY, "s", NULL, NULL, NULL },
	{ ATS_HOOK_POST_TOOL_USE, "{\"hookSpecificOutput\":{\"updatedToolOutput\":\"x\","
	    "\"permissionDecision\":\"deny\",\"updatedInput\":{}}}", 0, ATS_HOOK_NONE, NULL, NULL,
	    NULL, "\"x\"" },
	{ ATS_HOOK_POST_TOOL_USE, "{\"hookSpecificOutput\":{\"updatedMCPToolOutput\":[1]}}", 0,
	    ATS_HOOK_NONE, NULL, NULL, NULL, "[1]" },
	{ ATS_HOOK_POST_TOOL_USE_FAILURE, "{\"hookSpecificOutput\":{\"updatedToolOutput\":\"x\"}}",
	    0, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{", -ATS_E_JSON, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{} {}", -ATS_E_JSON, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"reason\":\"\xff\"}", -ATS_E_UTF8, ATS_HOOK_NONE, NULL, NULL,
	    NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"decision\":\"deny\"}", -ATS_E_FIELD, ATS_HOOK_NONE, NULL, NULL,
	    NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"decision\":\"approve\",\"continue\":1}", -ATS_E_FIELD,
	    ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"hookSpecificOutput\":[]}", -ATS_E_FIELD, ATS_HOOK_NONE, NULL,
	    NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"hookSpecificOutput\":{\"updatedInput\":[]}}", -ATS_E_FIELD,
	    ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
	{ ATS_HOOK_PRE_TOOL_USE, "{\"decision\":\"approve\",\"hookSpecificOutput\":{"
	    "\"hookEventName\":\"Stop\"}}", -ATS_E_FIELD, ATS_HOOK_NONE, NULL, NULL, NULL, NULL },
};

static void
same_text(const char *got, const char *want)
{
	ck_assert_int_eq(got == NULL, want == NULL);
	if (want != NULL)
		ck_assert_str_eq(got, want);
}

static void
same_slice(struct ats_slice got, const char *want)
{
	ck_assert_int_eq(got.p == NULL, want == NULL);
	if (want == NULL)
		return;
	ck_assert_uint_eq(got.n, strlen(want));
	ck_assert_mem_eq(got.p, want, got.n);
}

START_TEST(output_says_what_counts_or_nothing)
{
	struct ats_hook_output o;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(answers); i++) {
		int rc = ats_hook_output_read(answers[i].event, answers[i].text,
		    strlen(answers[i].text), &o, &err);

		ck_assert_msg(rc == answers[i].rc, "%s: %d %s", answers[i].text, rc, err.text);
		ck_assert_msg(o.decision == answers[i].decision, "%s", answers[i].text);
		same_text(o.reason, answers[i].reason);
		same_text(o.context, answers[i].context);
		same_slice(o.input, answers[i].input);
		same_slice(o.output, answers[i].output);
		ats_hook_output_done(&o);
	}
}
END_TEST

START_TEST(output_over_its_size_is_none)
{
	static char text[ATS_HOOK_STDOUT_MAX + 2];
	struct ats_hook_output o;

	memset(text, 'x', sizeof(text));
	ck_assert_int_eq(ats_hook_output_read(ATS_HOOK_SESSION_START, text, sizeof(text), &o, NULL),
	    -ATS_E_TOOBIG);
	ats_hook_output_done(&o);
	ck_assert_int_eq(ats_hook_output_read(ATS_HOOK_SESSION_START, text, sizeof(text) - 2, &o,
	    NULL), 0);
	ck_assert_uint_eq(strlen(o.context), ATS_HOOK_STDOUT_MAX);
	ats_hook_output_done(&o);
}
END_TEST

START_TEST(events_are_found_by_their_names)
{
	enum ats_hook_event e;

	for (unsigned i = 0; i < ATS_HOOK_EVENTS; i++) {
		const char *name = ats_hook_event_rows[i].name;

		ck_assert(ats_hook_event_find(name, strlen(name), &e) && e == i);
	}
	ck_assert(!ats_hook_event_find("PreToolUs", 9, &e));
	ck_assert(!ats_hook_event_find("", 0, &e));
}
END_TEST

ATS_UNIT_MAIN("hooks", hooks_are_read_with_their_matchers_and_in_order,
    hooks_wrong_keys_and_values_are_named, hooks_of_a_repository_lose_only_what_is_wrong,
    hooks_over_their_number_are_refused, matcher_words_are_exact_and_the_rest_is_a_regex,
    matcher_that_is_none_is_refused_and_one_without_an_end_matches,
    output_says_what_counts_or_nothing, output_over_its_size_is_none,
    events_are_found_by_their_names)
