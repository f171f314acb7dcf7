/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP's revisions and list of tools, and the settings. */
#include "brain/engine/mcp.h"

#include "brain/engine/engine.h"
#include "brain/engine/settings.h"
#include "brain/engine/toolset.h"
#include "proto/tools.h"
#include "tests/lib/unit.h"

START_TEST(mcp_revision_of_known_and_unknown)
{
	ck_assert_str_eq(mcp_revision("2025-11-25"), "2025-11-25");
	ck_assert_str_eq(mcp_revision("2025-06-18"), "2025-06-18");
	ck_assert_str_eq(mcp_revision("2025-03-26"), "2025-03-26");
	ck_assert_str_eq(mcp_revision("2024-11-05"), "2024-11-05");
	ck_assert_str_eq(mcp_revision("2024-10-07"), "2025-11-25");
	ck_assert_str_eq(mcp_revision("2099-01-01"), "2025-11-25");
	ck_assert_str_eq(mcp_revision(""), "2025-11-25");
}
END_TEST

START_TEST(mcp_tools_write_has_each_row_once)
{
	struct ats_json_iter it;
	struct ats_json_val v, name;
	struct engine e = { 0 };
	struct ats_slice key;
	struct ats_buf out;
	size_t n = 0;

	ats_buf_init(&out, 1 << 20);
	ck_assert_int_eq(toolset_write(&e, &out), 0);
	ck_assert_int_eq(ats_json_scan(out.data, out.len, NULL), 0);
	ats_json_iter_init(&it, (struct ats_slice){ out.data, out.len });
	while (ats_json_next(&it, &key, &v)) {
		ck_assert(ats_json_get(v.raw, "name", &name));
		ck_assert_mem_eq(name.raw.p + 1, ats_tool_rows[n].name, name.raw.n - 2);
		ck_assert(ats_json_get(v.raw, "inputSchema", &name));
		ck_assert_int_eq(name.type, ATS_JSON_OBJECT);
		ck_assert(ats_json_get(v.raw, "annotations", &name));
		ck_assert(ats_json_get(v.raw, "_meta", &name) ==
		    (ats_tool_rows[n].max_chars > 50000 ||
		        (ats_tool_rows[n].hints & ATS_HINT_CORE) != 0));
		n++;
	}
	ck_assert_uint_eq(n, ATS_TOOL_COUNT);
	ats_buf_done(&out);
}
END_TEST

START_TEST(settings_parse_of_good_and_bad_lines)
{
	struct settings s = { 0 };
	struct ats_err err = { 0 };

	ck_assert_int_eq(settings_parse(&s, "", NULL), 0);
	ck_assert_uint_eq(s.retry_limit, 3);
	ck_assert_int_eq(
	    settings_parse(&s, "retry_limit=5\nlog_level=debug\nnew_one=1\n", NULL), 0);
	ck_assert_uint_eq(s.retry_limit, 5);
	ck_assert_uint_eq(s.heartbeat_ms, 10000);
	ck_assert_int_eq(settings_parse(&s, "retry_limit=101\n", &err), -ATS_E_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "retry_limit"));
	ck_assert_int_eq(settings_parse(&s, "retry_limit=\n", NULL), -ATS_E_CONFIG);
	ck_assert_int_eq(settings_parse(&s, "retry_limit=-1\n", NULL), -ATS_E_CONFIG);
	ck_assert_int_eq(settings_parse(&s, "retry_limit=1x\n", NULL), -ATS_E_CONFIG);
	ck_assert_int_eq(settings_parse(&s, "retry_limit\n", NULL), -ATS_E_CONFIG);
	ck_assert_int_eq(settings_parse(&s, "log_level=loud\n", NULL), -ATS_E_CONFIG);
	ck_assert_uint_eq(s.retry_limit, 5);
}
END_TEST

ATS_UNIT_MAIN("engine_mcp", mcp_revision_of_known_and_unknown,
    mcp_tools_write_has_each_row_once, settings_parse_of_good_and_bad_lines)
