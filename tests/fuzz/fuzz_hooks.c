/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks as others write them. Input: which allocation fails, a byte that chooses, then settings of
 * a repository or what a hook has printed. What is read keeps its limits, and a strict reading of
 * what a lenient one took without a word says the same. */
#include "proto/hooks.h"
#include "tests/fuzz/fuzz.h"

static void
check_hook(const struct ats_hook *k)
{
	FUZZ_CHECK(k->event < ATS_HOOK_EVENTS && k->command != NULL && k->command[0] != '\0');
	FUZZ_CHECK(strlen(k->command) <= ATS_HOOK_COMMAND_MAX);
	FUZZ_CHECK(k->timeout_ms >= 1000 && k->timeout_ms <= ATS_HOOK_TIMEOUT_MAX_S * 1000);
	FUZZ_CHECK((k->args == NULL) == (k->nargs == 0));
	if (k->args != NULL) {
		FUZZ_CHECK(strcmp(k->args[0], k->command) == 0 && k->args[k->nargs] == NULL);
		FUZZ_CHECK(k->nargs <= ATS_HOOK_ARGS_MAX + 1);
	}
	FUZZ_CHECK(ats_hook_matcher_check(k->matcher, NULL) == 0);
	(void)ats_hook_matches(k->matcher, "mcp__server__tool");
}

static void
settings(struct ats_slice text, unsigned fault)
{
	struct ats_hooks lenient = { 0 }, strict = { 0 };
	struct ats_err err = { 0 };
	int rc;

	if (ats_json_scan(text.p, text.n, NULL) < 0)
		return;
	text = ats_json_value(text).raw;
	ats_fault_alloc(fault);
	rc = ats_hooks_read(&lenient, "f", text, false, &err);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -ATS_E_NOMEM && lenient.v == NULL));
	if (rc < 0)
		return;
	FUZZ_CHECK(lenient.n <= ATS_HOOKS_MAX);
	for (size_t i = 0; i < lenient.n; i++) {
		check_hook(&lenient.v[i]);
		FUZZ_CHECK((lenient.events & ATS_HOOK_BIT(lenient.v[i].event)) != 0);
	}
	rc = ats_hooks_read(&strict, "f", text, true, &err);
	FUZZ_CHECK(rc == 0 || (rc == -err.code && err.text[0] != '\0'));
	FUZZ_CHECK(rc < 0 || (strict.n == lenient.n && lenient.skipped == 0));
	if (rc == 0)
		ats_hooks_done(&strict);
	ats_hooks_done(&lenient);
}

static void
printed(enum ats_hook_event event, struct ats_slice text, unsigned fault)
{
	struct ats_hook_output o;
	struct ats_err err = { 0 };
	int rc;

	ats_fault_alloc(fault);
	rc = ats_hook_output_read(event, text.p, text.n, &o, &err);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -err.code && err.text[0] != '\0'));
	if (rc < 0) {
		FUZZ_CHECK(o.decision == ATS_HOOK_NONE && o.input.p == NULL);
		FUZZ_CHECK(o.output.p == NULL && o.reason == NULL && !o.stops);
	}
	FUZZ_CHECK(ats_hook_decision_name(o.decision)[0] != '\0');
	FUZZ_CHECK(!o.stops || o.decision == ATS_HOOK_DENY);
	FUZZ_CHECK(o.input.p == NULL || (event == ATS_HOOK_PRE_TOOL_USE &&
	    ats_json_scan(o.input.p, o.input.n, NULL) == 0));
	FUZZ_CHECK(o.output.p == NULL || (event == ATS_HOOK_POST_TOOL_USE &&
	    ats_json_scan(o.output.p, o.output.n, NULL) == 0));
	FUZZ_CHECK(o.context == NULL || ats_utf8_valid(o.context, strlen(o.context)));
	ats_hook_output_done(&o);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), what = fuzz_byte(&in);
	struct ats_slice text = { (const char *)in.p, in.n };

	if (what < ATS_HOOK_EVENTS)
		printed((enum ats_hook_event)what, text, fault);
	else
		settings(text, fault);
	return 0;
}
