/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of HTTP that a tool's schema mirrors arguments into. */
#include "tests/lib/unit.h"

#include "brain/engine/mcp_headers.h"
#include "common/json.h"

static const char schema[] = "{\"type\":\"object\",\"properties\":{"
	"\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
	"\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"X-Count\"},"
	"\"dry\":{\"type\":\"boolean\",\"x-mcp-header\":\"dry\"},"
	"\"free\":{\"type\":\"string\"},"
	"\"in\":{\"type\":\"object\",\"properties\":{\"id\":{\"x-mcp-header\":\"In-Id\"}}},"
	"\"items\":{\"type\":\"array\",\"items\":{\"properties\":{"
	"\"a\":{\"x-mcp-header\":\"A\"}}}}}}";

static struct ats_slice
slice(const char *s)
{
	ck_assert_int_eq(ats_json_scan(s, strlen(s), NULL), 0);
	return (struct ats_slice){ s, strlen(s) };
}

START_TEST(what_the_schema_mirrors_must_be_in_the_head)
{
	static const struct {
		const char *args, *headers, *wrong;	/* NULL: in order */
	} rows[] = {
		{ "{}", "{}", NULL }, { "{\"free\":\"x\"}", "{}", NULL },
		{ "{}", "{\"other\":\"x\",\"a\":\"y\"}", NULL },
		{ "{\"region\":null}", "{}", NULL },
		{ "{\"region\":\"us\"}", "{\"region\":\"us\"}", NULL },
		{ "{\"region\":\"\\u0075s\"}", "{\"region\":\"us\"}", NULL },
		{ "{\"region\":\"\"}", "{\"region\":\"\"}", NULL },
		{ "{\"count\":42}", "{\"x-count\":\"42\"}", NULL },
		{ "{\"count\":42}", "{\"x-count\":\"42.0\"}", NULL },
		{ "{\"count\":-7}", "{\"x-count\":\"-7\"}", NULL },
		{ "{\"dry\":true}", "{\"dry\":\"true\"}", NULL },
		{ "{\"in\":{\"id\":\"x\"}}", "{\"in-id\":\"x\"}", NULL },
		{ "{\"items\":[{\"a\":\"x\"}]}", "{}", NULL },
		{ "{\"region\":\"us\"}", "{}", "Mcp-Param-Region is missing" },
		{ "{\"region\":\"us\"}", "{\"Region\":\"us\"}", "missing" },
		{ "{\"region\":\"us\"}", "{\"region\":\"US\"}", "not the argument" },
		{ "{}", "{\"region\":\"us\"}", "not there" },
		{ "{\"region\":null}", "{\"region\":\"null\"}", "not there" },
		{ "{\"count\":42}", "{\"x-count\":\"43\"}", "not the argument" },
		{ "{\"count\":42}", "{\"x-count\":\"\"}", "not the argument" },
		{ "{\"count\":42}", "{\"x-count\":\"0x2a\"}", "not the argument" },
		{ "{\"count\":42}", "{\"x-count\":\" 42\"}", "not the argument" },
		{ "{\"dry\":true}", "{\"dry\":\"TRUE\"}", "not the argument" },
		{ "{\"region\":[]}", "{\"region\":\"[]\"}", "not the argument" },
		{ "{\"in\":{\"id\":\"x\"}}", "{}", "Mcp-Param-In-Id is missing" },
		{ "{\"in\":1}", "{\"in-id\":\"x\"}", "not there" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		int rc = mcp_headers_check(slice(schema), slice(rows[i].args),
		    slice(rows[i].headers), &err);

		ck_assert_msg((rc == 0) == (rows[i].wrong == NULL), "row %zu: %s", i, err.text);
		ck_assert_msg(rc == 0 || strstr(err.text, rows[i].wrong) != NULL, "row %zu: %s", i,
		    err.text);
	}
}
END_TEST

START_TEST(schemas_of_an_upstream_do_no_harm)
{
	static const char deep[] = "{\"properties\":{\"a\":", end[] = "}}";
	char text[2048] = "", args[1024] = "";
	size_t n = 0;

	ck_assert_int_eq(mcp_headers_check((struct ats_slice){ NULL, 0 }, slice("{}"),
	    slice("{}"), NULL), 0);
	ck_assert_int_eq(mcp_headers_check(slice("{\"x-mcp-header\":1,\"properties\":[]}"),
	    slice("{}"), slice("{}"), NULL), 0);
	ck_assert_int_eq(mcp_headers_check(slice("{\"properties\":{\"a\":{\"x-mcp-header\":7}}}"),
	    slice("{\"a\":1}"), slice("{}"), NULL), 0);
	for (int i = 0; i < 15; i++)	/* as deep as JSON may be */
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", deep);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"x-mcp-header\":\"H\"}");
	for (int i = 0; i < 15; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", end);
	n = 0;
	for (int i = 0; i < 14; i++)
		n += (size_t)snprintf(args + n, sizeof(args) - n, "{\"a\":");
	n += (size_t)snprintf(args + n, sizeof(args) - n, "{\"a\":\"v\"}");
	for (int i = 0; i < 14; i++)
		n += (size_t)snprintf(args + n, sizeof(args) - n, "}");
	ck_assert_int_eq(mcp_headers_check(slice(text), slice(args), slice("{}"), NULL),
	    -ATS_E_FIELD);
	ck_assert_int_eq(mcp_headers_check(slice(text), slice(args), slice("{\"h\":\"v\"}"), NULL),
	    0);
}
END_TEST

ATS_UNIT_MAIN("engine_headers", what_the_schema_mirrors_must_be_in_the_head,
    schemas_of_an_upstream_do_no_harm)
