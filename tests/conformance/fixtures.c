/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of fixture tools, and those that answer at once. Names and contents are the suite's. */
#include "tests/conformance/fixtures.h"

#include <string.h>

#include "brain/engine/mcp.h"

#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAF" \
	"BQIAX8jx0gAAAABJRU5ErkJggg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define RESOURCE(uri, type, text) \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type \
	"\",\"text\":\"" text "\"}}"
#define NONE "{\"type\":\"object\"}"

static void
plain(const struct fixture *f, struct rpc *r)
{
	fixture_answer(r, f->text, false);
}

static void
fails(const struct fixture *f, struct rpc *r)
{
	fixture_answer(r, f->text, true);
}

/* Wants a capability that most clients of the suite do not declare. */
static void
wants_sampling(const struct fixture *f, struct rpc *r)
{
	struct ats_json_w *w;

	if (!r->modern || fixture_may(r, "sampling")) {
		fixture_answer(r, f->text, false);
		return;
	}
	w = rpc_begin_error(r, -32021, "this tool needs sampling");
	ats_json_w_object(w, "requiredCapabilities");
	ats_json_w_object(w, "sampling");
	ats_json_w_end(w);
	ats_json_w_end(w);
	rpc_end_error(r);
}

static void
changes_list(const struct fixture *f, struct rpc *r)
{
	struct client *c, *next;

	fixture_answer(r, f->text, false);
	for (c = door_each(r->e->door, NULL); c != NULL; c = next) {
		next = door_each(r->e->door, c);
		mcp_list_changed(c);
	}
}

#define STRING(name) "{\"type\":\"object\",\"properties\":{\"" name \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define ENUM(...) "\"enum\":[" __VA_ARGS__ "]"
#define TITLED(what) "[{\"const\":\"value1\",\"title\":\"First " what "\"}," \
	"{\"const\":\"value2\",\"title\":\"Second " what "\"}," \
	"{\"const\":\"value3\",\"title\":\"Third " what "\"}]"
#define OPTIONS ENUM("\"option1\",\"option2\",\"option3\"")

static const struct fixture fixtures[] = {
	{ "test_simple_text", "One text.", NONE, plain,
	    "[" TEXT("This is a simple text response for testing.") "]" },
	{ "test_image_content", "One image.", NONE, plain, "[" IMAGE "]" },
	{ "test_audio_content", "One sound.", NONE, plain,
	    "[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]" },
	{ "test_embedded_resource", "One resource.", NONE, plain,
	    "[" RESOURCE("test://embedded-resource", "text/plain",
		"This is an embedded resource content.") "]" },
	{ "test_multiple_content_types", "Text, image and resource.", NONE, plain,
	    "[" TEXT("Multiple content types test:") "," IMAGE ","
	    RESOURCE("test://mixed-content-resource", "application/json",
		"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}") "]" },
	{ "test_error_handling", "Always fails.", NONE, fails,
	    "[" TEXT("This tool intentionally returns an error for testing") "]" },
	{ "test_tool_with_progress", "Says how far it is.", NONE, fixture_progress,
	    "[" TEXT("done") "]" },
	{ "test_tool_with_logging", "Logs three times.", NONE, fixture_log, "[" TEXT("done") "]" },
	{ "test_reconnection", "Takes its time.", NONE, fixture_slow, "[" TEXT("done") "]" },
	{ "test_logging_tool", "Logs nothing that was not asked for.", NONE, plain,
	    "[" TEXT("done") "]" },
	{ "test_missing_capability", "Wants sampling.", NONE, wants_sampling,
	    "[" TEXT("done") "]" },
	{ "test_trigger_tool_change", "Says that the list has changed.", NONE, changes_list,
	    "[" TEXT("changed") "]" },
	{ "test_elicitation", "Asks for a name.", STRING("message"), fixture_elicit,
	    "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
	    "\"description\":\"User's response\"},\"email\":{\"type\":\"string\","
	    "\"description\":\"User's email address\"}},\"required\":[\"username\",\"email\"]}" },
	{ "test_elicitation_sep1034_defaults", "Asks with defaults.", NONE, fixture_elicit,
	    "{\"type\":\"object\",\"properties\":{"
	    "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
	    "\"age\":{\"type\":\"integer\",\"default\":30},"
	    "\"score\":{\"type\":\"number\",\"default\":95.5},"
	    "\"status\":{\"type\":\"string\"," ENUM("\"active\",\"inactive\",\"pending\"")
	    ",\"default\":\"active\"},"
	    "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}" },
	{ "test_elicitation_sep1330_enums", "Asks for choices.", NONE, fixture_elicit,
	    "{\"type\":\"object\",\"properties\":{"
	    "\"untitledSingle\":{\"type\":\"string\"," OPTIONS "},"
	    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED("Option") "},"
	    "\"legacyEnum\":{\"type\":\"string\"," ENUM("\"opt1\",\"opt2\",\"opt3\"")
	    ",\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
	    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\"," OPTIONS "}},"
	    "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED("Choice") "}}},"
	    "\"required\":[]}" },
	{ "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
	    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
	    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
	    "\"properties\":{"
	    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{"
	    "\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
	    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
	    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
	    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
	    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
	    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"
	    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}", plain,
	    "[" TEXT("done") "]" },
	{ "test_x_mcp_header", "Mirrors an argument into the head.",
	    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
	    "\"x-mcp-header\":\"Region\"}},\"required\":[\"region\"]}", plain,
	    "[" TEXT("done") "]" },
	{ "test_streaming_elicitation", "Asks by its result.", NONE, fixture_rounds, "user_name" },
	{ "test_input_required_result_elicitation", "Asks once.", NONE, fixture_rounds,
	    "user_name" },
	{ "test_input_required_result_request_state", "Asks once, with a state.", NONE,
	    fixture_rounds, "confirm" },
	{ "test_input_required_result_tampered_state", "Asks once, with a state.", NONE,
	    fixture_rounds, "confirm" },
	{ "test_input_required_result_multi_round", "Asks twice.", NONE, fixture_rounds, "step" },
	{ "test_input_required_result_capabilities", "Asks what the client can.", NONE,
	    fixture_rounds, "capable" },
};

const struct fixture *
fixtures_each(const struct fixture *after)
{
	const struct fixture *next = after == NULL ? fixtures : after + 1;

	return next < fixtures + ATS_ARRAY_LEN(fixtures) ? next : NULL;
}

const struct fixture *
fixture_find(struct ats_slice name)
{
	for (const struct fixture *f = NULL; (f = fixtures_each(f)) != NULL;)
		if (ats_json_key_is((struct ats_slice){ name.p + 1, name.n - 2 }, f->name))
			return f;
	return NULL;
}

void
fixture_answer(struct rpc *r, const char *content, bool is_error)
{
	struct ats_json_w *w = rpc_begin(r);

	ats_json_w_raw(w, "content", content, strlen(content));
	if (is_error)
		ats_json_w_bool(w, "isError", true);
	rpc_end(r);
}

bool
fixture_may(const struct rpc *r, const char *capability)
{
	struct ats_json_val meta, caps, v;

	return ats_json_get(r->params, "_meta", &meta) && meta.type == ATS_JSON_OBJECT &&
	    ats_json_get(meta.raw, "io.modelcontextprotocol/clientCapabilities", &caps) &&
	    caps.type == ATS_JSON_OBJECT && ats_json_get(caps.raw, capability, &v);
}
