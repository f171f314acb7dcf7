/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/notebook_edit.c and hands/fs/notebook.c. */
#include "tests/lib/tool_env.h"

#include "hands/fs/notebook.h"

extern const struct tool tool_notebook_edit;

/* As Jupyter writes: one space, sorted keys, no escapes. */
#define HEAD "{\n \"cells\": [\n"
#define CODE                                                                             \
	"  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7,\n   \"id\": \"aa\",\n" \
	"   \"metadata\": {\n    \"x\":[1 ,2]\n   },\n   \"outputs\": [\n    {\n"           \
	"     \"name\": \"stdout\"\n    }\n   ],\n   \"source\": [\n    \"a = 1\\n\",\n"     \
	"    \"b\"\n   ]\n  }"
#define TEXT                                                                             \
	"  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"bb\",\n   \"metadata\": {},\n"      \
	"   \"source\": [\n    \"# T\"\n   ]\n  }"
#define TAIL(minor)                                                                      \
	"\n ],\n \"metadata\": { \"odd\" :  1.50 },\n \"nbformat\": 4,\n"                      \
	" \"nbformat_minor\": " minor "\n}\n"
#define CODE_IS(lines)                                                                   \
	"  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"aa\",\n" \
	"   \"metadata\": {\n    \"x\":[1 ,2]\n   },\n   \"outputs\": [],\n"                 \
	"   \"source\": " lines "\n  }"

static const char *
edit(struct fake_env *f, const char *mode, const char *cell, const char *type,
    const char *source)
{
	struct ats_in_notebook_edit in = { .notebook_path = "n.ipynb", .new_source = source,
		.cell_id = cell, .cell_type = type, .edit_mode = mode };

	return fake_run(f, &tool_notebook_edit, &in);
}

static const struct {
	const char *file, *mode, *cell, *type, *source, *want; /* want NULL: unchanged */
	int code;
} rows[] = {
	/* replace */
	{ HEAD CODE ",\n" TEXT TAIL("5"), NULL, "aa", NULL, "x\n\"y\"\t\xc3\xa9",
	    HEAD CODE_IS("[\n    \"x\\n\",\n    \"\\\"y\\\"\\t\xc3\xa9\"\n   ]") ",\n" TEXT
		TAIL("5"), 0 },
	{ HEAD CODE ",\n" TEXT TAIL("5"), "replace", "cell-0", "code", "",
	    HEAD CODE_IS("[]") ",\n" TEXT TAIL("5"), 0 },
	{ HEAD CODE ",\n" TEXT TAIL("5"), NULL, "bb", NULL, "# U\n",
	    HEAD CODE ",\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"bb\",\n"
	    "   \"metadata\": {},\n   \"source\": [\n    \"# U\\n\"\n   ]\n  }" TAIL("5"), 0 },
	/* to the other kind */
	{ HEAD TEXT TAIL("5"), NULL, "bb", "code", "1",
	    HEAD "  {\n   \"cell_type\": \"code\",\n   \"id\": \"bb\",\n   \"metadata\": {},\n"
	    "   \"source\": [\n    \"1\"\n   ],\n   \"execution_count\": null,\n"
	    "   \"outputs\": []\n  }" TAIL("5"), 0 },
	{ HEAD CODE TAIL("5"), NULL, "aa", "markdown", "1",
	    HEAD "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"aa\",\n"
	    "   \"metadata\": {\n    \"x\":[1 ,2]\n   },\n   \"source\": [\n    \"1\"\n   ]\n  }"
	    TAIL("5"), 0 },
	/* delete */
	{ HEAD CODE ",\n" TEXT TAIL("5"), "delete", "aa", NULL, "", HEAD TEXT TAIL("5"), 0 },
	{ HEAD CODE ",\n" TEXT TAIL("5"), "delete", "cell-1", NULL, "", HEAD CODE TAIL("5"), 0 },
	{ HEAD CODE TAIL("5"), "delete", "aa", NULL, "",
	    "{\n \"cells\": []" "" ",\n \"metadata\": { \"odd\" :  1.50 },\n \"nbformat\": 4,\n"
	    " \"nbformat_minor\": 5\n}\n", 0 },
	/* insert; ids are not for 4.4 */
	{ HEAD CODE TAIL("4"), "insert", "cell-0", "markdown", "hi",
	    HEAD CODE ",\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n"
	    "   \"source\": [\n    \"hi\"\n   ]\n  }" TAIL("4"), 0 },
	{ HEAD TEXT TAIL("4"), "insert", NULL, NULL, "hi",
	    HEAD "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n"
	    "   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"hi\"\n   ]\n  },\n"
	    TEXT TAIL("4"), 0 },
	{ "{\n\t\"cells\": [ ],\n\t\"nbformat\": 4\n}", "insert", NULL, "markdown", "a\nb",
	    "{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"markdown\",\n"
	    "\t\t\t\"metadata\": {},\n\t\t\t\"source\": [\n\t\t\t\t\"a\\n\",\n\t\t\t\t\"b\"\n"
	    "\t\t\t]\n\t\t}\n\t],\n\t\"nbformat\": 4\n}", 0 },
	/* other styles: compact, one string, CRLF, a BOM, unknown keys, escaped ids */
	{ "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"x\",\"outputs\":[1]}],\"k\":1}", NULL,
	    "cell-0", NULL, "a\nb",
	    "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"a\\nb\",\"outputs\":[],"
	    "\"execution_count\":null}],\"k\":1}", 0 },
	{ "{\"cells\": [{\"cell_type\": \"raw\", \"source\": [\"x\"]}]}", NULL, "cell-0", NULL,
	    "a\nb", "{\"cells\": [{\"cell_type\": \"raw\", \"source\": [\"a\\n\", \"b\"]}]}", 0 },
	{ "{\"cells\":[]}", "insert", NULL, "markdown", "x",
	    "{\"cells\":[{\"cell_type\":\"markdown\",\"metadata\":{},\"source\":[\"x\"]}]}", 0 },
	{ "\xef\xbb\xbf{\r\n \"cells\": [\r\n  {\r\n   \"cell_type\": \"markdown\",\r\n"
	  "   \"source\": []\r\n  }\r\n ]\r\n}\r\n", NULL, "cell-0", NULL, "a\nb",
	    "\xef\xbb\xbf{\r\n \"cells\": [\r\n  {\r\n   \"cell_type\": \"markdown\",\r\n"
	    "   \"source\": [\r\n    \"a\\n\",\r\n    \"b\"\r\n   ]\r\n  }\r\n ]\r\n}\r\n", 0 },
	{ "{\"cells\":[{\"id\":\"\\u0061\",\"mine\":{\"a\" : 1},\"cell_type\":\"markdown\"}]}",
	    NULL, "a", NULL, "x",
	    "{\"cells\":[{\"id\":\"\\u0061\",\"mine\":{\"a\" : 1},\"cell_type\":\"markdown\","
	    "\"source\":[\"x\"]}]}", 0 },
	/* a real id goes before a place */
	{ "{\"cells\":[{\"cell_type\":\"raw\"},{\"id\":\"cell-0\",\"cell_type\":\"raw\"}]}",
	    "delete", "cell-0", NULL, "", "{\"cells\":[{\"cell_type\":\"raw\"}]}", 0 },
	/* refused */
	{ HEAD CODE TAIL("5"), NULL, "zz", NULL, "x", NULL, ATS_E_NO_MATCH },
	{ HEAD CODE TAIL("5"), "delete", "cell-1", NULL, "x", NULL, ATS_E_NO_MATCH },
	{ HEAD CODE TAIL("5"), "insert", "zz", NULL, "x", NULL, ATS_E_NO_MATCH },
	{ HEAD CODE TAIL("5"), NULL, NULL, NULL, "x", NULL, ATS_E_INVAL },
	{ HEAD CODE TAIL("5"), "delete", NULL, NULL, "", NULL, ATS_E_INVAL },
	{ HEAD TEXT TAIL("5"), NULL, "bb", NULL, "# T", NULL, ATS_E_INVAL },
	{ HEAD CODE ",\n" CODE TAIL("5"), NULL, "aa", NULL, "x", NULL, ATS_E_AMBIGUOUS },
	{ "{\"cells\":[1]}", NULL, "cell-0", NULL, "x", NULL, ATS_E_INVAL },
	{ "{\"worksheets\":[]}", "insert", NULL, NULL, "x", NULL, ATS_E_INVAL },
	{ "[]", "insert", NULL, NULL, "x", NULL, ATS_E_INVAL },
	{ "{\"cells\":[]", "insert", NULL, NULL, "x", NULL, ATS_E_JSON },
	{ "{\"cells\":[{}]}", NULL, "cell-0", NULL, "x", NULL, ATS_E_INVAL },
};

START_TEST(notebook_edit_changes_one_cell_only)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/n.ipynb", rows[i].file);
		fake_read(&f, "n.ipynb", 0, 0);
		edit(&f, rows[i].mode, rows[i].cell, rows[i].type, rows[i].source);
		ck_assert_msg(f.res.code == rows[i].code, "row %zu: %s", i, f.res.text.data);
		fake_expect_str(&f, "ws/n.ipynb",
		    rows[i].want != NULL ? rows[i].want : rows[i].file);
		fake_expect_entries(&f, "ws", 1);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(notebook_edit_keeps_the_read_contract)
{
	struct fake_env f;
	const char *text;

	fake_start(&f);
	edit(&f, "insert", NULL, NULL, "x");
	fake_expect_code(&f, ATS_E_NOENT);
	fake_put_str(&f, "ws/n.ipynb", HEAD CODE TAIL("5"));
	edit(&f, NULL, "aa", NULL, "x");
	fake_expect_code(&f, ATS_E_NOT_READ);
	fake_read(&f, "n.ipynb", 0, 0);
	text = edit(&f, NULL, "aa", NULL, "x");
	fake_expect_code(&f, 0);
	ck_assert_msg(strstr(text, "Replaced code cell aa") != NULL && strstr(text, "@@") != NULL,
	    "%s", text);
	edit(&f, NULL, "aa", NULL, "y");	/* a chain needs no read */
	fake_expect_code(&f, 0);
	fake_put_str(&f, "ws/n.ipynb", HEAD TEXT TAIL("5"));
	edit(&f, NULL, "bb", NULL, "y");
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_put(&f, "ws/n.ipynb", "\xff\xfe{\0}\0", 6);
	fake_read(&f, "n.ipynb", 0, 0);
	edit(&f, "insert", NULL, NULL, "y");
	fake_expect_code(&f, ATS_E_UTF8);
	fake_stop(&f);
}
END_TEST

START_TEST(notebook_edit_new_cells_have_new_ids)
{
	char id[4][16];
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/n.ipynb", HEAD CODE TAIL("5"));
	fake_read(&f, "n.ipynb", 0, 0);
	for (int i = 0; i < 4; i++) {
		const char *text = edit(&f, "insert", i < 2 ? NULL : id[0], NULL, "same");

		fake_expect_code(&f, 0);
		ck_assert_int_eq(sscanf(text, "Inserted code cell %8[0-9a-f] in", id[i]), 1);
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(id[i], id[k]);
	}
	for (int i = 0; i < 4; i++) {
		edit(&f, "delete", id[i], NULL, "");
		fake_expect_code(&f, 0);
	}
	fake_expect_str(&f, "ws/n.ipynb", HEAD CODE TAIL("5"));
	fake_stop(&f);
}
END_TEST

/* The result of a first try is lost; then the same again. */
START_TEST(notebook_change_names_a_cell_by_whole_characters)
{
	static const char text[] = "{\"cells\":[{\"cell_type\":\"raw\",\"id\":\""
	    "0123456789012345678901234567890123456789012345678901234567890123\xc3\xa9\"},"
	    "{\"cell_type\":\"raw\",\"id\":\""
	    "012345678901234567890123456789012345678901234567890123456789012\xc3\xa9\"},"
	    "{\"cell_type\":\"raw\",\"id\":\"\"}]}";
	static const char *const want[] = {
		"0123456789012345678901234567890123456789012345678901234567890123",
		"012345678901234567890123456789012345678901234567890123456789012", "cell-2",
	};
	struct notebook_edit e = { .mode = NOTEBOOK_DELETE };
	struct notebook_done done;
	struct ats_buf out;
	char name[16];

	for (size_t i = 0; i < ATS_ARRAY_LEN(want); i++) {
		ats_buf_init(&out, 4096);
		(void)snprintf(name, sizeof(name), "cell-%zu", i);
		e.cell = name;
		ck_assert_int_eq(notebook_change((struct ats_slice){ text, sizeof(text) - 1 }, &e,
		    &out, &done, NULL), 0);
		ck_assert_str_eq(done.cell, want[i]);
		ats_buf_done(&out);
	}
}
END_TEST

START_TEST(notebook_edit_retry_knows_its_own_work)
{
	static const struct {
		const char *file, *mode, *cell;
		bool known;
	} tries[] = {
		{ HEAD CODE ",\n" TEXT TAIL("5"), "insert", "aa", true },
		{ HEAD CODE ",\n" TEXT TAIL("5"), "insert", NULL, true },
		{ HEAD CODE ",\n" TEXT TAIL("4"), "insert", "cell-1", true },
		{ "{\"cells\":[]}", "insert", NULL, true },
		{ HEAD CODE ",\n" TEXT TAIL("5"), "replace", "aa", true },
		{ HEAD CODE ",\n" TEXT TAIL("5"), "delete", "aa", true },
		{ HEAD CODE ",\n" TEXT TAIL("5"), "delete", "cell-0", false },
		{ HEAD CODE TAIL("5"), "delete", "cell-0", false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(tries); i++) {
		struct tool_read seen;
		struct fake_env f;
		size_t n;
		char *got;

		fake_start(&f);
		fake_put_str(&f, "ws/n.ipynb", tries[i].file);
		fake_read(&f, "n.ipynb", 0, 0);
		seen = f.reads[0];
		seen.sha256 = strdup(seen.sha256);
		seen.path = strdup(seen.path);
		edit(&f, tries[i].mode, tries[i].cell, NULL, "new");
		fake_expect_code(&f, 0);
		ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, fake_path(&f, "ws/n.ipynb"), 1u << 16, &got,
		    &n, NULL), 0);
		fake_forget(&f);
		f.reads[f.env.nreads++] = seen;
		f.env.attempt = 1;
		edit(&f, tries[i].mode, tries[i].cell, NULL, "new");
		ck_assert_msg(f.res.code == (tries[i].known ? 0 : ATS_E_CHANGED), "row %zu: %s", i,
		    f.res.text.data);
		fake_expect(&f, "ws/n.ipynb", got, n);
		fake_put_str(&f, "ws/n.ipynb", HEAD TEXT ",\n" TEXT TAIL("5"));
		edit(&f, "insert", NULL, NULL, "new");
		fake_expect_code(&f, ATS_E_CHANGED);
		free(got);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(notebook_edit_protected_names_are_refused)
{
	struct ats_in_notebook_edit in = { .notebook_path = ".git/hooks/n.ipynb",
		.new_source = "x", .edit_mode = "insert" };
	struct fake_env f;

	fake_start(&f);
	fake_run(&f, &tool_notebook_edit, &in);
	fake_expect_code(&f, ATS_E_DENIED);
	fake_expect_entries(&f, "ws", 0);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_notebook_edit", notebook_edit_changes_one_cell_only,
    notebook_edit_keeps_the_read_contract, notebook_edit_new_cells_have_new_ids,
    notebook_change_names_a_cell_by_whole_characters,
    notebook_edit_retry_knows_its_own_work, notebook_edit_protected_names_are_refused)
