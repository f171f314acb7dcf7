/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions about commands. */
#include "tests/lib/policy_rules.h"

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

ATS_UNIT_MAIN("policy_command", denied_command_is_found_in_every_part,
    allowed_command_is_allowed_in_every_part, patterns_of_commands_end_at_words,
    commands_beyond_what_is_looked_at_are_denied, denied_run_of_parts_is_denied_among_others,
    exec_is_a_command_of_its_words)
