/* SPDX-License-Identifier: Apache-2.0
 *
 * Dialogs for approvals (brain/ctl/mcp_elicit.c): lines, and which answer decides. */
#include "brain/ctl/mcp_elicit.h"

#include "tests/lib/unit.h"

#define V "{\"jsonrpc\":\"2.0\",\"id\":"

static void
approval_of(struct approval *a, const char *id, const char *args)
{
	approval_init(a);
	(void)strcpy(a->id, id);
	(void)strcpy(a->tool, "t");
	(void)strcpy(a->sha256, id + 2);
	ck_assert_int_eq(ats_buf_add_str(&a->args, args), 0);
}

static int
show(struct mcp_elicit *e, const char *id, const char *args, struct ats_buf *out)
{
	struct approval a;
	int rc;

	approval_of(&a, id, args);
	rc = elicit_show(e, &a, out);
	approval_done(&a);
	return rc;
}

static enum elicit_said
said(struct mcp_elicit *e, const char *id, const char *rest, struct elicit_dialog *ret)
{
	char line[512];

	(void)snprintf(line, sizeof(line), V "\"%s\",%s}", id, rest);
	return elicit_answer(e, line, strlen(line), ret);
}

static bool
can(const char *capabilities, const char *name, char *way)
{
	char line[512];

	(void)snprintf(line, sizeof(line), V "0,\"method\":\"initialize\",\"params\":"
	    "{\"capabilities\":%s,\"clientInfo\":{\"name\":%s}}}", capabilities, name);
	ck_assert_int_eq(ats_json_scan(line, strlen(line), NULL), 0);
	return elicit_can((struct ats_slice){ line, strlen(line) }, way);
}

START_TEST(only_a_client_with_forms_is_asked)
{
	char way[ELICIT_WAY_MAX];

	ck_assert(can("{\"elicitation\":{}}", "\"Claude Code\"", way));
	ck_assert_str_eq(way, "elicitation Claude_Code");
	ck_assert(can("{\"elicitation\":{\"url\":{},\"form\":{}}}", "\"\\u202e\\n'\"", way));
	ck_assert_str_eq(way, "elicitation _____");
	ck_assert(can("{\"elicitation\":{}}", "7", way));
	ck_assert_str_eq(way, "elicitation unnamed");
	ck_assert(!can("{\"elicitation\":{\"url\":{}}}", "\"x\"", way));
	ck_assert(!can("{\"elicitation\":[]}", "\"x\"", way));
	ck_assert(!can("{}", "\"x\"", way));
	ck_assert(!can("[]", "\"x\"", way));
}
END_TEST

START_TEST(a_long_name_of_a_client_is_cut)
{
	char way[ELICIT_WAY_MAX], name[300];

	memset(name, 'n', sizeof(name));
	name[0] = name[298] = '"';
	name[299] = '\0';
	ck_assert(can("{\"elicitation\":{}}", name, way));
	ck_assert_uint_eq(strlen(way), strlen("elicitation ") + 64);
}
END_TEST

START_TEST(an_answer_decides_once_what_its_dialog_showed)
{
	struct elicit_dialog d;
	struct mcp_elicit e;
	struct ats_buf out;
	char id[48];

	elicit_init(&e, 0x1234);
	ats_buf_init(&out, 1 << 20);
	ck_assert_int_eq(said(&e, "ats-approval-0000000000001234-1", "\"result\":{}", &d),
	    ELICIT_NOT_OURS);
	ck_assert_int_eq(show(&e, "a-0123456789ab", "{}", &out), 1);
	ck_assert_int_eq(show(&e, "a-0123456789ab", "{}", &out), 0);
	ck_assert_int_eq(ats_json_scan(out.data, out.len - 1, NULL), 0);
	(void)strcpy(id, TAILQ_FIRST(&e.open)->id);
	ck_assert_str_eq(id, "ats-approval-0000000000001234-1");
	ck_assert_int_eq(said(&e, id, "\"method\":\"x\"", &d), ELICIT_NOT_OURS);
	ck_assert_int_eq(said(&e, "ats-approval-0000000000001235-1", "\"result\":"
	    "{\"action\":\"decline\"}", &d), ELICIT_NOT_OURS);
	ck_assert_int_eq(said(&e, id, "\"result\":{\"action\":\"accept\",\"content\":"
	    "{\"decision\":\"approve\"}}", &d), ELICIT_APPROVE);
	ck_assert_str_eq(d.approval, "a-0123456789ab");
	ck_assert_str_eq(d.sha256, "0123456789ab");
	ck_assert_int_eq(said(&e, id, "\"result\":{\"action\":\"accept\",\"content\":"
	    "{\"decision\":\"approve\"}}", &d), ELICIT_NOTHING);
	ck_assert_uint_eq(e.n, 0);
	ats_buf_done(&out);
	elicit_done(&e);
}
END_TEST

START_TEST(dialogs_are_bounded_and_go_with_their_approvals)
{
	struct mcp_elicit e;
	struct ats_buf out;
	char id[32], *text = malloc(ELICIT_TEXT_MAX + 100);

	elicit_init(&e, 1);
	ats_buf_init(&out, 1 << 20);
	for (unsigned i = 0; i < ELICIT_MAX + 1; i++) {
		(void)snprintf(id, sizeof(id), "a-%012x", i);
		ck_assert_int_eq(show(&e, id, "{}", &out), i < ELICIT_MAX);
	}
	ats_buf_reset(&out);
	ck_assert_int_eq(elicit_gone(&e, "a-000000000003", "ex\"pired", &out), 0);
	ck_assert_str_eq(out.data, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":\"ats-approval-0000000000000001-4\",\"reason\":"
	    "\"ex\\\"pired\"}}\n");
	ats_buf_reset(&out);
	ck_assert_int_eq(elicit_gone(&e, "a-000000000003", "x", &out), 0);
	ck_assert_uint_eq(out.len, 0);
	/* What cannot be shown whole is not shown. */
	(void)snprintf(text, ELICIT_TEXT_MAX + 100, "\"%0*d\"", (int)ELICIT_TEXT_MAX, 0);
	ck_assert_int_eq(show(&e, "a-00000000ffff", text, &out), 0);
	ck_assert_uint_eq(out.len, 0);
	ck_assert_int_eq(elicit_all_gone(&e, "x", &out), 0);
	ck_assert_uint_eq(e.n, 0);
	free(text);
	ats_buf_done(&out);
	elicit_done(&e);
}
END_TEST

ATS_UNIT_MAIN("ctl_elicit", only_a_client_with_forms_is_asked, a_long_name_of_a_client_is_cut,
    an_answer_decides_once_what_its_dialog_showed,
    dialogs_are_bounded_and_go_with_their_approvals)
