/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions: what is a rule, what it is about, and which one wins. */
#include "tests/lib/policy_rules.h"

START_TEST(rules_that_say_nothing_are_refused_with_a_text)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "1 to 1024" }, { "Bahs(rm:*)", "no tool" }, { "bash", "written Bash" },
		{ "BASH(rm:*)", "written Bash" }, { "Bash(rm:*", "no )" }, { "Bash()", "nothing" },
		{ "Bash(", "no )" }, { "(rm)", "no tool" }, { "Write(src/**)", "Edit(" },
		{ "Grep(src/**)", "Read(" }, { "BashOutput(x)", "only Bash" },
		{ "github__push(x)", "only Bash" }, { "github", "GATEWAY__TOOL" },
		{ "Ba*sh", "only end" }, { "Bash ", "character" }, { "github__a b", "character" },
		{ "Read(!x)", "another list" }, { "Read(../x)", ".." }, { "Read(a/./b)", ".." },
		{ "Read([a)", "[" }, { "Read(a\\)", "backslash" }, { "Foo*", "no tool" },
		{ "Bash*(rm)", "only Bash" }, { "mcp__ats__", "no tool" },
		{ "mcp__ats__Nope", "no tool" }, { "Bash(a\nb)", "control" },
	};
	struct policy_rules *r = policy_rules_new();

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		err = (struct ats_err){ 0 };
		ck_assert_msg(policy_rules_add(r, POLICY_DENY, rows[i].text, &err) ==
		    -ATS_E_INVAL, "%s is taken", rows[i].text);
		ck_assert_msg(strstr(err.text, rows[i].why) != NULL, "%s: %s", rows[i].text,
		    err.text);
	}
	ck_assert_int_eq(policy_rules_add(r, POLICY_NONE, "Bash", &err), -ATS_E_INVAL);
	ck_assert_uint_eq(policy_rules_count(r), 0);
	policy_rules_free(r);
}
END_TEST

START_TEST(rules_are_told_as_they_were_written)
{
	struct policy_rules *r = rules("deny: Bash(rm:*)\nask: github__*\n"
				       "allow: mcp__ats__jira__x");
	enum policy_effect e = POLICY_NONE;
	char name[33];

	ck_assert_str_eq(policy_rules_text(r, 0, &e), "Bash(rm:*)");
	ck_assert_int_eq(e, POLICY_DENY);
	ck_assert_str_eq(policy_rules_text(r, 2, &e), "mcp__ats__jira__x");
	ck_assert_ptr_null(policy_rules_text(r, 3, &e));
	ck_assert(!policy_rules_gateway(r, 0, name, sizeof(name)));
	ck_assert(policy_rules_gateway(r, 1, name, sizeof(name)));
	ck_assert_str_eq(name, "github");
	ck_assert(policy_rules_gateway(r, 2, name, sizeof(name)));
	ck_assert_str_eq(name, "jira");
	policy_rules_free(r);
}
END_TEST

START_TEST(deny_wins_over_ask_and_ask_over_allow)
{
	struct policy_rules *r = rules("allow: Bash(ls:*)\nask: Bash(git:*)\n"
				       "deny: Bash(git push:*)\n"
				       "allow: Bash(git push origin:*)\nask: Write");

	ck_assert_int_eq(decide_command(r, "ls -l"), POLICY_ALLOW);
	ck_assert_int_eq(decide_command(r, "git status"), POLICY_ASK);
	ck_assert_int_eq(decide_command(r, "git push origin main"), POLICY_DENY);
	ck_assert_int_eq(decide_command(r, "git status && git push"), POLICY_DENY);
	ck_assert_int_eq(decide_command(r, "make"), POLICY_ALLOW);	/* no rule: the sandbox's */
	ck_assert_int_eq(decide(r, "Write", "{}"), POLICY_ASK);
	ck_assert_int_eq(decide(r, "Edit", "{}"), POLICY_ALLOW);
	policy_rules_free(r);
}
END_TEST

START_TEST(names_are_of_tools_aliases_groups_and_beginnings)
{
	struct policy_rules *r = rules("deny: Edit\nask: mcp__ats__KillBash\nask: Task*");

	ck_assert_int_eq(decide(r, "Write", "{}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "MultiEdit", "{}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "NotebookEdit", "{}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "KillShell", "{}"), POLICY_ASK);
	ck_assert_int_eq(decide(r, "TaskStop", "{}"), POLICY_ASK);
	ck_assert_int_eq(decide(r, "TaskOutput", "{}"), POLICY_ASK);
	ck_assert_int_eq(decide(r, "Read", "{}"), POLICY_ALLOW);
	policy_rules_free(r);
	r = rules("deny: Read");
	ck_assert_int_eq(decide(r, "Grep", "{}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "LS", "{}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Write", "{}"), POLICY_ALLOW);
	policy_rules_free(r);
	r = rules("deny: mcp__ats");
	ck_assert_int_eq(decide(r, "BashOutput", "{}"), POLICY_DENY);
	policy_rules_free(r);
}
END_TEST

START_TEST(paths_that_cannot_be_looked_at_are_denied)
{
	struct policy_rules *r = rules("deny: Read(*.pem)");
	size_t n = 3 * 4096;
	char *args = malloc(n + 64);

	for (unsigned i = 0; i < 2; i++) {
		int at = sprintf(args, i == 0 ? "{\"file_path\":\"" : "{\"pattern\":\"/");

		memset(args + at, 'x', n);
		strcpy(args + at + n, "\"}");
		ck_assert_int_eq(decide(r, i == 0 ? "Read" : "Glob", args), POLICY_DENY);
		strcpy(args + at + 100, "\"}");
		ck_assert_int_eq(decide(r, i == 0 ? "Read" : "Glob", args), POLICY_ALLOW);
	}
	free(args);
	policy_rules_free(r);
}
END_TEST

START_TEST(patterns_of_files_are_those_of_gitignore)
{
	static const struct {
		const char *rule, *path;
		bool denied;
	} rows[] = {
		{ "src/**", "/ws/src/a", true }, { "src/**", "/ws/src/a/b", true },
		{ "src/**", "/ws/src", true }, { "src/**", "/ws/srcs", false },
		{ "src/**", "/ws/sub/src/a", false }, { "./src", "/ws/src/a", true },
		{ "/src/*.c", "/ws/src/a.c", true }, { "/src/*.c", "/ws/src/x/a.c", false },
		{ "src/*/x", "/ws/src/a/x", true }, { "src/*/x", "/ws/src/a/b/x", false },
		{ "src/**/x", "/ws/src/x", true }, { "src/**/x", "/ws/src/a/b/x/y", true },
		{ "src/**/x", "/ws/src/a/bx", false }, { "*.pem", "/ws/a/b.pem", true },
		{ "*.pem", "/etc/b.pem", true }, { ".env", "/ws/.env", true },
		{ ".env", "/ws/a/.env", true }, { ".env", "/ws/.envrc", false },
		{ "build/", "/ws/x/build/y", true }, { "**/secret/*", "/ws/a/b/secret/x", true },
		{ "**/secret/*", "/ws/secret/x", true }, { "//etc/**", "/etc/passwd", true },
		{ "//etc/**", "/ws/etc/passwd", false }, { "~/.ssh", "/home/agent/.ssh/id", true },
		{ "~/.ssh", "/home/agentx/.ssh/id", false }, { "//**", "/any/thing", true },
		{ "/**", "/ws/any/thing", true }, { "/**", "/any", false }, { "**", "/ws/a", true },
		{ "a?c", "/ws/abc", true }, { "a?c", "/ws/a/c", false },
		{ "[a-c]x", "/ws/bx", true }, { "[!a-c]x", "/ws/bx", false },
		{ "[]]x", "/ws/]x", true }, { "[^a]", "/ws/b", true }, { "\\*", "/ws/*", true },
		{ "\\*", "/ws/a", false }, { "a*b*c", "/ws/axbxc", true },
		{ "a**b", "/ws/axxb", true }, { "src/a**/b", "/ws/src/axx/b", true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct policy_rules *r = policy_rules_new();
		char text[64], args[128];

		snprintf(text, sizeof(text), "Read(%s)", rows[i].rule);
		ck_assert_msg(policy_rules_add(r, POLICY_DENY, text, &err) == 0, "%s", err.text);
		snprintf(args, sizeof(args), "{\"file_path\":\"%s\"}", rows[i].path);
		ck_assert_msg((decide(r, "Read", args) == POLICY_DENY) == rows[i].denied,
		    "%s: %s", text, rows[i].path);
		ck_assert_int_eq(decide(r, "Write", args), POLICY_ALLOW);
		policy_rules_free(r);
	}
}
END_TEST

START_TEST(files_of_a_call_are_where_the_tool_takes_them)
{
	struct policy_rules *r = rules("deny: Read(key)\ndeny: Edit(src/**)\ndeny: Read(//etc/**)\n"
				       "deny: Read(~/.ssh/**)");

	/* relative to the directory of the call, and without its turns */
	ck_assert_int_eq(decide(r, "Read", "{\"file_path\":\"key\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Read", "{\"file_path\":\"a/../key\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Read", "{\"file_path\":\"\\u006bey\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Write", "{\"file_path\":\"../src/x\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Write", "{\"file_path\":\"src/x\"}"), POLICY_ALLOW);
	ck_assert_int_eq(decide(r, "NotebookEdit", "{\"notebook_path\":\"/ws/src/x\"}"),
	    POLICY_DENY);
	ck_assert_int_eq(decide(r, "Read", "{\"file_path\":\"~/.ssh/id\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "LS", "{\"path\":\"~/.ssh\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "LS", "{\"path\":\"/etc\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Grep", "{\"pattern\":\"x\",\"path\":\"/etc/x\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Grep", "{\"pattern\":\"x\"}"), POLICY_ALLOW);
	ck_assert_int_eq(decide(r, "Glob", "{\"pattern\":\"/etc/*\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Glob", "{\"pattern\":\"/etc/pass*\"}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Glob", "{\"pattern\":\"../../etc/*\",\"path\":\"/ws/a\"}"),
	    POLICY_DENY);
	ck_assert_int_eq(decide(r, "Glob", "{\"pattern\":\"*.c\"}"), POLICY_ALLOW);
	ck_assert_int_eq(decide(r, "Read", "{\"file_path\":7}"), POLICY_ALLOW);
	policy_rules_free(r);
}
END_TEST

static enum policy_effect
gateway(const struct policy_rules *r, const char *tool, enum policy_effect permission,
    bool read_only, enum policy_default def)
{
	struct policy_call call = { .kind = POLICY_GATEWAY, .tool = tool, .args = { "{}", 2 },
		.permission = permission, .read_only = read_only };
	struct policy_decision d;

	policy_decide(r, &call, def, &d);
	ck_assert_str_ne(d.why, "");
	return d.effect;
}

START_TEST(gateway_tools_are_decided_by_rule_then_permission_then_default)
{
	struct policy_rules *none = policy_rules_new();
	struct policy_rules *r = rules("allow: github__*\nask: github__merge\n"
				       "deny: mcp__ats__github__delete*\ndeny: Bash");
	static const struct {
		enum policy_default def;
		enum policy_effect reads, others;
	} rows[] = {
		{ POLICY_ALLOW_READS, POLICY_ALLOW, POLICY_ASK },
		{ POLICY_DEFAULT_ASK, POLICY_ASK, POLICY_ASK },
		{ POLICY_DEFAULT_DENY, POLICY_DENY, POLICY_DENY },
		{ POLICY_DEFAULT_ALLOW, POLICY_ALLOW, POLICY_ALLOW },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(gateway(none, "a__b", POLICY_NONE, true, rows[i].def),
		    rows[i].reads);
		ck_assert_int_eq(gateway(none, "a__b", POLICY_NONE, false, rows[i].def),
		    rows[i].others);
		ck_assert_int_eq(gateway(none, "a__b", POLICY_DENY, true, rows[i].def),
		    POLICY_DENY);
		ck_assert_int_eq(gateway(none, "a__b", POLICY_ALLOW, false, rows[i].def),
		    POLICY_ALLOW);
	}
	ck_assert_int_eq(gateway(r, "github__x", POLICY_DENY, false, POLICY_ALLOW_READS),
	    POLICY_ALLOW);
	ck_assert_int_eq(gateway(r, "github__merge", POLICY_ALLOW, true, POLICY_ALLOW_READS),
	    POLICY_ASK);
	ck_assert_int_eq(gateway(r, "github__merger", POLICY_NONE, true, POLICY_ALLOW_READS),
	    POLICY_ALLOW);
	ck_assert_int_eq(gateway(r, "github__delete_repo", POLICY_ALLOW, true,
	    POLICY_ALLOW_READS), POLICY_DENY);
	ck_assert_int_eq(gateway(r, "githubs__x", POLICY_NONE, false, POLICY_ALLOW_READS),
	    POLICY_ASK);
	policy_rules_free(r);
	policy_rules_free(none);
}
END_TEST

START_TEST(tools_that_are_always_denied_are_known)
{
	static const struct {
		const char *rules, *tool;
		enum policy_kind kind;
		bool denied;
	} rows[] = {
		{ "deny: Bash", "Bash", POLICY_SANDBOX, true },
		{ "deny: Bash(*)", "Bash", POLICY_SANDBOX, true },
		{ "deny: Bash(rm:*)", "Bash", POLICY_SANDBOX, false },
		{ "ask: Bash\nallow: Bash", "Bash", POLICY_SANDBOX, false },
		{ "deny: Read", "Grep", POLICY_SANDBOX, true },
		{ "deny: Read(*.pem)", "Grep", POLICY_SANDBOX, false },
		{ "deny: Edit", "Read", POLICY_SANDBOX, false },
		{ "deny: mcp__ats", "Write", POLICY_SANDBOX, true },
		{ "allow: a__*\ndeny: a__*", "a__b", POLICY_GATEWAY, true },
		{ "deny: a__b", "a__bc", POLICY_GATEWAY, false },
		{ "deny: Bash", "a__b", POLICY_GATEWAY, false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct policy_rules *r = rules(rows[i].rules);

		ck_assert_msg(policy_denies_all(r, rows[i].kind, rows[i].tool) == rows[i].denied,
		    "%s: %s", rows[i].rules, rows[i].tool);
		policy_rules_free(r);
	}
}
END_TEST

START_TEST(decisions_name_the_rule)
{
	struct policy_rules *r = rules("deny: Bash(rm:*)");
	struct policy_call call = { .kind = POLICY_SANDBOX, .tool = "Bash",
		.args = { "{\"command\":\"rm x\"}", 18 } };
	struct policy_decision d;
	enum policy_default def;
	char long_one[512] = "{\"command\":\"a=xxxxxxxxxxxxxxxx";

	for (unsigned i = 0; i < 30; i++)
		strcat(long_one, ";a=$a$a$a$a");
	strcat(long_one, "\"}");
	policy_decide(r, &call, POLICY_ALLOW_READS, &d);
	ck_assert_str_eq(d.rule, "Bash(rm:*)");
	ck_assert_str_eq(d.why, "permissions.deny: Bash(rm:*)");
	ck_assert(!d.unseen);
	call.args = (struct ats_slice){ long_one, strlen(long_one) };
	policy_decide(r, &call, POLICY_ALLOW_READS, &d);
	ck_assert_str_eq(d.why, "permissions.deny: Bash(rm:*) "
			       "(the call cannot be looked at whole)");
	ck_assert(d.unseen && d.effect == POLICY_DENY);
	ck_assert(policy_default_parse("allow_reads", &def) && def == POLICY_ALLOW_READS);
	ck_assert(!policy_default_parse("reads", &def));
	policy_rules_free(r);
}
END_TEST

ATS_UNIT_MAIN("policy", rules_that_say_nothing_are_refused_with_a_text,
    rules_are_told_as_they_were_written, deny_wins_over_ask_and_ask_over_allow,
    names_are_of_tools_aliases_groups_and_beginnings, paths_that_cannot_be_looked_at_are_denied,
    patterns_of_files_are_those_of_gitignore, files_of_a_call_are_where_the_tool_takes_them,
    gateway_tools_are_decided_by_rule_then_permission_then_default,
    tools_that_are_always_denied_are_known, decisions_name_the_rule)
