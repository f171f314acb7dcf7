/* SPDX-License-Identifier: Apache-2.0 */
#include "brain/ctl/ctl.h"

#include <string.h>

#include "tests/lib/unit.h"

START_TEST(parse_ms_reads_units_and_refuses_the_rest)
{
	static const struct {
		const char *s;
		uint64_t want;		/* 0: refused */
	} t[] = {
		{ "1ms", 1 }, { "500ms", 500 }, { "1s", 1000 }, { "90", 90000 }, { "2m", 120000 },
		{ "1.5m", 90000 }, { "0.25s", 250 }, { "24h", 86400000 }, { "1.5h", 5400000 },
		{ "0", 0 }, { "0ms", 0 }, { "", 0 }, { "s", 0 }, { "-1s", 0 }, { "+1s", 0 },
		{ "1 s", 0 }, { "1d", 0 }, { "1S", 0 }, { "25h", 0 }, { "1.", 0 }, { ".5s", 0 },
		{ "1.5.5s", 0 }, { "99999999999999999999", 0 }, { "86400001ms", 0 },
		{ "0.0001s", 0 }, { "1e3", 0 }, { "0x10", 0 }, { "1.0000000001s", 0 },
		{ "1sm", 0 }, { "nan", 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		uint64_t ms = 0;
		int rc = ctl_parse_ms(t[i].s, &ms);

		ck_assert_msg(rc == (t[i].want != 0 ? 0 : -ATS_E_INVAL) && ms == t[i].want,
		    "%s: %d %lu", t[i].s, rc, (unsigned long)ms);
	}
}
END_TEST

struct given {
	const char *session;
	bool tty;
	uint64_t ms;
};

static int
args(struct given *g, struct ctl *c, bool early, int argc, const char *const *argv,
    char **ret_rest, int *ret_exit)
{
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &g->session },
		{ "tty", 't', CTL_OPT_FLAG, &g->tty },
		{ "timeout", 0, CTL_OPT_MS, &g->ms },
	};
	static struct ctl_command exec;

	exec = *ctl_find_command("exec");
	exec.most = early ? CTL_ANY : 3;
	memset(g, 0, sizeof(*g));
	c->command = &exec;
	for (int i = 0; i < argc; i++)
		ret_rest[i] = (char *)(uintptr_t)argv[i];
	return ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, ret_rest, ret_exit);
}

START_TEST(args_takes_options_anywhere_unless_early)
{
	static const char *const v[] = { "exec", "-t", "a", "--session=x=y", "--json", "b",
		"--timeout", "2s" };
	struct ctl c = { 0 };
	struct given g;
	char *rest[8];
	int code;

	ck_assert_int_eq(args(&g, &c, false, 8, v, rest, &code), 2);
	ck_assert_str_eq(rest[1], "a");
	ck_assert_str_eq(rest[2], "b");
	ck_assert_str_eq(g.session, "x=y");
	ck_assert_uint_eq(g.ms, 2000);
	ck_assert(g.tty && c.json);
	c.json = false;
	ck_assert_int_eq(args(&g, &c, true, 5, v, rest, &code), 3);
	ck_assert_str_eq(rest[2], "--session=x=y");
	ck_assert(g.tty && !c.json && g.session == NULL);
}
END_TEST

START_TEST(args_after_two_dashes_are_words)
{
	static const char *const v[] = { "exec", "--", "-t", "--", "-" };
	struct ctl c = { 0 };
	struct given g;
	char *rest[5];
	int code;

	ck_assert_int_eq(args(&g, &c, true, 5, v, rest, &code), 3);
	ck_assert_str_eq(rest[1], "-t");
	ck_assert_str_eq(rest[2], "--");
	ck_assert_str_eq(rest[3], "-");
	ck_assert(!g.tty);
}
END_TEST

START_TEST(args_wrong_use_gives_the_commands_exit_code)
{
	static const char *const v[][3] = { { "exec", "--nope", "x" }, { "exec", "--tty=1", "x" },
		{ "exec", "x", "--session" }, { "exec", "--timeout=x", "x" }, { "exec", "-x", "a" },
		{ "exec", "--session", "x" }, { "exec", "--t", "x" }, { "exec", "-", "-tt" } };
	struct ctl c = { 0 };
	struct given g;
	char *rest[3];
	int code;

	for (size_t i = 0; i < ATS_ARRAY_LEN(v); i++) {
		code = 0;
		ck_assert_msg(args(&g, &c, false, 3, v[i], rest, &code) == -1, "row %zu", i);
		ck_assert_int_eq(code, CTL_NOT_RUN);
	}
}
END_TEST

static void
words(const char *usage, bool options, char *out)
{
	const char *w;
	size_t n;

	out[0] = '\0';
	for (size_t i = 0; ctl_usage_word(usage, options, i, &w, &n); i++) {
		strncat(out, w, n);
		strcat(out, " ");
	}
}

START_TEST(usage_words_are_options_and_fixed_words)
{
	static const struct {
		const char *usage, *options, *fixed;
	} t[] = {
		{ "", "", "" },
		{ "[--session S] [--timeout 2m] [--tty] -- CMD ARG...",
		    "--session --timeout --tty ", "" },
		{ "new|ls|show|close [--workspace DIR] [ID]", "--workspace ",
		    "new ls show close " },
		{ "ID", "", "" },
		{ "check [FILE]", "", "check " },
		{ "bash|zsh|fish", "", "bash zsh fish " },
		{ "[--follow]", "--follow ", "" },
	};
	char out[256];

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		words(t[i].usage, true, out);
		ck_assert_str_eq(out, t[i].options);
		words(t[i].usage, false, out);
		ck_assert_str_eq(out, t[i].fixed);
	}
}
END_TEST

START_TEST(every_command_has_a_doc_and_a_distinct_name)
{
	for (size_t i = 0; i < ctl_ncommands; i++) {
		ck_assert(ctl_find_command(ctl_commands[i].name) == &ctl_commands[i]);
		ck_assert_uint_gt(strlen(ctl_commands[i].doc), 5);
		ck_assert(ctl_commands[i].run != NULL);
	}
	ck_assert_ptr_null(ctl_find_command("exe"));
}
END_TEST

ATS_UNIT_MAIN("ctl_options", parse_ms_reads_units_and_refuses_the_rest,
    args_takes_options_anywhere_unless_early, args_after_two_dashes_are_words,
    args_wrong_use_gives_the_commands_exit_code, usage_words_are_options_and_fixed_words,
    every_command_has_a_doc_and_a_distinct_name)
