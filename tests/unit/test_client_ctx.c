/* SPDX-License-Identifier: Apache-2.0
 *
 * A runtime's ctx: what travels of it, what a delta may say, and plan files, which never do. */
#include "brain/client/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define READ(path) "{\"path\":\"" path "\",\"size\":3,\"mtime_ns\":4,\"sha256\":\"" HASH "\"}"
#define DELTA(cwd, rest) "{\"cwd\":\"" cwd "\"" rest "}"

static char top[] = "/tmp/ats-client.XXXXXX";

static void
make(const char *name, const char *text)
{
	char path[ATS_PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	if (text == NULL) {
		ck_assert_int_eq(mkdir(path, 0700), 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void
link_to(const char *name, const char *target)
{
	char path[ATS_PATH_MAX], to[ATS_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	(void)snprintf(to, sizeof(to), target[0] == '/' ? "%s" : "%s/%s",
	    target[0] == '/' ? target : top, target);
	ck_assert_int_eq(symlink(to, path), 0);
}

/* ws and plans, with what somebody may have put there; the current directory is ws. */
static struct ats_ctx *
ctx(void)
{
	char ws[ATS_PATH_MAX], plans[ATS_PATH_MAX], fifo[ATS_PATH_MAX];
	struct ats_ctx *c = NULL;

	(void)unit_tmp(top);
	make("ws", NULL);
	make("plans", NULL);
	make("plans/a.md", "a plan");
	make("plans/sub", NULL);
	make("ws/f", "text");
	make("secret", "secret");
	link_to("ws/to-plan", "plans/a.md");
	link_to("ws/to-plans", "plans");
	link_to("ws/to-new", "plans/not-yet.md");
	link_to("ws/to-link", "ws/to-new");
	link_to("ws/to-none", "ws/none/x");
	link_to("ws/to-self", "ws/to-self");
	link_to("plans/out.md", "secret");
	link_to("plans/in.md", "plans/a.md");
	(void)snprintf(fifo, sizeof(fifo), "%s/plans/fifo", top);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	(void)snprintf(ws, sizeof(ws), "%s/ws", top);
	(void)snprintf(plans, sizeof(plans), "%s/plans", top);
	ck_assert_int_eq(ats_ctx_new(ws, plans, &c), 0);
	ck_assert_int_eq(setenv("HOME", top, 1), 0);
	return c;
}

/* The text with each $ as the temporary directory; valid until the next four. */
static const char *
at(const char *text)
{
	static char out[4][2 * ATS_PATH_MAX];
	static unsigned turn;
	char *to = out[turn++ % 4];
	size_t n = 0;

	for (; *text != '\0'; text++) {
		if (*text != '$')
			to[n++] = *text;
		else
			n += (size_t)snprintf(to + n, sizeof(out[0]) - n, "%s", top);
	}
	to[n] = '\0';
	return to;
}

static int
is_plan(const struct ats_ctx *c, const char *input)
{
	return ats_ctx_is_plan(c, "Read", input, strlen(input));
}

START_TEST(ctx_in_carries_cwd_and_the_named_file_alone)
{
	struct ats_ctx *c = ctx();
	struct ats_read r = { .size = 3, .mtime_ns = 4, .sha256 = HASH };
	const char *edit = "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"b\"}";
	char *text = NULL;

	r.path = at("$/ws/f");
	ck_assert_int_eq(ats_ctx_set_read(c, &r), 0);
	r.path = at("$/ws/g");
	ck_assert_int_eq(ats_ctx_set_read(c, &r), 0);
	ck_assert_int_eq(ats_ctx_in(c, "Edit", edit, strlen(edit), &text), 0);
	ck_assert_str_eq(text, at("{\"cwd\":\"$/ws\",\"reads\":[" READ("$/ws/f") "]}"));
	ats_free(text);
	ck_assert_int_eq(ats_ctx_set_cwd(c, at("$/ws/sub")), 0);
	ck_assert_int_eq(ats_ctx_in(c, "Edit", edit, strlen(edit), &text), 0);
	ck_assert_str_eq(text, at("{\"cwd\":\"$/ws/sub\"}"));
	ats_free(text);
	ck_assert_int_eq(ats_ctx_in(c, "Nope", "{}", 2, &text), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_in(c, "Bash", "[]", 2, &text), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_in(c, "Bash", "{", 1, &text), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_set_cwd(c, "/etc"), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_set_cwd(c, at("$/plans")), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_set_cwd(c, at("$/ws/to-plans")), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_set_cwd(c, at("$/ws/../ws")), ATS_ERR_ARG);
	ats_ctx_free(c);
}
END_TEST

START_TEST(plan_files_are_known_under_every_name)
{
	static const struct {
		const char *input;
		int plan;
	} rows[] = {
		{ "{\"file_path\":\"$/plans/a.md\"}", 1 },
		{ "{\"file_path\":\"$/plans/new.md\"}", 1 },
		{ "{\"file_path\":\"$/plans\"}", 1 },
		{ "{\"file_path\":\"$/plans/sub/deep.md\"}", 1 },
		{ "{\"file_path\":\"../plans/a.md\"}", 1 },
		{ "{\"file_path\":\"$/ws/../plans/a.md\"}", 1 },
		{ "{\"file_path\":\"$//plans/./a.md\"}", 1 },
		{ "{\"file_path\":\"~/plans/a.md\"}", 1 },
		{ "{\"file_path\":\"to-plan\"}", 1 },
		{ "{\"file_path\":\"to-plans/a.md\"}", 1 },
		{ "{\"file_path\":\"$/ws/to-plans/new.md\"}", 1 },
		{ "{\"file_path\":\"to-new\"}", 1 },
		{ "{\"file_path\":\"to-link\"}", 1 },
		{ "{\"file_path\":\"to-self\"}", 1 },	/* it may be anything */
		{ "{\"file_path\":\"to-none\"}", 0 },
		{ "{\"file_path\":\"no/such/folder\"}", 0 },
		{ "{\"file_path\":\"f\"}", 0 },
		{ "{\"file_path\":\"$/plans-not/a.md\"}", 0 },
		{ "{\"file_path\":\"$/secret\"}", 0 },
		{ "{\"file_path\":\"$/plans/a.md\\u0000\"}", 0 },	/* refused as any call */
		{ "{\"file_path\":7}", 0 },
		{ "{}", 0 },
	};
	struct ats_ctx *c = ctx();
	char *text = NULL;
	const char *in;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		in = at(rows[i].input);
		ck_assert_msg(is_plan(c, in) == rows[i].plan, "%s", in);
		text = NULL;
		ck_assert_int_eq(ats_ctx_in(c, "Read", in, strlen(in), &text),
		    rows[i].plan ? ATS_ERR_PLAN : 0);
		ck_assert(text == NULL || strstr(text, "plans") == NULL);
		ats_free(text);
	}
	ats_ctx_free(c);
}
END_TEST

START_TEST(plan_open_takes_one_plain_name)
{
	static const struct {
		const char *name;
		size_t n;
		int flags, rc;
	} rows[] = {
		{ "..", 2, O_RDONLY, ATS_ERR_PLAN },
		{ ".", 1, O_RDONLY, ATS_ERR_PLAN },
		{ "", 0, O_RDONLY, ATS_ERR_PLAN },
		{ "../secret", 9, O_RDONLY, ATS_ERR_PLAN },
		{ "sub/../a.md", 11, O_RDONLY, ATS_ERR_PLAN },
		{ "/etc/passwd", 11, O_RDONLY, ATS_ERR_PLAN },
		{ "a.md\0x", 6, O_RDONLY, ATS_ERR_PLAN },
		{ "a.md\n", 5, O_RDONLY, ATS_ERR_PLAN },
		{ "out.md", 6, O_RDONLY, ATS_ERR_PLAN },
		{ "in.md", 5, O_RDONLY, ATS_ERR_PLAN },
		{ "out.md", 6, O_WRONLY | O_CREAT | O_TRUNC, ATS_ERR_PLAN },
		{ "sub", 3, O_RDONLY, ATS_ERR_PLAN },
		{ "sub", 3, O_WRONLY, ATS_ERR_PLAN },
		{ "fifo", 4, O_RDONLY, ATS_ERR_PLAN },
		{ "fifo", 4, O_WRONLY, ATS_ERR_PLAN },
		{ "a.md", 4, O_RDONLY | O_DIRECTORY, ATS_ERR_PLAN },
		{ "none.md", 7, O_RDONLY, ATS_ERR_SYSTEM },
	};
	struct ats_ctx *c = ctx(), *bare = NULL;
	char text[16] = "";
	int fd;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(ats_plan_open(c, rows[i].name, rows[i].n, rows[i].flags, 0600) ==
		    rows[i].rc, "%s", rows[i].name);
	fd = ats_plan_open(c, "a.md", 4, O_RDONLY, 0);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 6);
	ck_assert_str_eq(text, "a plan");
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
	fd = ats_plan_open(c, "new.md", 6, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = open(at("$/secret"), O_RDONLY);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 6);	/* not cut by O_TRUNC */
	close(fd);
	ck_assert_int_eq(ats_ctx_new(at("$/ws"), NULL, &bare), 0);
	ck_assert_int_eq(ats_plan_open(bare, "a.md", 4, O_RDONLY, 0), ATS_ERR_PLAN);
	ck_assert_int_eq(is_plan(bare, at("{\"file_path\":\"$/plans/a.md\"}")), 0);
	ats_ctx_free(bare);
	ck_assert_int_eq(ats_ctx_new(at("$/ws"), at("$"), &bare), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_new(at("$/ws"), "plans", &bare), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_new("ws", NULL, &bare), ATS_ERR_ARG);
	ats_ctx_free(c);
}
END_TEST

/* With the input {"file_path":"f"} of Read. */
static const struct {
	const char *delta;
	int rc;
	const char *cwd;
	int known;
	size_t shells;
} deltas[] = {
	{ DELTA("$/ws", ""), 0, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ""), 0, "$/ws/sub", 0, 1 },
	{ DELTA("/tmp/x", ""), 0, "/tmp/x", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/f") "]"), 0, "$/ws", 1, 1 },
	{ DELTA("$/ws/sub", ",\"reads\":[" READ("$/ws/f") "]"), 0, "$/ws/sub", 1, 1 },
	{ DELTA("$/ws", ",\"shells\":[]"), 0, "$/ws", 0, 0 },
	{ DELTA("$/ws", ",\"shells\":[\"bash_1\",\"bash_2\"]"), 0, "$/ws", 0, 2 },
	/* out of the roots */
	{ DELTA("/etc", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("sub", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/../x", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("/home/agent-evil", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	/* plans: by name, by .., by a link, with a NUL, as a member */
	{ DELTA("$/plans", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/to-plans", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/plans/a.md") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/../plans/f") "]"), ATS_ERR_REFUSED,
	    "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/to-plans/f") "]"), ATS_ERR_REFUSED,
	    "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/to-plan") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/to-new") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/f\\u0000") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws\\u0000", ""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ",\"plan\":\"a.md\""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ",\"plan_path\":\"$/plans/a.md\""), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	/* what the call did not name */
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/g") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("$/ws/ff") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[" READ("f") "]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ",\"reads\":[" READ("$/ws/f") "," READ("$/ws/g") "]"), ATS_ERR_REFUSED,
	    "$/ws", 0, 1 },
	/* not what a delta looks like */
	{ "{\"cwd\":\"$/ws\",\"reads\":[{\"path\":\"$/ws/f\","
	  "\"size\":1,\"mtime_ns\":1,\"sha256\":\"x\"}]}",
	    ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ "{\"cwd\":\"$/ws\",\"reads\":[{\"path\":\"$/ws/f\","
	  "\"size\":18446744073709551615,\"mtime_ns\":1,"
	  "\"sha256\":\"\"}]}", ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":{}"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws", ",\"reads\":[1]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ",\"shells\":[\"../x\"]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ",\"shells\":[\"\"]"), ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ DELTA("$/ws/sub", ",\"shells\":[\"a23456789012345678901234567890123\"]"), ATS_ERR_REFUSED,
	    "$/ws", 0, 1 },
	{ "{}", ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ "[]", ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ "", ATS_ERR_REFUSED, "$/ws", 0, 1 },
	{ "{\"cwd\":\"$/ws\",\"cwd\":\"$/ws\"}", ATS_ERR_REFUSED, "$/ws", 0, 1 },
};

START_TEST(ctx_apply_takes_all_of_a_delta_or_nothing)
{
	struct ats_ctx *c = ctx();
	const char *in = "{\"file_path\":\"f\"}", *delta, *bash = "{\"command\":\"x\"}";
	struct ats_read r;
	size_t shells;

	for (size_t i = 0; i < ATS_ARRAY_LEN(deltas); i++) {
		struct ats_ctx *one = NULL;

		delta = "{\"cwd\":\"/tmp\",\"shells\":[\"bash_1\"]}";
		ck_assert_int_eq(ats_ctx_new(at("$/ws"), at("$/plans"), &one), 0);
		ck_assert_int_eq(ats_ctx_apply(one, "Bash", bash, strlen(bash), delta,
		    strlen(delta)), 0);
		ck_assert_int_eq(ats_ctx_set_cwd(one, at("$/ws")), 0);
		delta = at(deltas[i].delta);
		ck_assert_msg(ats_ctx_apply(one, "Read", in, strlen(in), delta, strlen(delta)) ==
		    deltas[i].rc, "%s", delta);
		ck_assert_str_eq(ats_ctx_cwd(one), at(deltas[i].cwd));
		ck_assert_msg((ats_ctx_get_read(one, at("$/ws/f"), &r) == 0) == deltas[i].known,
		    "%s", delta);
		ck_assert_int_eq(ats_ctx_get_read(one, at("$/plans/a.md"), &r), ATS_ERR_ARG);
		for (shells = 0; ats_ctx_shells(one)[shells] != NULL;)
			shells++;
		ck_assert_uint_eq(shells, deltas[i].shells);
		ats_ctx_free(one);
	}
	ck_assert_int_eq(ats_ctx_apply(c, "Nope", "{}", 2, "{}", 2), ATS_ERR_ARG);
	ats_ctx_free(c);
}
END_TEST

START_TEST(reads_are_bounded_and_the_oldest_goes)
{
	struct ats_read r = { .size = 1, .sha256 = "" }, got;
	struct ats_ctx *c = ctx();
	char path[64];

	for (unsigned i = 0; i <= CLIENT_reads; i++) {
		(void)snprintf(path, sizeof(path), "/tmp/none-%u", i);
		r.path = path;
		ck_assert_int_eq(ats_ctx_set_read(c, &r), 0);
	}
	ck_assert_int_eq(ats_ctx_get_read(c, "/tmp/none-0", &got), ATS_ERR_ARG);
	ck_assert_int_eq(ats_ctx_get_read(c, "/tmp/none-1", &got), 0);
	ck_assert_int_eq(ats_ctx_get_read(c, path, &got), 0);
	ck_assert_uint_eq(got.size, 1);
	r.path = at("$/plans/a.md");
	ck_assert_int_eq(ats_ctx_set_read(c, &r), ATS_ERR_PLAN);
	r.path = "relative";
	ck_assert_int_eq(ats_ctx_set_read(c, &r), ATS_ERR_ARG);
	r.path = "/tmp/none-1";
	r.sha256 = "ABC";
	ck_assert_int_eq(ats_ctx_set_read(c, &r), ATS_ERR_ARG);
	ats_ctx_free(c);
}
END_TEST

START_TEST(servable_is_a_matter_of_the_environment_and_the_table)
{
	ck_assert_int_eq(unsetenv("REMOTE_TOOLS_URL"), 0);
	ck_assert_int_eq(ats_init(), 0);
	ck_assert_int_eq(ats_servable("Bash"), 0);
	ck_assert_int_eq(setenv("REMOTE_TOOLS_URL", "", 1), 0);
	ck_assert_int_eq(ats_init(), 0);
	ck_assert_int_eq(setenv("REMOTE_TOOLS_URL", "stdio", 1), 0);
	ck_assert_int_eq(ats_init(), 1);
	ck_assert_int_eq(ats_servable("Bash"), 1);
	ck_assert_int_eq(ats_servable("KillBash"), 1);
	ck_assert_int_eq(ats_servable("bash"), 0);
	ck_assert_int_eq(ats_servable("mcp__x__y"), 0);
	ck_assert_int_eq(ats_servable("WebFetch"), 0);
	ck_assert_int_eq(ats_servable(""), 0);
	ck_assert_int_eq(ats_servable(NULL), 0);
	ck_assert_int_eq(unsetenv("REMOTE_TOOLS_URL"), 0);
	ck_assert_int_eq(ats_init(), 0);
}
END_TEST

ATS_UNIT_MAIN("client_ctx", servable_is_a_matter_of_the_environment_and_the_table,
    ctx_in_carries_cwd_and_the_named_file_alone, plan_files_are_known_under_every_name,
    plan_open_takes_one_plain_name, ctx_apply_takes_all_of_a_delta_or_nothing,
    reads_are_bounded_and_the_oldest_goes)
