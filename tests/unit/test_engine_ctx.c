/* SPDX-License-Identifier: Apache-2.0
 *
 * ctxIn and ctxDelta: what an input names, what a sandbox may say. */
#include "brain/engine/ctx.h"

#include "brain/engine/ctx_host.h"
#include "brain/engine/sessions.h"
#include "tests/lib/unit.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct session *
session(void)
{
	struct session *s = session_new("s-1", 1, "/ws", "k", 4);

	ck_assert_ptr_nonnull(s);
	return s;
}

static struct ats_slice
slice(const char *text)
{
	struct ats_slice v = { text, strlen(text) };

	return v;
}

START_TEST(ctx_name_of_each_tool_is_the_normalised_path)
{
	static const struct {
		const char *tool, *args, *path;
		uint64_t timeout;
	} rows[] = {
		{ "Read", "{\"file_path\":\"a/../b\"}", "/ws/sub/b", 0 },
		{ "Read", "{\"file_path\":\"/x//y/./z\"}", "/x/y/z", 0 },
		{ "Read", "{\"file_path\":\"~/a\"}", "/home/agent/a", 0 },
		{ "Read", "{\"file_path\":\"~\"}", "/home/agent", 0 },
		{ "Read", "{\"file_path\":\"~//a\"}", "/home/agent/a", 0 },
		{ "Read", "{\"file_path\":\"~x\"}", "/ws/sub/~x", 0 },
		{ "Read", "{\"file_path\":\"\\u00e9\"}", "/ws/sub/\xc3\xa9", 0 },
		{ "Edit", "{\"old_string\":\"\",\"file_path\":\"/a\"}", "/a", 0 },
		{ "MultiEdit", "{\"edits\":[],\"file_path\":\"a\"}", "/ws/sub/a", 0 },
		{ "NotebookEdit", "{\"notebook_path\":\"~/n\",\"file_path\":\"/a\"}",
		    "/home/agent/n", 0 },
		{ "TaskOutput", "{\"task_id\":\"b\",\"timeout\":90}", "", 90 },
		{ "Read", "{\"file_path\":\"\"}", "", 0 },
		{ "Read", "{\"file_path\":7}", "", 0 },
		{ "Read", "{\"file_path\":\"a\\u0000b\"}", "", 0 },
		{ "Read", "{}", "", 0 },
		{ "Grep", "{\"pattern\":\"x\",\"path\":\"/a\"}", "", 0 },
		{ "Bash", "{\"command\":\"x\",\"file_path\":\"/a\",\"timeout\":7}", "", 7 },
		{ "Bash", "{\"command\":\"x\",\"timeout\":\"70\"}", "", 70 },
		{ "Bash", "{\"command\":\"x\",\"timeout\":\"7x\"}", "", 0 },
		{ "Bash", "{\"command\":\"x\",\"timeout\":-7}", "", 0 },
		{ "Bash", "{\"command\":\"x\",\"timeout\":1.5}", "", 0 },
		{ "Bash", "{\"command\":\"x\",\"timeout\":null}", "", 0 },
		{ "Read", "{\"file_path\":\"a\",\"timeout\":9}", "/ws/sub/a", 0 },
	};
	struct ats_ctx_named n;
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ats_ctx_name(ats_tool_find(rows[i].tool), "/ws/sub", slice(rows[i].args), &n);
		ck_assert_str_eq(n.path, rows[i].path);
		ck_assert_uint_eq(n.timeout_ms, rows[i].timeout);
	}
}
END_TEST

START_TEST(ctx_cwd_allowed_knows_whole_components_only)
{
	static const struct {
		const char *cwd;
		bool ok;
	} rows[] = {
		{ "/ws", true }, { "/ws/a", true }, { "/tmp", true }, { "/tmp/x", true },
		{ "/home/agent", true }, { "/run/ats/spill", true }, { "/ws-evil", false },
		{ "/w", false }, { "/", false }, { "", false }, { "ws", false },
		{ "/ws/../etc", false }, { "/ws/", false }, { "/ws//a", false },
		{ "/ws/.", false }, { "/home", false }, { "/home/agent2", false },
		{ "/etc", false },
	};
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(ats_ctx_cwd_allowed("/ws", rows[i].cwd) == rows[i].ok, "%s",
		    rows[i].cwd);
}
END_TEST

START_TEST(ctx_in_write_carries_only_the_named_file)
{
	struct session *s = session();
	struct ats_buf out;

	ats_buf_init(&out, 4096);
	ck_assert_int_eq(session_read_put(s, "/ws/a", 3, 7, HASH, false), 0);
	ck_assert_int_eq(session_read_put(s, "/ws/b", 1, 1, "", false), 0);
	ck_assert_int_eq(ctx_in_write(s, NULL, "", "", &out), 0);
	ck_assert_str_eq(out.data, "{\"cwd\":\"/ws\"}");
	ats_buf_reset(&out);
	ck_assert_int_eq(ctx_in_write(s, NULL, "/ws/c", "xterm", &out), 0);
	ck_assert_str_eq(out.data, "{\"cwd\":\"/ws\",\"env\":[\"TERM=xterm\"]}");
	ats_buf_reset(&out);
	ck_assert_int_eq(ctx_in_write(s, NULL, "/ws/a", "", &out), 0);
	ck_assert_str_eq(out.data,
	    "{\"cwd\":\"/ws\",\"reads\":[{\"path\":\"/ws/a\",\"size\":3,\"mtime_ns\":7,"
	    "\"sha256\":\"" HASH "\"}]}");
	ats_buf_done(&out);
	session_free(s);
}
END_TEST

/* What each tool may say. cwd, known files and shells afterwards; dropped: part of the text. */
static const struct {
	const char *tool, *delta, *cwd, *dropped;
	size_t files, shells;
	int rc;
} deltas[] = {
	{ "Bash", "{}", "/ws", NULL, 0, 0, 0 },
	{ "Bash", "{\"cwd\":\"/ws/a\"}", "/ws/a", NULL, 0, 0, 0 },
	{ "Bash", "{\"cwd\":\"/ws\"}", "/ws", NULL, 0, 0, 0 },
	{ "Bash", "{\"cwd\":\"/ws-evil\"}", "/ws", "cwd", 0, 0, 0 },
	{ "Bash", "{\"cwd\":\"\"}", "/ws", "cwd", 0, 0, 0 },
	{ "Read", "{\"cwd\":\"/ws/a\"}", "/ws", "cwd", 0, 0, 0 },
	{ "Bash", "{\"cwd\":7}", "/ws", NULL, 0, 0, -ATS_E_FIELD },
	{ "Bash", "{\"who\":7}", "/ws", NULL, 0, 0, -ATS_E_FIELD },
	{ "Bash", "[]", "/ws", NULL, 0, 0, -ATS_E_FIELD },
	{ "Bash", "{\"shell_started\":\"bash_1\"}", "/ws", NULL, 0, 1, 0 },
	{ "Bash", "{\"shell_started\":\"../1\"}", "/ws", "shell", 0, 0, 0 },
	{ "Bash", "{\"shell_started\":\"\"}", "/ws", "shell", 0, 0, 0 },
	{ "Read", "{\"shell_started\":\"bash_1\"}", "/ws", "shell", 0, 0, 0 },
	{ "KillShell", "{\"shell_ended\":\"bash_9\"}", "/ws", NULL, 0, 0, 0 },
	{ "Read", "{\"reads\":[]}", "/ws", NULL, 0, 0, 0 },
	{ "Read", "{\"reads\":[{\"path\":\"/ws/f\",\"size\":1,\"mtime_ns\":2,\"sha256\":\"" HASH
	          "\"}]}", "/ws", NULL, 1, 0, 0 },
	{ "Read", "{\"reads\":[{\"path\":\"/ws/f\",\"size\":1,\"mtime_ns\":2,\"sha256\":\"\"}]}",
	    "/ws", NULL, 1, 0, 0 },
	{ "Bash", "{\"reads\":[{\"path\":\"/ws/f\",\"size\":1,\"mtime_ns\":2,\"sha256\":\"\"}]}",
	    "/ws", "read-state", 0, 0, 0 },
	{ "Read", "{\"reads\":[{\"path\":\"/ws/g\",\"size\":1,\"mtime_ns\":2,\"sha256\":\"\"}]}",
	    "/ws", "read-state", 0, 0, 0 },
	{ "Read", "{\"reads\":[{\"path\":\"/ws/f\",\"size\":1,\"mtime_ns\":2,\"sha256\":\"x\"}]}",
	    "/ws", "impossible", 0, 0, 0 },
	{ "Read", "{\"reads\":[{\"path\":\"/ws/f\",\"size\":18446744073709551615,\"mtime_ns\":2,"
	          "\"sha256\":\"\"}]}", "/ws", "impossible", 0, 0, 0 },
	{ "Read", "{\"reads\":[{\"path\":\"/ws/f\"}]}", "/ws", NULL, 0, 0, -ATS_E_FIELD },
	{ "Read", "{\"reads\":[7]}", "/ws", NULL, 0, 0, -ATS_E_FIELD },
	{ "Read", "{\"reads\":{}}", "/ws", NULL, 0, 0, -ATS_E_FIELD },
};

START_TEST(ctx_delta_apply_takes_what_is_the_calls_to_say)
{
	const char *dropped;
	struct ats_buf arena;
	struct session *s;
	size_t i, files;
	int rc;

	ats_buf_init(&arena, 65536);
	for (i = 0; i < ATS_ARRAY_LEN(deltas); i++) {
		s = session();
		dropped = NULL;
		rc = ctx_delta_apply(s, ats_tool_find(deltas[i].tool), "/ws/f",
		    slice(deltas[i].delta), &arena, &dropped, NULL);
		if (deltas[i].rc == 0)
			ck_assert_msg(rc == 0, "%s", deltas[i].delta);
		else
			ck_assert_msg(rc < 0, "%s", deltas[i].delta);
		files = session_read_find(s, "/ws/f") != NULL;
		ck_assert_str_eq(s->cwd, deltas[i].cwd);
		ck_assert_uint_eq(files, deltas[i].files);
		ck_assert_ptr_null(session_read_find(s, "/ws/g"));
		ck_assert_uint_eq(s->nshells, deltas[i].shells);
		if (rc == 0 && deltas[i].dropped == NULL)
			ck_assert_msg(dropped == NULL, "%s", deltas[i].delta);
		if (deltas[i].dropped != NULL)
			ck_assert_msg(dropped != NULL && strstr(dropped, deltas[i].dropped), "%s",
			    deltas[i].delta);
		session_free(s);
	}
	ats_buf_done(&arena);
}
END_TEST

#define READ(path, hash) "{\"path\":\"" path "\",\"size\":3,\"mtime_ns\":4,\"sha256\":\"" hash "\"}"
static const struct {
	const char *ctx, *why;		/* why: NULL when it is taken */
	const char *cwd;
	size_t files;
} hosts[] = {
	{ "{\"cwd\":\"/ws\"}", NULL, "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\"}", NULL, "/ws/sub", 0 },
	{ "{\"cwd\":\"/tmp\",\"reads\":[" READ("/ws/f", HASH) "]}", NULL, "/tmp", 1 },
	{ "{\"cwd\":\"/ws\",\"reads\":[" READ("/ws/f", "") "]}", NULL, "/ws", 1 },
	{ "{}", "cwd", "/ws", 0 },
	{ "{\"cwd\":\"/ws-evil\"}", "ctx.cwd", "/ws", 0 },
	{ "{\"cwd\":\"/ws/../etc\"}", "ctx.cwd", "/ws", 0 },
	{ "{\"cwd\":\"sub\"}", "ctx.cwd", "/ws", 0 },
	{ "{\"cwd\":\"/ws\",\"env\":[\"A=b\"]}", "ctx.env", "/ws", 0 },
	{ "{\"cwd\":\"/ws\",\"plan\":\"a.md\"}", "plan", "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\",\"reads\":{}}", "reads", "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\",\"reads\":[" READ("/ws/f", HASH) "," READ("f", HASH) "]}", "reads",
	    "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\",\"reads\":[" READ("/ws/./f", HASH) "]}", "reads", "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\",\"reads\":[" READ("/ws/f", "AB") "]}", "reads", "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\",\"reads\":[1]}", "object", "/ws", 0 },
	{ "{\"cwd\":\"/ws/sub\",\"reads\":[{\"path\":\"/ws/f\"}]}", "required", "/ws", 0 },
};

START_TEST(ctx_host_take_is_all_or_nothing)
{
	struct ats_err err;
	struct session *s;
	int rc;

	for (size_t i = 0; i < ATS_ARRAY_LEN(hosts); i++) {
		s = session();
		err = (struct ats_err){ 0 };
		rc = ctx_host_take(s, slice(hosts[i].ctx), &err);
		ck_assert_int_eq(rc, hosts[i].why == NULL ? 0 : -ATS_E_FIELD);
		ck_assert_msg(hosts[i].why == NULL || strstr(err.text, hosts[i].why) != NULL,
		    "%s: %s", hosts[i].ctx, err.text);
		ck_assert_str_eq(s->cwd, hosts[i].cwd);
		ck_assert_uint_eq(session_read_find(s, "/ws/f") != NULL, hosts[i].files);
		ck_assert_int_lt(ctx_host_take(s, slice(hosts[i].ctx), NULL), 1);
		session_free(s);
	}
}
END_TEST

START_TEST(ctx_host_write_says_what_such_a_call_may_have_changed)
{
	struct session *s = session();
	struct ats_buf out;

	ck_assert_int_eq(session_read_put(s, "/ws/f", 3, 4, HASH, true), 0);
	ck_assert_int_eq(session_shell_add(s, "bash_1"), 0);
	ats_buf_init(&out, 4096);
	ck_assert_int_eq(ctx_host_write(s, ats_tool_find("Read"), "/ws/f", &out), 0);
	ck_assert_str_eq(out.data, "{\"cwd\":\"/ws\",\"reads\":[" READ("/ws/f", HASH) "]}");
	ats_buf_reset(&out);
	ck_assert_int_eq(ctx_host_write(s, ats_tool_find("Bash"), "", &out), 0);
	ck_assert_str_eq(out.data, "{\"cwd\":\"/ws\",\"shells\":[\"bash_1\"]}");
	ats_buf_reset(&out);
	ck_assert_int_eq(ctx_host_write(s, ats_tool_find("Edit"), "/ws/g", &out), 0);
	ck_assert_str_eq(out.data, "{\"cwd\":\"/ws\"}");
	ats_buf_done(&out);
	ats_buf_init(&out, 8);
	ck_assert_int_lt(ctx_host_write(s, ats_tool_find("Edit"), "", &out), 0);
	ck_assert_uint_eq(out.len, 0);
	ats_buf_done(&out);
	session_free(s);
}
END_TEST

ATS_UNIT_MAIN("engine_ctx", ctx_name_of_each_tool_is_the_normalised_path,
    ctx_cwd_allowed_knows_whole_components_only, ctx_in_write_carries_only_the_named_file,
    ctx_delta_apply_takes_what_is_the_calls_to_say, ctx_host_take_is_all_or_nothing,
    ctx_host_write_says_what_such_a_call_may_have_changed)
