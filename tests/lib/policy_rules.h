/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of rules share. */
#ifndef ATS_TESTS_LIB_POLICY_RULES_H
#define ATS_TESTS_LIB_POLICY_RULES_H

#include "brain/policy/rules.h"
#include "common/json.h"
#include "tests/lib/unit.h"

static struct ats_err err;

/* Rules as "allow: Bash", one a line. */
static inline struct policy_rules *
rules(const char *lines)
{
	struct policy_rules *r = policy_rules_new();
	char *copy = strdup(lines), *save = NULL, *colon;

	for (char *line = strtok_r(copy, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		enum policy_effect effect = POLICY_NONE;

		colon = strchr(line, ':');
		*colon = '\0';
		ck_assert_msg(policy_effect_parse(line, &effect), "%s", line);
		ck_assert_msg(policy_rules_add(r, effect, colon + 2, &err) == 0, "%s: %s",
		    colon + 2, err.text);
	}
	free(copy);
	return r;
}

static inline enum policy_effect
decide(const struct policy_rules *r, const char *tool, const char *args)
{
	struct policy_call call = { .kind = POLICY_SANDBOX, .tool = tool,
		.args = { args, strlen(args) }, .workspace = "/ws", .cwd = "/ws/sub",
		.home = "/home/agent" };
	struct policy_decision d;

	ck_assert_msg(ats_json_scan(args, strlen(args), &err) == 0, "%s: %s", args, err.text);
	policy_decide(r, &call, POLICY_ALLOW_READS, &d);
	ck_assert_int_ne(d.effect, POLICY_NONE);
	ck_assert_str_ne(d.why, "");
	return d.effect;
}

static inline enum policy_effect
decide_command(const struct policy_rules *r, const char *command)
{
	struct ats_buf args;
	struct ats_json_w w;
	enum policy_effect e;

	ats_buf_init(&args, 8u << 20);
	ats_json_w_init(&w, &args);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "command", command);
	ats_json_w_end(&w);
	e = decide(r, "Bash", args.data);
	ats_buf_done(&args);
	return e;
}

#endif
