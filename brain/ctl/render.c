/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of brain for people: one object as aligned lines, arrays of objects as tables.
 * Nothing here knows a method, so a new field shows up by itself. Process: atsctl. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/output.h"

#define TEXT_MAX (4u << 20)

/* Of a confinement: what must never go unseen. */
static int
add_warning(struct ats_buf *b, struct ats_slice object)
{
	int rc = 0;

	if (ats_json_member_is(object, "level", "none"))
		rc = ats_buf_add_str(b, ": NOT CONFINED");
	if (rc == 0 && ats_json_member_is(object, "net", "host"))
		rc = ats_buf_add_str(b, ", host network");
	return rc;
}

/* In a table an object is shown by the member that names it, if it has one. */
static bool
add_name(struct ats_buf *b, struct ats_slice object)
{
	static const char *const names[] = { "level", "state", "name", "id" };
	struct ats_json_val v;

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		if (ats_json_get(object, names[i], &v) && v.type == ATS_JSON_STRING)
			return ats_json_to_str(&v, b) == 0 && add_warning(b, object) == 0;
	}
	return false;
}

/* Members that end so are times: the length of the ending, or 0. *ret_us: of one unit. */
static size_t
time_suffix(struct ats_slice name, uint64_t *ret_us)
{
	const char *end = name.n > 3 ? name.p + name.n - 3 : "";

	*ret_us = strncmp(end, "_ms", 3) == 0 ? 1000 : 1;
	return *ret_us == 1000 || strncmp(end, "_us", 3) == 0 ? 3 : 0;
}

static void
add_time(struct ats_buf *b, uint64_t us)
{
	uint64_t s = us / 1000000;
	int rc;

	if (us < 10000)
		rc = ats_buf_addf(b, "%" PRIu64 " us", us);
	else if (s == 0)
		rc = ats_buf_addf(b, "%" PRIu64 " ms", us / 1000);
	else if (s < 60)
		rc = ats_buf_addf(b, "%" PRIu64 ".%" PRIu64 " s", s, us / 100000 % 10);
	else if (s < 3600)
		rc = ats_buf_addf(b, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else if (s < 86400)
		rc = ats_buf_addf(b, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	else
		rc = ats_buf_addf(b, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	(void)rc;
}

/* The name as words: without the unit of a time, in capitals as a heading. */
static void
add_words(struct ats_buf *b, struct ats_slice name, bool capitals)
{
	uint64_t unit;
	size_t n = name.n - time_suffix(name, &unit);

	for (size_t i = 0; i < n; i++) {
		char c = name.p[i] == '_' ? ' ' : name.p[i];

		if (capitals && c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		(void)!ats_buf_add_char(b, c);
	}
}

/* Appends the short form of a value: strings without quotes, members as name=value. */
static void
add_value(struct ats_buf *b, const struct ats_json_val *v)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;
	const char *sep = "";

	if (v->type == ATS_JSON_STRING && ats_json_to_str(v, b) == 0)
		return;
	if (v->type == ATS_JSON_NULL) {
		(void)!ats_buf_add_char(b, '-');
		return;
	}
	if (v->type != ATS_JSON_ARRAY && v->type != ATS_JSON_OBJECT) {
		(void)!ats_buf_add(b, v->raw.p, v->raw.n);
		return;
	}
	for (ats_json_iter_init(&it, v->raw); ats_json_next(&it, &key, &e); sep = ", ") {
		(void)!ats_buf_add_str(b, sep);
		if (key.n > 0) {
			(void)!ats_buf_add(b, key.p, key.n);
			(void)!ats_buf_add_char(b, '=');
		}
		add_value(b, &e);
	}
}

static void
add_member(struct ats_buf *b, struct ats_slice name, const struct ats_json_val *v)
{
	uint64_t n, unit;

	if (time_suffix(name, &unit) > 0 && v->type == ATS_JSON_NUMBER &&
	    ats_json_to_u64(v, &n) == 0 && n < UINT64_MAX / 1000)
		add_time(b, n * unit);
	else
		add_value(b, v);
}

static bool
is_table(const struct ats_json_val *v)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;

	if (v->type != ATS_JSON_ARRAY)
		return false;
	ats_json_iter_init(&it, v->raw);
	return ats_json_next(&it, &key, &e) && e.type == ATS_JSON_OBJECT;
}

/* What would only widen a table: inspect and show have it. */
static bool
is_hidden(struct ats_slice row, struct ats_slice name)
{
	struct ats_json_val v;
	bool is_what_it_is = ats_json_member_is(row, "kind", "session") ||
	    ats_json_member_is(row, "kind", "sandbox") || ats_json_member_is(row, "kind", "call");

	return (is_what_it_is && ats_json_key_is(name, "kind")) ||
	       ats_json_key_is(name, "generation") || ats_json_key_is(name, "last_error") ||
	       (ats_json_key_is(name, "workspace") && ats_json_get(row, "cwd", &v));
}

/* The columns are the members of all rows, in the order of their first coming. */
static size_t
columns(struct ats_slice array, struct ats_slice cols[OUT_COLS_MAX])
{
	struct ats_json_iter rows, it;
	struct ats_slice key;
	struct ats_json_val row, v;
	size_t n = 0, k;

	ats_json_iter_init(&rows, array);
	while (ats_json_next(&rows, &key, &row)) {
		ats_json_iter_init(&it, row.raw);
		while (it.in_object && ats_json_next(&it, &key, &v)) {
			for (k = 0; k < n; k++) {
				if (cols[k].n == key.n &&
				    memcmp(cols[k].p, key.p, key.n) == 0)
					break;
			}
			if (k == n && n < OUT_COLS_MAX && !is_hidden(row.raw, key))
				cols[n++] = key;
		}
	}
	return n;
}

static bool
member(struct ats_slice object, struct ats_slice name, struct ats_json_val *ret)
{
	struct ats_json_iter it;
	struct ats_slice key;

	ats_json_iter_init(&it, object);
	while (ats_json_next(&it, &key, ret)) {
		if (key.n == name.n && memcmp(key.p, name.p, key.n) == 0)
			return true;
	}
	return false;
}

static void
print_table(struct ats_slice array)
{
	struct ats_slice cols[OUT_COLS_MAX], key;
	size_t n = columns(array, cols);
	struct ats_json_iter rows;
	struct ats_json_val row, v;
	struct out_table t;
	struct ats_buf b;

	ats_buf_init(&b, TEXT_MAX);
	out_table_init(&t, n);
	t.head = true;
	for (size_t k = 0; k < n; k++) {
		ats_buf_reset(&b);
		add_words(&b, cols[k], true);
		out_table_cell(&t, b.data, b.len);
	}
	ats_json_iter_init(&rows, array);
	while (ats_json_next(&rows, &key, &row)) {
		for (size_t k = 0; k < n; k++) {
			ats_buf_reset(&b);
			if (member(row.raw, cols[k], &v) &&
			    !(v.type == ATS_JSON_OBJECT && add_name(&b, v.raw)))
				add_member(&b, cols[k], &v);
			out_table_cell(
			    &t, b.len > 0 ? b.data : "-", b.len > 0 ? b.len : 1);
		}
	}
	if (n > 0)
		out_table_print(&t, stdout);
	out_table_done(&t);
	ats_buf_done(&b);
}

/* "a.b" lines for objects in objects; tables are left for later. */
static void
add_lines(
    struct out_table *t, const char *prefix, struct ats_slice object, unsigned depth)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	struct ats_buf name, b;

	ats_buf_init(&name, 4096);
	ats_buf_init(&b, TEXT_MAX);
	for (ats_json_iter_init(&it, object); ats_json_next(&it, &key, &v);) {
		if (is_table(&v) && depth == 0)
			continue;
		ats_buf_reset(&name);
		ats_buf_reset(&b);
		if (ats_buf_add_str(&name, prefix) < 0 ||
		    (prefix[0] != '\0' && ats_buf_add_char(&name, ' ') < 0))
			continue;
		add_words(&name, key, false);
		if (v.type == ATS_JSON_OBJECT && depth < 4) {
			add_lines(t, name.data, v.raw, depth + 1);
			continue;
		}
		add_member(&b, key, &v);
		out_table_cell(t, name.data, name.len);
		out_table_cell(t, b.len > 0 ? b.data : "-", b.len > 0 ? b.len : 1);
	}
	ats_buf_done(&name);
	ats_buf_done(&b);
}

void
out_object(struct ats_slice object)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	struct out_table t;
	bool any;

	out_table_init(&t, 2);
	add_lines(&t, "", object, 0);
	any = t.ncells > 0;
	out_table_print(&t, stdout);
	out_table_done(&t);
	for (ats_json_iter_init(&it, object); ats_json_next(&it, &key, &v);) {
		if (!is_table(&v))
			continue;
		if (any)
			(void)printf("\n");
		any = true;
		out_safe(stdout, key.p, key.n);
		(void)printf(":\n");
		print_table(v.raw);
	}
}

static void
print_json(const char *json, size_t n)
{
	struct json_object *tree = NULL;
	const char *text = NULL;

	if (isatty(STDOUT_FILENO) && ats_json_tree(json, n, false, &tree, NULL) == 0)
		text = ats_json_tree_text(tree);
	if (text != NULL)
		(void)fputs(text, stdout);
	else
		(void)fwrite(json, 1, n, stdout);
	(void)fputc('\n', stdout);
	ats_json_tree_free(tree);
}

void
out_result(const struct ctl *c, const char *json, size_t n)
{
	struct ats_json_val v = ats_json_value((struct ats_slice){ json, n });

	if (c->json)
		print_json(json, n);
	else if (is_table(&v))
		print_table(v.raw);
	else if (v.type == ATS_JSON_OBJECT)
		out_object(v.raw);
}
