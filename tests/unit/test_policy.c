/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions: what is a rule, what it is about, and which one wins. */
#include "brain/policy/rules.h"
#include "common/json.h"
#include "tests/lib/unit.h"

static struct ats_err err;

/* Rules as "allow: Bash", one a line. */
static struct policy_rules *
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

static enum policy_effect
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

static enum policy_effect
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

START_TEST(denied_command_is_found_in_every_part)
{
	static const char *const denied[] = {
		"rm", "rm x", "  rm   -rf  x", "rm\tx", "ls; rm x", "ls && rm x", "ls || rm x",
		"ls | rm x", "ls & rm x", "ls\nrm x", "ls |& rm x", "(rm x)", "{ rm x; }",
		"! rm x", "if true; then rm x; fi", "for f in *; do rm $f; done",
		"while rm x; do :; done", "f() { rm x; }", "function f { rm x; }",
		"case x in a) rm x;; esac", "/bin/rm x", "../bin/rm x", "\\rm x", "'rm' x",
		"r''m x",
		"\"rm\" x", "r\\m x", "r\\\nm x", "$'rm' x", "$'\\x72m' x", "$'\\162\\155' x",
		"$\"rm\" x", "x=rm; $x y", "x=rm; ${x} y", "x='rm y'; $x", "a=r b=m; $a$b x",
		"rm${IFS}x", "FOO=1 rm x", "A=1 B='2 3' rm x", "env rm x", "env -i A=b rm x",
		"env -u A rm x", "env -S 'rm x'", "sudo rm x", "sudo -u root rm x",
		"sudo -n -- rm x",
		"sudo --user root rm x", "sudo A=b rm x", "doas rm x", "timeout 5 rm x",
		"timeout -s KILL 5 rm x", "timeout --signal=KILL 5s rm x", "nice rm x",
		"nice -n 5 rm x", "nice -19 rm x", "nohup rm x", "nohup nice sudo rm x",
		"time rm x",
		"time -p rm x", "command rm x", "command -p rm x", "builtin rm", "exec rm x",
		"exec -a ls rm x", "stdbuf -o0 rm x", "setsid rm x", "busybox rm x", "xargs rm",
		"ls | xargs -n 1 rm", "ls | xargs -I{} rm {}", "xargs -0 -P 4 rm -f",
		"find . -exec rm {} \\;", "find . -name x -execdir sudo rm {} +", "bash -c 'rm x'",
		"sh -c \"rm x\"", "/bin/bash -lc 'ls; rm x'", "bash -e -c 'rm x'",
		"bash --norc -c 'rm x'", "bash -c \"bash -c 'rm x'\"", "eval rm x", "eval 'rm x'",
		"eval \"r\"m x", "su -c 'rm x'", "su root -c 'rm x'", "ssh host rm x",
		"ssh -p 22 host 'ls; rm x'", "trap 'rm x' EXIT", "watch -n 1 rm x",
		"script -c 'rm x'", "echo $(rm x)", "echo \"$(rm x)\"", "echo `rm x`",
		"echo \"`rm x`\"", "echo $(echo $(rm x))", "echo ${y:-$(rm x)}", "cat <(rm x)",
		"tee >(rm x)", "rm x > out", "> out rm x", "2>&1 rm x", "ls >out; rm x",
		"ls 2>/dev/null|rm x", "ls &> out && rm x", "ls &>>out; rm x",
		"cat <<E\nx\nE\nrm x",
		"cat <<'E'; rm x\nx\nE\n", "cat <<-E\n\tx\n\tE\nrm x", "bash <<E\nrm x\nE",
		"bash <<'E'\nls\nrm x\nE\n", "cat <<E | sh\nrm x\nE", "cat <<E\n$(rm x)\nE",
		"bash <<< 'rm x'", "# nothing\nrm x", "ls # x\nrm x", "echo \"a # b\"; rm x",
		"echo 'a\nb'; rm x", "coproc rm x", "else rm x", "x=$(rm y)", "A=\"$(rm x)\" ls",
		"parallel rm ::: a", "flock lock rm x", "chroot / rm x", "echo a\\;b; rm x",
		"ls;rm x", "ls&&rm x", "echo \"\\\"\"; rm x", "echo '\\'; rm x", "[ -f x ] && rm x",
		"echo $((1 + 2)); rm x", "echo ${#x}; rm x",
		"sudo -ualice rm x", "sudo -uvictor rm x", "sudo -k rm x", "sudo -nu root rm x",
		"sudo --user root --group x rm y", "sudo --user root -n rm x",
		"sudo --us root rm x",
		"sudo --preserve-env rm x", "timeout --signal KILL 5 rm x",
		"timeout --kill-after 3 -s TERM 5 rm x", "timeout -vk 3 5 rm x",
		"timeout --foreground 5 rm x", "env - rm x", "env - A=b rm x", "env -iu A rm x",
		"env -iS 'rm x'", "env -vS'rm x'", "env -u A -S 'rm x'", "env -S '-i rm x'",
		"env -S 'A=b rm x'", "env --split-string 'rm x'", "env --unset A -S 'rm x'",
		"xargs -0n 1 rm", "xargs -0I {} rm {}", "xargs --max-args 1 --null rm",
		"xargs -a f rm", "ssh -vp 22 host rm x", "ssh host -t rm x", "flock f -c 'rm x'",
		"watch -tn 5 rm x", "nice --adjustment 5 rm x", "exec -la x rm y",
		"export x=rm; $x y", "declare -r x=rm; $x y", "x=r; x+=m; $x y",
		"x=rm; x=ls true; $x y", "x=rm eval '$x y'", "A[0]=b rm x", "A[1]+=b rm x",
		"echo `echo \\`rm x\\``",
	};
	static const char *const others[] = {
		"ls", "rmdir x", "echo rm x", "echo 'rm x'", "echo \"; rm x\"", "echo '$(rm x)'",
		"echo \\; rm", "git rm x", "ls rm", "grep rm x", "# rm x", "ls # ; rm x",
		"cat <<'E'\nrm x\nE", "cat <<E\nrm x\nE", "cat <<'E'\n$(rm x)\nE", "./rmx",
		"farm x", "rm-all x", "command -v rm", "man rm", "ls > rm", "echo $x rm",
		"find . -name rm", "bash script rm", "cat <<< 'rm x'", "sudo -l rm", "",
		"npm run rm", "echo \"a\nrm x\"", "x=rm", "echo a#b; ls",
		"timeout --foreground 5 grep rm x", "sudo -u alice ls rm", "sudo -ualice -l rm",
		"sudo -lU alice rm", "env --unset rm ls", "xargs -0n 1 echo rm",
		"x=ls; x+=m; $x rm",
		"A[0 rm x", "echo `echo \\\\rm x`",
	};
	struct policy_rules *r = rules("deny: Bash(rm:*)");

	for (size_t i = 0; i < ATS_ARRAY_LEN(denied); i++)
		ck_assert_msg(decide_command(r, denied[i]) == POLICY_DENY, "not denied: %s",
		    denied[i]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(others); i++)
		ck_assert_msg(decide_command(r, others[i]) == POLICY_ALLOW, "denied: %s",
		    others[i]);
	policy_rules_free(r);
}
END_TEST

START_TEST(allowed_command_is_allowed_in_every_part)
{
	/* What no rule allows is asked about: the default of the sandbox is to allow, so it is
	 * looked at by which rule decided. */
	static const struct {
		const char *command;
		bool by_rule;
	} rows[] = {
		{ "echo hi", true }, { "echo", true }, { "echo hi && ls", true },
		{ "echo hi; ls -l | ls\nls", true }, { "timeout 5 echo hi", true },
		{ "nice timeout 2.5s echo hi", true }, { "echo 'a; b'", true },
		{ "npm run test", true }, { "npm run test a", true }, { "npm run tests", false },
		{ "echohi", false }, { "ls; touch q", false }, { "ls | tee q", false },
		{ "echo hi > q", false }, { "ls\nrm x", false }, { "echo $(rm x)", false },
		{ "echo `rm x`", false }, { "(ls)", false }, { "FOO=1 echo", false },
		{ "for i in 1; do echo; done", false }, { "bash -c 'echo'", false },
		{ "echo 'a", false }, { "echo \"a", false }, { "node --version", true },
		{ "node x --version", true }, { "X=1 node --version", false }, { "ls # x", false },
		{ "timeout echo", false }, { "timeout 5", false }, { "echo <(ls)", false },
		{ "make -j2", true }, { "make -j2 x", false }, { "{ echo; }", false },
		{ "if ls", false }, { "ls\\ x", false }, { "# why\nls", true }, { "\"ls\"", false },
	};
	struct policy_rules *r = rules("allow: Bash(echo:*)\nallow: Bash(ls *)\nallow: "
				       "Bash(npm run test:*)\nallow: Bash(* --version)\n"
				       "allow: Bash(make -j2)");

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct policy_call call = { .kind = POLICY_SANDBOX, .tool = "Bash" };
		struct policy_decision d;
		struct ats_buf args;
		struct ats_json_w w;

		ats_buf_init(&args, 4096);
		ats_json_w_init(&w, &args);
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "command", rows[i].command);
		ats_json_w_end(&w);
		call.args = (struct ats_slice){ args.data, args.len };
		policy_decide(r, &call, POLICY_ALLOW_READS, &d);
		ck_assert_msg((d.rule != NULL) == rows[i].by_rule, "%s: %s", rows[i].command,
		    d.why);
		ats_buf_done(&args);
	}
	policy_rules_free(r);
}
END_TEST

START_TEST(patterns_of_commands_end_at_words)
{
	static const struct {
		const char *rule, *command;
		bool denied;
	} rows[] = {
		{ "git push", "git push", true }, { "git push", "git push origin", false },
		{ "git push", "git  push", true }, { "git push:*", "git pushx", false },
		{ "git push *", "git push x", true }, { "git push *", "git push", true },
		{ "git push*", "git pushx", true }, { "git * main", "git push origin main", true },
		{ "git * main", "git push origin mainx", false },
		{ "git * main:*", "git push origin main --force", true },
		{ "* --force", "git push --force", true },
		{ "*--force*", "git push --forced x", true },
		{ "curl * | sh", "curl x | sh", true }, { "a\\*b", "a*b", true },
		{ "a\\*b", "axb", false }, { "a*b*c", "a1b2b3c", true },
		{ "a*b*c", "a1b2b3", false },
		{ "echo \"x\"", "echo \"x\"", true }, { "echo x", "echo \"x\"", true },
		{ "rm -rf /", "sudo rm -rf /", true }, { "rm -rf /", "rm -rf /x", false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct policy_rules *r = policy_rules_new();
		char text[64];

		snprintf(text, sizeof(text), "Bash(%s)", rows[i].rule);
		ck_assert_int_eq(policy_rules_add(r, POLICY_DENY, text, &err), 0);
		ck_assert_msg((decide_command(r, rows[i].command) == POLICY_DENY) ==
		    rows[i].denied, "%s: %s", text, rows[i].command);
		policy_rules_free(r);
	}
}
END_TEST

START_TEST(commands_beyond_what_is_looked_at_are_denied)
{
	struct policy_rules *r = rules("deny: Bash(rm:*)"), *asks = rules("ask: Bash(rm:*)"),
			    *none = rules("allow: Bash(ls)");
	size_t n = 600000;
	char *text = malloc(n + 1);

	/* assignments that grow what they stand for */
	strcpy(text, "a=xxxxxxxxxxxxxxxx;");
	for (unsigned i = 0; i < 30; i++)
		strcat(text, "a=$a$a$a$a;");
	ck_assert_int_eq(decide_command(r, text), POLICY_DENY);
	ck_assert_int_eq(decide_command(asks, text), POLICY_ASK);
	ck_assert_int_eq(decide_command(none, text), POLICY_ALLOW);
	/* one in the other */
	for (size_t i = 0; i < n; i += 2)
		memcpy(text + i, "$(", 2);
	text[n] = '\0';
	ck_assert_int_eq(decide_command(r, text), POLICY_DENY);
	/* many small ones */
	for (size_t i = 0; i < n; i += 2)
		memcpy(text + i, "a;", 2);
	ck_assert_int_eq(decide_command(r, text), POLICY_DENY);
	/* a long plain one is looked at */
	memset(text, 'x', n);
	memcpy(text, "echo ", 5);
	ck_assert_int_eq(decide_command(r, text), POLICY_ALLOW);
	memcpy(text + n - 6, "; rm x", 6);
	ck_assert_int_eq(decide_command(r, text), POLICY_DENY);
	free(text);
	policy_rules_free(r);
	policy_rules_free(asks);
	policy_rules_free(none);
}
END_TEST

/* The pattern may be about more than one part. */
START_TEST(denied_run_of_parts_is_denied_among_others)
{
	static const char *const before[] = { "", "echo a;", "echo a; ", "echo a\n", "echo a && ",
		"cat <<E\nb\nE\n", "(" };
	static const char *const after[] = { "", ";", "; echo a", "\necho a", " && echo a", "&",
		")" };
	static const struct {
		const char *rule, *command;
		bool denied;
	} rows[] = {
		{ "curl * | sh", "curl x | sh", true },
		{ "curl *| sh", "curl x; y | sh", true },
		{ "curl * | sh", "curl x | sh -x", false }, { "a; b:*", "a; b c", true },
		{ "curl * | sh", "echo '; curl x | sh'", false },
		{ "rm * /x", "rm -r /x", true }, { "rm * /x", "echo rm -r /x", false },
		{ "b;c", "a;b;c", true }, { "b", "cat <<E\nb\nE", false },
	};
	char text[128];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct policy_rules *r = policy_rules_new();

		snprintf(text, sizeof(text), "Bash(%s)", rows[i].rule);
		ck_assert_int_eq(policy_rules_add(r, POLICY_DENY, text, &err), 0);
		for (size_t k = 0; k < ATS_ARRAY_LEN(before) * ATS_ARRAY_LEN(after); k++) {
			const char *end = after[k % ATS_ARRAY_LEN(after)];

			/* the line of a here-document ends it alone */
			if (strstr(rows[i].command, "<<") != NULL && *end != '\0' && *end != '\n')
				continue;
			snprintf(text, sizeof(text), "%s%s%s", before[k / ATS_ARRAY_LEN(after)],
			    rows[i].command, end);
			ck_assert_msg((decide_command(r, text) == POLICY_DENY) == rows[i].denied,
			    "%s: %s", rows[i].rule, text);
		}
		policy_rules_free(r);
	}
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

START_TEST(exec_is_a_command_of_its_words)
{
	struct policy_rules *r = rules("deny: Bash(rm:*)");

	ck_assert_int_eq(decide(r, "Bash", "[\"rm\",\"x\"]"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Bash", "[\"/bin/rm\"]"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Bash", "[\"sudo\",\"-n\",\"rm\",\"x\"]"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Bash", "[\"sh\",\"-c\",\"ls; rm x\"]"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Bash", "[\"echo\",\"; rm x\"]"), POLICY_ALLOW);
	ck_assert_int_eq(decide(r, "Bash", "[\"echo\",\"$(rm x)\"]"), POLICY_ALLOW);
	ck_assert_int_eq(decide(r, "Bash", "[]"), POLICY_ALLOW);
	ck_assert_int_eq(decide(r, "Bash", "{\"argv\":[\"rm\"]}"), POLICY_DENY);
	ck_assert_int_eq(decide(r, "Bash", "{\"command\":\"rm x\",\"argv\":[\"ls\"]}"),
	    POLICY_DENY);
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
    names_are_of_tools_aliases_groups_and_beginnings, denied_command_is_found_in_every_part,
    allowed_command_is_allowed_in_every_part, patterns_of_commands_end_at_words,
    commands_beyond_what_is_looked_at_are_denied, denied_run_of_parts_is_denied_among_others,
    paths_that_cannot_be_looked_at_are_denied, exec_is_a_command_of_its_words,
    patterns_of_files_are_those_of_gitignore, files_of_a_call_are_where_the_tool_takes_them,
    gateway_tools_are_decided_by_rule_then_permission_then_default,
    tools_that_are_always_denied_are_known, decisions_name_the_rule)
