/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and answers of a relay directory (brain/ctl/relay_calls.c), and files that are no
 * requests (brain/ctl/relay_dir.c). */
#include "brain/ctl/relay_calls.h"
#include "brain/ctl/relay_dir.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/lib/unit.h"

#define TOOLS "{\"tools\":[{\"name\":\"Bash\",\"inputSchema\":{}},{\"name\":\"g__t\"," \
	"\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"x\":1}}]}"

static struct ats_slice
slice(const char *s)
{
	return (struct ats_slice){ s, strlen(s) };
}

static void
check_params(const char *text, const char *want)
{
	struct ats_specs tools;
	struct ats_err err = { 0 };
	struct ats_buf out;
	int rc;

	ck_assert_int_eq(relay_tools(slice(TOOLS), &tools, &err), 0);
	ats_buf_init(&out, 4096);
	rc = relay_params(&tools, slice(text), "k-1", &out, &err);
	if (want != NULL) {
		ck_assert_msg(rc == 0, "%s", err.text);
		ck_assert_str_eq(out.data, want);
	} else {
		ck_assert_msg(rc < 0, "%s", text);
		ck_assert_ptr_null(strstr(err.text, "SECRET"));
	}
	ats_buf_done(&out);
	ats_specs_done(&tools);
}

START_TEST(only_tools_of_gateways_are_offered)
{
	struct ats_specs tools;
	struct ats_buf out;

	ck_assert_int_eq(relay_tools(slice(TOOLS), &tools, NULL), 0);
	ck_assert_uint_eq(tools.n, 1);
	ck_assert_str_eq(tools.v[0].name, "g__t");
	ats_buf_init(&out, 4096);
	ck_assert_int_eq(ats_specs_write(&out, &tools), 0);
	ck_assert_ptr_null(strstr(out.data, "annotations"));
	ats_buf_done(&out);
	ats_specs_done(&tools);
	ck_assert_int_eq(relay_tools(slice("{}"), &tools, NULL), -ATS_E_PROTO);
	ck_assert_int_eq(relay_tools(slice("{\"tools\":{}}"), &tools, NULL), -ATS_E_PROTO);
	ck_assert_int_lt(relay_tools(slice("{\"tools\":[{\"name\":\"a__b\"},{\"name\":\"a__b\"}]}"),
	    &tools, NULL), 0);
}
END_TEST

START_TEST(requests_become_calls_with_an_id_of_ours)
{
	check_params("{\"toolName\":\"g__t\",\"toolCallId\":\"k-2\",\"args\":{\"a\":[1]}}",
	    "{\"name\":\"g__t\",\"arguments\":{\"a\":[1]},\"call_id\":\"k-1\"}");
	check_params("{\"args\":null,\"toolCallId\":\"\",\"toolName\":\"g__\\u0074\"}",
	    "{\"name\":\"g__t\",\"arguments\":{},\"call_id\":\"k-1\"}");
}
END_TEST

START_TEST(other_requests_are_refused_without_a_byte_of_them)
{
	static const char *const bad[] = { "", "SECRET", "[]", "{}", "\"SECRET\"",
		"{\"toolName\":\"Bash\",\"toolCallId\":\"x\"}",
		"{\"toolName\":\"SECRET__x\",\"toolCallId\":\"x\"}",
		"{\"toolName\":\"g__t\"}", "{\"toolName\":\"g__t\",\"toolCallId\":7}",
		"{\"toolName\":\"g__t\",\"toolCallId\":\"x\",\"args\":\"SECRET\"}",
		"{\"toolName\":\"g__t\",\"toolCallId\":\"x\",\"SECRET\":1}",
		"{\"toolName\":\"g__t\",\"toolName\":\"g__t\",\"toolCallId\":\"x\"}",
		"{\"toolName\":\"g__t\",\"toolCallId\":\"x\"}SECRET",
		"{\"toolName\":\"g__t\\u0000\",\"toolCallId\":\"x\"}" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++)
		check_params(bad[i], NULL);
}
END_TEST

static void
check_response(const char *result, const char *error, const char *want)
{
	struct door_msg m = { 0 };
	struct ats_buf out;

	if (result != NULL)
		m.result = slice(result);
	if (error != NULL)
		m.error = slice(error);
	ats_buf_init(&out, ATS_RELAYDIR_RESPONSE_MAX);
	ck_assert_int_eq(relay_response(&m, false, &out), 0);
	ck_assert_str_eq(out.data, want);
	ats_buf_done(&out);
}

START_TEST(an_answer_is_ok_only_when_it_is_done)
{
	check_response("{\"outcome\":\"done\",\"is_error\":false,\"content\":[{\"type\":\"text\","
	    "\"text\":\"a\\\"\\n\"}]}", NULL, "{\"ok\":true,\"text\":\"a\\\"\\n\"}");
	check_response(
	    "{\"outcome\":\"done\",\"content\":[]}", NULL, "{\"ok\":true,\"text\":\"\"}");
	check_response(
	    "{\"outcome\":\"done\",\"is_error\":true,\"content\":[{\"text\":\"no\"}]}",
	    NULL, "{\"ok\":false,\"error\":\"no\"}");
	check_response(
	    "{\"outcome\":\"unknown\",\"is_error\":false,\"content\":[{\"text\":\"x\"}]}",
	    NULL, "{\"ok\":false,\"error\":\"x\"}");
	check_response("{}", NULL,
	    "{\"ok\":false,\"error\":\"the call was not done, or its outcome is "
	    "unknown\"}");
	check_response("{\"outcome\":\"done\",\"is_error\":true}", NULL,
	    "{\"ok\":false,\"error\":\"the tool failed and said nothing\"}");
	check_response(NULL, "{\"code\":-32602,\"message\":\"why\"}",
	    "{\"ok\":false,\"error\":\"why\"}");
	check_response(NULL, NULL, "{\"ok\":false,\"error\":\"brain's answer has no result\"}");
}
END_TEST

START_TEST(ids_are_remembered_for_a_long_time_but_not_for_ever)
{
	struct relay_ids ids;
	char id[32];

	ck_assert_int_eq(relay_ids_init(&ids), 0);
	for (unsigned i = 0; i < 3 * RELAY_IDS; i++) {
		(void)snprintf(id, sizeof(id), "id%u", i);
		ck_assert_int_eq(relay_ids_use(&ids, id), 0);
		ck_assert_int_eq(relay_ids_use(&ids, id), -ATS_E_EXISTS);
	}
	(void)snprintf(id, sizeof(id), "id%u", 3 * RELAY_IDS - RELAY_IDS);
	ck_assert_int_eq(relay_ids_use(&ids, id), -ATS_E_EXISTS);
	ck_assert_int_eq(relay_ids_use(&ids, "id0"), 0);
	relay_ids_done(&ids);
}
END_TEST

static char dir_path[80];

static void
put(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir_path, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

/* What taking the request of this id says; it is not there a second time. */
static int
take(struct relay_dir *d, const char *id, const char *want)
{
	struct ats_err err = { 0 };
	struct ats_buf out;
	int rc;

	ats_buf_init(&out, ATS_RELAYDIR_REQUEST_MAX);
	rc = relay_dir_take(d, id, &out, &err);
	if (want != NULL)
		ck_assert_str_eq(out.data, want);
	else
		ck_assert_uint_eq(out.len, 0);
	ck_assert(rc == -ATS_E_BUSY || relay_dir_take(d, id, &out, &err) == -ATS_E_NOENT);
	ats_buf_done(&out);
	return rc;
}

START_TEST(only_plain_files_are_taken)
{
	struct relay_dir d;
	char path[200];

	(void)strcpy(dir_path, "/tmp/ats-relay-XXXXXX");
	(void)unit_tmp(dir_path);
	ck_assert_int_eq(relay_dir_open(&d, dir_path, (uid_t)-1, NULL), 0);
	put("a.req.json", "text");
	ck_assert_int_eq(take(&d, "a", "text"), 0);
	ck_assert_int_eq(take(&d, "a", NULL), -ATS_E_NOENT);
	(void)snprintf(path, sizeof(path), "%s/b.req.json", dir_path);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(take(&d, "b", NULL), -ATS_E_NOTFILE);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	ck_assert_int_eq(take(&d, "b", NULL), -ATS_E_NOTFILE);
	put("x", "linked");
	ck_assert_int_eq(linkat(d.fd, "x", d.fd, "b.req.json", 0), 0);
	ck_assert_int_eq(take(&d, "b", NULL), -ATS_E_NOTFILE);
	put("b.req.json", "");
	ck_assert_int_eq(truncate(path, ATS_RELAYDIR_REQUEST_MAX + 1), 0);
	ck_assert_int_eq(take(&d, "b", NULL), -ATS_E_TOOBIG);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(take(&d, "b", NULL), -ATS_E_BUSY);
	relay_dir_close(&d);
}
END_TEST

START_TEST(requests_are_found_by_hints_and_by_listing)
{
	char id[ATS_RELAYDIR_ID_MAX + 1], name[64];
	struct relay_dir d;
	unsigned found = 0;
	int rc;

	(void)strcpy(dir_path, "/tmp/ats-relay-XXXXXX");
	(void)unit_tmp(dir_path);
	for (unsigned i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), i % 3 == 0 ? "r%u.req.json" : "junk%u", i);
		put(name, "{}");
	}
	put("\xc3\xbc.req.json", "{}");
	ck_assert_int_eq(relay_dir_open(&d, dir_path, (uid_t)-1, NULL), 0);
	while ((rc = relay_dir_next(&d, id)) != 0) {
		if (rc == 1)
			ck_assert_int_eq(take(&d, id, "{}"), 0);
		found += rc == 1;
	}
	ck_assert_uint_eq(found, 1000);
	ck_assert_int_lt(faccessat(d.fd, "\xc3\xbc.req.json", F_OK, 0), 0);
	ck_assert_int_gt(relay_dir_wait_ms(&d), 0);
	put("late", "{}");
	ck_assert_int_eq(renameat(d.fd, "late", d.fd, "late.req.json"), 0);
	ck_assert_int_eq(relay_dir_next(&d, id), 1);
	ck_assert_str_eq(id, "late");
	ck_assert_int_eq(relay_dir_sweep(&d, NULL), 0);
	ck_assert_int_eq(take(&d, "late", NULL), -ATS_E_NOENT);
	ck_assert_int_eq(faccessat(d.fd, "junk1", F_OK, 0), 0);
	relay_dir_close(&d);
}
END_TEST

START_TEST(answers_that_nobody_fetched_go)
{
	struct relay_dir d;
	char id[32];

	(void)strcpy(dir_path, "/tmp/ats-relay-XXXXXX");
	(void)unit_tmp(dir_path);
	ck_assert_int_eq(relay_dir_open(&d, dir_path, (uid_t)-1, NULL), 0);
	for (unsigned i = 0; i < RELAY_PUBLISHED + 3; i++) {
		(void)snprintf(id, sizeof(id), "a%u", i);
		ck_assert_int_eq(relay_dir_answer(&d, id, "x", 1, NULL), 0);
	}
	relay_dir_forget_old(&d);
	ck_assert_int_lt(faccessat(d.fd, "a2.res.json", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(d.fd, "a3.res.json", F_OK, 0), 0);
	for (size_t i = 0; i < RELAY_PUBLISHED; i++)
		d.published[i].at_ms -= RELAY_KEEP_MS;
	relay_dir_forget_old(&d);
	ck_assert_int_lt(faccessat(d.fd, "a3.res.json", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(d.fd, "a1026.res.json", F_OK, 0), 0);
	relay_dir_close(&d);
}
END_TEST

ATS_UNIT_MAIN("ctl_relay", only_tools_of_gateways_are_offered,
    requests_become_calls_with_an_id_of_ours, other_requests_are_refused_without_a_byte_of_them,
    an_answer_is_ok_only_when_it_is_done, ids_are_remembered_for_a_long_time_but_not_for_ever,
    only_plain_files_are_taken, requests_are_found_by_hints_and_by_listing,
    answers_that_nobody_fetched_go)
