/* SPDX-License-Identifier: Apache-2.0
 *
 * The tool table, lenient input decoding and JSON Schema (proto/tools.c). */
#include "tests/lib/unit.h"

#include "proto/tools.h"

static union ats_tool_input_any in;

static int
input(const char *tool, const char *json, struct ats_buf *arena, struct ats_err *err)
{
	err->text[0] = '\0';
	return ats_tool_input(ats_tool_find(tool), json, strlen(json), &in, arena, err);
}

START_TEST(find_by_name_and_alias)
{
	size_t i;

	for (i = 0; i < ATS_TOOL_COUNT; i++) {
		ck_assert_ptr_eq(ats_tool_find(ats_tool_rows[i].name), &ats_tool_rows[i]);
		ck_assert_uint_eq(ats_tool_id(&ats_tool_rows[i]), i);
		ck_assert_uint_le(ats_tool_rows[i].timeout_ms, ats_tool_rows[i].timeout_max_ms);
	}
	ck_assert_ptr_eq(ats_tool_find("KillBash"), &ats_tool_rows[ATS_TOOL_kill_shell]);
	ck_assert_ptr_null(ats_tool_find("bash"));
	ck_assert_ptr_null(ats_tool_find(""));
	for (i = 0; ats_tool_aliases[i].name != NULL; i++)
		ck_assert_ptr_nonnull(ats_tool_find(ats_tool_aliases[i].target));
}
END_TEST

START_TEST(input_lenient_forms_are_accepted)
{
	struct ats_buf arena;
	struct ats_err err;

	ats_buf_init(&arena, 32u << 20);
	ck_assert_int_eq(input("Read", "{\"file_path\":\"a\",\"limit\":\"5\",\"offset\":3.0}",
	    &arena, &err), 0);
	ck_assert(in.read.has_limit && in.read.limit == 5);
	ck_assert(in.read.has_offset && in.read.offset == 3);
	ck_assert_int_eq(input("Read", "{\"file_path\":\"a\",\"limit\":null}", &arena, &err), 0);
	ck_assert(!in.read.has_limit);
	ck_assert_int_eq(input("Edit", "{\"file_path\":\"a\",\"old_string\":\"\","
	    "\"new_string\":\"x\",\"replace_all\":\"true\"}", &arena, &err), 0);
	ck_assert(in.edit.has_replace_all && in.edit.replace_all);
	ck_assert_str_eq(in.edit.old_string, "");
	ck_assert_int_eq(input("Grep", "{\"pattern\":\"x\",\"-A\":2,\"-i\":true,"
	    "\"output_mode\":\"content\"}", &arena, &err), 0);
	ck_assert_str_eq(in.grep.output_mode, "content");
	ck_assert_uint_eq(in.grep.after, 2);
	ck_assert(in.grep.ignore_case);
	ck_assert_int_eq(input("Bash", "{\"command\":\"x\",\"timeout\":7200000}", &arena, &err), 0);
	ck_assert_uint_eq(in.bash.timeout, 600000);
	ats_buf_done(&arena);
}
END_TEST

static const struct {
	const char *tool, *json, *text;
} bad_inputs[] = {
	{ "Read", "{\"file_path\":\"a\",\"limit\":\"x\"}",
	    "limit: expected an integer of at least 1, got \"x\"" },
	{ "Read", "{\"file_path\":\"a\",\"limit\":0}",
	    "limit: expected an integer of at least 1, got 0" },
	{ "Read", "{\"file_path\":\"a\",\"offset\":-4}",
	    "offset: expected a whole number, got -4" },
	{ "Read", "{\"file_path\":\"a\",\"offset\":\"-4\"}", NULL },
	{ "Read", "{\"file_path\":\"a\",\"limit\":2.5}", NULL },
	{ "Read", "{\"file_path\":\"a\",\"limit\":\"05\"}", NULL },
	{ "Read", "{\"file_path\":\"a\",\"limit\":\"\"}", NULL },
	{ "Read", "{\"file_path\":\"a\",\"limit\":\"99999999999999999999\"}", NULL },
	{ "Read", "{}", "file_path: is required" },
	{ "Read", "{\"file_path\":null}", "file_path: is required" },
	{ "Read", "{\"file_path\":\"\"}", "file_path: must not be empty" },
	{ "Read", "{\"path\":\"a\"}",
	    "path: unknown; there are: file_path, offset, limit, allow_large, pages" },
	{ "Grep", "{\"pattern\":\"x\",\"output_mode\":\"contents\"}",
	    "output_mode: expected one of files_with_matches|content|count, got \"contents\"" },
	{ "Grep", "{\"pattern\":\"x\",\"output_mode\":\"\"}", NULL },
	{ "Grep", "{\"pattern\":\"x\",\"output_mode\":\"content|count\"}", NULL },
	{ "Grep", "{\"pattern\":\"x\",\"-i\":1}", "-i: expected true or false, got 1" },
	{ "Bash", "{\"command\":[\"ls\"]}", "command: expected a string, got an array" },
	{ "Bash", "{\"command\":\"ls\",\"timeout\":0}",
	    "timeout: expected an integer from 1 to 600000, got 0" },
	{ "LS", "{\"path\":\"/\",\"ignore\":[1]}",
	    "ignore: expected an array of strings, got an array" },
	{ "LS", "{\"path\":\"/\",\"ignore\":\"*.o\"}", NULL },
	{ "Bash", "{\"command\":{\"a\":1}}", NULL },
	{ "MultiEdit", "{\"file_path\":\"a\",\"edits\":[]}",
	    "edits: expected an array of 1 to 1000 objects, got 0" },
	{ "MultiEdit", "{\"file_path\":\"a\",\"edits\":\"x\"}",
	    "edits: expected an array of 1 to 1000 objects, got \"x\"" },
	{ "MultiEdit", "{\"file_path\":\"a\",\"edits\":[{\"old_string\":\"a\",\"new_string\":"
	    "\"b\"},{\"old_string\":\"a\"}]}", "edits[1]: new_string: is required" },
	{ "MultiEdit", "{\"file_path\":\"a\",\"edits\":[{\"old_string\":\"a\",\"new_string\":"
	    "\"b\",\"all\":true}]}",
	    "edits[0]: all: unknown; there are: old_string, new_string, replace_all" },
	{ "MultiEdit", "{\"file_path\":\"a\",\"edits\":[7]}", NULL },
	{ "Bash", "[]", NULL },
};

START_TEST(input_wrong_parameter_is_named)
{
	struct ats_buf arena;
	struct ats_err err;
	size_t i;
	int rc;

	ats_buf_init(&arena, 1u << 20);
	for (i = 0; i < ATS_ARRAY_LEN(bad_inputs); i++) {
		rc = input(bad_inputs[i].tool, bad_inputs[i].json, &arena, &err);
		ck_assert_msg(rc == -ATS_E_FIELD, "row %zu: %d %s", i, rc, err.text);
		if (bad_inputs[i].text != NULL)
			ck_assert_str_eq(err.text, bad_inputs[i].text);
	}
	ats_buf_done(&arena);
}
END_TEST

/* More strings than the arena has at first: it moves while the items are decoded. */
START_TEST(input_items_are_whole_after_the_arena_has_moved)
{
	struct ats_buf arena, json;
	struct ats_err err;
	char want[32];
	int i;

	ats_buf_init(&arena, 32u << 20);
	ats_buf_init(&json, 1u << 20);
	ck_assert_int_eq(ats_buf_add_str(&json, "{\"edits\":["), 0);
	for (i = 0; i < 1000; i++)
		ck_assert_int_eq(ats_buf_addf(&json, "%s{\"new_string\":\"n%d\",%s"
		    "\"old_string\":\"o%d\"}", i ? "," : "", i,
		    i % 2 ? "\"replace_all\":\"true\"," : "", i), 0);
	ck_assert_int_eq(ats_buf_add_str(&json, "],\"file_path\":\"f\"}"), 0);
	ck_assert_int_eq(input("MultiEdit", json.data, &arena, &err), 0);
	ck_assert_uint_eq(in.multi_edit.n_edits, 1000);
	ck_assert_str_eq(in.multi_edit.file_path, "f");
	for (i = 0; i < 1000; i++) {
		(void)snprintf(want, sizeof(want), "o%d", i);
		ck_assert_str_eq(in.multi_edit.edits[i].old_string, want);
		want[0] = 'n';
		ck_assert_str_eq(in.multi_edit.edits[i].new_string, want);
		ck_assert_int_eq(in.multi_edit.edits[i].replace_all, i % 2);
	}
	ats_buf_done(&arena);
	ats_buf_done(&json);
}
END_TEST

START_TEST(input_error_text_is_cut_on_a_character)
{
	struct ats_buf arena;
	struct ats_err err;

	ats_buf_init(&arena, 1u << 20);
	ck_assert_int_eq(input("Read", "{\"file_path\":\"a\",\"limit\":\""
	    "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
	    "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}",
	    &arena, &err), -ATS_E_FIELD);
	ck_assert_int_eq(ats_utf8_cut_tail(err.text, strlen(err.text)), 0);
	ck_assert_str_eq(err.text + strlen(err.text) - 3, "...");
	ats_buf_done(&arena);
}
END_TEST

/* Items hold no arrays, and one parameter of a tool at most has a role. */
START_TEST(rows_keep_the_rules_of_their_types)
{
	for (size_t i = 0; i < ATS_TOOL_COUNT; i++) {
		const struct ats_shape *s = &ats_tool_rows[i].input;
		unsigned roles[3] = { 0 };

		for (size_t k = 0; k < s->nfields; k++) {
			const struct ats_field *f = &s->fields[k];

			roles[f->role]++;
			ck_assert_int_eq(f->item != NULL, f->type == ATS_FIELD_ITEMS);
			for (size_t n = 0; f->item != NULL && n < f->item->nfields; n++) {
				ck_assert_int_ne(f->item->fields[n].type, ATS_FIELD_ITEMS);
				ck_assert_int_ne(f->item->fields[n].type, ATS_FIELD_STRV);
				ck_assert_int_eq(f->item->fields[n].role, ATS_ROLE_NONE);
			}
		}
		ck_assert_uint_le(roles[ATS_ROLE_FILE], 1);
		ck_assert_uint_le(roles[ATS_ROLE_TIMEOUT], 1);
	}
}
END_TEST

/* Clients send calls of read-only tools side by side, and all others one by one. */
START_TEST(rows_have_the_hints_that_clients_go_by)
{
	static const struct {
		const char *name;
		bool read_only, destructive, idempotent;
	} want[] = {
		{ "Bash", 0, 1, 0 }, { "BashOutput", 1, 0, 0 }, { "KillShell", 0, 1, 0 },
		{ "TaskOutput", 1, 0, 0 }, { "TaskStop", 0, 1, 0 }, { "Read", 1, 0, 1 },
		{ "Write", 0, 1, 1 }, { "Edit", 0, 1, 0 }, { "MultiEdit", 0, 1, 0 },
		{ "NotebookEdit", 0, 1, 0 }, { "Glob", 1, 0, 1 }, { "Grep", 1, 0, 1 },
		{ "LS", 1, 0, 1 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(want); i++) {
		const struct ats_tool_row *t = ats_tool_find(want[i].name);

		ck_assert_msg(t != NULL, "%s", want[i].name);
		ck_assert_msg(((t->hints & ATS_HINT_RO) != 0) == want[i].read_only &&
		    ((t->hints & ATS_HINT_DESTRUCTIVE) != 0) == want[i].destructive &&
		    ((t->hints & ATS_HINT_IDEMPOTENT) != 0) == want[i].idempotent, "%s",
		    want[i].name);
	}
}
END_TEST

START_TEST(bash_has_the_limits_that_its_texts_say)
{
	const struct ats_tool_row *t = ats_tool_find("Bash");

	ck_assert_uint_eq(t->timeout_ms, 120000);
	ck_assert_uint_eq(t->timeout_max_ms, 600000);
	ck_assert_uint_eq(t->max_chars, 30000);
	ck_assert_ptr_nonnull(strstr(t->doc, "30,000"));
}
END_TEST

START_TEST(schema_of_each_tool_is_strict_json)
{
	struct ats_json_val v;
	struct ats_buf out;
	size_t i;

	ats_buf_init(&out, 65536);
	for (i = 0; i < ATS_TOOL_COUNT; i++) {
		ats_buf_reset(&out);
		ck_assert_int_eq(ats_tool_schema(&ats_tool_rows[i], &out), 0);
		ck_assert_int_eq(ats_json_scan(out.data, out.len, NULL), 0);
		ck_assert(ats_json_get((struct ats_slice){ out.data, out.len }, "required", &v));
	}
	ats_buf_reset(&out);
	ck_assert_int_eq(ats_tool_schema(ats_tool_find("Grep"), &out), 0);
	ck_assert_ptr_nonnull(strstr(out.data,
	    "\"enum\":[\"files_with_matches\",\"content\",\"count\"]"));
	ck_assert_ptr_nonnull(strstr(out.data, "\"description\":\"what to show;"));
	ck_assert_ptr_nonnull(strstr(out.data, "\"additionalProperties\":false"));
	ats_buf_reset(&out);
	ck_assert_int_eq(ats_tool_schema(ats_tool_find("MultiEdit"), &out), 0);
	ck_assert_ptr_nonnull(strstr(out.data, "\"minItems\":1,\"maxItems\":1000,\"items\":{"
	    "\"type\":\"object\",\"properties\":{\"old_string\":{\"type\":\"string\""));
	ck_assert_ptr_nonnull(strstr(out.data, "\"required\":[\"old_string\",\"new_string\"],"
	    "\"additionalProperties\":false}}},\"required\":[\"file_path\",\"edits\"],"
	    "\"additionalProperties\":false}"));
	ats_buf_done(&out);
}
END_TEST

ATS_UNIT_MAIN("tools", find_by_name_and_alias, input_lenient_forms_are_accepted,
    input_wrong_parameter_is_named, input_error_text_is_cut_on_a_character,
    input_items_are_whole_after_the_arena_has_moved, rows_keep_the_rules_of_their_types,
    rows_have_the_hints_that_clients_go_by, bash_has_the_limits_that_its_texts_say,
    schema_of_each_tool_is_strict_json)
