/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing a cell of a notebook. Input: which allocation fails, what to do, length of the
 * source, then the source and the notebook. Whatever comes out is strict JSON, in which
 * every byte outside the cell is as it was and the cell has the source; an insert that is
 * taken back gives the notebook that was, and the same change again changes nothing, both
 * but for white space. */
#include "hands/fs/notebook.h"
#include "hands/fs/text.h"
#include "tests/fuzz/fuzz.h"

#define CELLS_MAX 1024u

enum { NARROW = 0xc0 }; /* both bits: little room */

/* The array of cells as Jupyter sees it. */
struct cells {
	struct ats_slice all; /* with its brackets */
	struct ats_slice v[CELLS_MAX];
	size_t n;
};

static bool
open_cells(struct ats_slice text, struct cells *ret)
{
	struct ats_json_val root = ats_json_value(text), v;
	struct ats_json_iter it;
	struct ats_slice key;

	ret->n = 0;
	if (root.type != ATS_JSON_OBJECT || !ats_json_get(root.raw, "cells", &v) ||
	    v.type != ATS_JSON_ARRAY)
		return false;
	ret->all = v.raw;
	ats_json_iter_init(&it, v.raw);
	while (ret->n < CELLS_MAX && ats_json_next(&it, &key, &v))
		ret->v[ret->n++] = v.raw;
	return ret->n < CELLS_MAX;
}

static bool
is_same(struct ats_slice a, struct ats_slice b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static bool
member_is(struct ats_slice cell, const char *name, const char *want)
{
	struct ats_json_val v;
	char *s = ats_json_get(cell, name, &v) ? ats_json_dup_str(&v) : NULL;
	bool is = s != NULL && strcmp(s, want) == 0;

	free(s);
	return is;
}

/* By its id, else as cell-N; n when there is none. */
static size_t
find(const struct cells *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (member_is(c->v[i], "id", name))
			return i;
	for (size_t i = 0; i < c->n; i++) {
		char number[32];

		(void)snprintf(number, sizeof(number), "cell-%zu", i);
		if (strcmp(number, name) == 0)
			return i;
	}
	return c->n;
}

/* A string, or an array of strings that are one. */
static void
check_source(struct ats_slice cell, const char *source)
{
	struct ats_json_val v, line;
	struct ats_buf got, want;
	struct ats_json_iter it;
	struct ats_slice key;

	ats_buf_init(&got, 1u << 20);
	ats_buf_init(&want, 1u << 20);
	FUZZ_CHECK(ats_utf8_repair(&want, source, strlen(source)) == 0);
	FUZZ_CHECK(ats_json_get(cell, "source", &v));
	if (v.type == ATS_JSON_STRING) {
		FUZZ_CHECK(ats_json_to_str(&v, &got) == 0);
	} else {
		FUZZ_CHECK(v.type == ATS_JSON_ARRAY);
		ats_json_iter_init(&it, v.raw);
		while (ats_json_next(&it, &key, &line)) {
			/* each but the last ends in a newline */
			FUZZ_CHECK(got.len == 0 || got.data[got.len - 1] == '\n');
			FUZZ_CHECK(ats_json_to_str(&line, &got) == 0);
		}
	}
	FUZZ_CHECK(fuzz_same(&got, &want));
	ats_buf_done(&got);
	ats_buf_done(&want);
}

/* The cell that was replaced: what is neither its source nor of its kind is as it was. */
static void
check_members(struct ats_slice was, struct ats_slice now, const struct notebook_edit *e,
    const char *type)
{
	static const char *const change[] = { "source", "outputs", "execution_count",
		"cell_type", "attachments" };
	bool code = strcmp(type, "code") == 0;
	struct ats_json_val v, w;
	struct ats_json_iter it;
	struct ats_slice key;

	check_source(now, e->source);
	if (strcmp(type, "raw") != 0)
		FUZZ_CHECK(member_is(now, "cell_type", type));
	if (code) {
		FUZZ_CHECK(ats_json_get(now, "outputs", &v) && v.raw.n == 2);
		FUZZ_CHECK(
		    ats_json_get(now, "execution_count", &v) && v.type == ATS_JSON_NULL);
	}
	ats_json_iter_init(&it, was);
	while (ats_json_next(&it, &key, &v)) {
		bool changes = false;
		char *name = fuzz_string(key);

		for (size_t i = 0; i < ATS_ARRAY_LEN(change); i++)
			changes = changes || ats_json_key_is(key, change[i]);
		/* an escaped name is found by its spelling only here: leave it out */
		if (!changes && strchr(name, '\\') == NULL && key.n == strlen(name))
			FUZZ_CHECK(ats_json_get(now, name, &w) && is_same(v.raw, w.raw));
		free(name);
	}
}

static void
check_change(struct ats_slice was, struct ats_slice now, const struct notebook_edit *e,
    const struct notebook_done *done)
{
	static struct cells old, new;
	size_t at, head, tail;

	FUZZ_CHECK(ats_json_scan(now.p, now.n, NULL) == 0);
	if (!open_cells(was, &old))
		return;
	FUZZ_CHECK(open_cells(now, &new));
	head = (size_t)(old.all.p - was.p);
	tail = was.n - head - old.all.n;
	FUZZ_CHECK(
	    head == (size_t)(new.all.p - now.p) && tail == now.n - head - new.all.n);
	FUZZ_CHECK(memcmp(was.p, now.p, head) == 0);
	FUZZ_CHECK(memcmp(was.p + was.n - tail, now.p + now.n - tail, tail) == 0);
	at = e->cell == NULL ? 0 : find(&old, e->cell);
	FUZZ_CHECK(e->cell == NULL || at < old.n);
	switch (e->mode) {
	case NOTEBOOK_REPLACE:
		FUZZ_CHECK(new.n == old.n);
		check_members(old.v[at], new.v[at], e, done->type);
		for (size_t i = 0; i < old.n; i++)
			FUZZ_CHECK(i == at || is_same(old.v[i], new.v[i]));
		break;
	case NOTEBOOK_INSERT:
		at += e->cell != NULL;
		FUZZ_CHECK(new.n == old.n + 1);
		check_source(new.v[at], e->source);
		FUZZ_CHECK(member_is(
		    new.v[at], "cell_type", e->type != NULL ? e->type : "code"));
		for (size_t i = 0; i < old.n; i++)
			FUZZ_CHECK(is_same(old.v[i], new.v[i + (i >= at)]));
		break;
	case NOTEBOOK_DELETE:
		FUZZ_CHECK(new.n == old.n - 1);
		for (size_t i = 0; i < new.n; i++)
			FUZZ_CHECK(is_same(old.v[i + (i >= at)], new.v[i]));
		break;
	}
}

static int
change(struct ats_slice text, const struct notebook_edit *e, struct ats_buf *out)
{
	struct notebook_done done;
	struct ats_err err = { 0 };
	int rc;

	ats_buf_truncate(out, 0);
	rc = notebook_change(text, e, out, &done, &err);
	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	FUZZ_CHECK(rc != 0 ||
		   (done.cell[0] != '\0' && text_is_utf8(done.cell, strlen(done.cell))));
	if (rc == 0)
		check_change(text, (struct ats_slice){ out->data, out->len }, e, &done);
	return rc;
}

/* Without memory or room it fails, or does what it does with them. */
static void
change_badly(struct ats_slice text, const struct notebook_edit *e, unsigned fault,
    size_t max, int want, const struct ats_buf *good)
{
	struct notebook_done done;
	struct ats_buf out;
	struct ats_err err = { 0 };
	int rc;

	ats_buf_init(&out, max);
	ats_fault_alloc(fault);
	rc = notebook_change(text, e, &out, &done, &err);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	if (rc != -ATS_E_NOMEM && rc != -ATS_E_TOOBIG)
		FUZZ_CHECK(rc == want && (rc != 0 || fuzz_same(&out, good)));
	ats_buf_done(&out);
}

/* The same but for white space: an empty array of cells loses it, and a cell that became
 * another kind may have lost the member whose white space was the style. */
static bool
is_like(const struct ats_buf *b, struct ats_slice text)
{
	size_t i = 0, k = 0;

	for (;;) {
		while (i < b->len && strchr(" \t\r\n", b->data[i]) != NULL)
			i++;
		while (k < text.n && strchr(" \t\r\n", text.p[k]) != NULL)
			k++;
		if (i == b->len || k == text.n)
			return i == b->len && k == text.n;
		if (b->data[i++] != text.p[k++])
			return false;
	}
}

static void
edit(struct ats_slice text, const struct notebook_edit *e, unsigned fault, size_t max)
{
	struct notebook_edit undo = { .mode = NOTEBOOK_DELETE, .cell = e->new_id };
	struct ats_buf out, again;
	int rc;

	ats_buf_init(&out, 16u << 20);
	ats_buf_init(&again, 16u << 20);
	rc = change(text, e, &out);
	if (rc == 0) {
		struct ats_slice made = { out.data, out.len };

		if (e->mode == NOTEBOOK_INSERT && change(made, &undo, &again) == 0)
			FUZZ_CHECK(is_like(&again, text));
		if (e->mode == NOTEBOOK_REPLACE)
			FUZZ_CHECK(change(made, e, &again) == 0 && is_like(&again, made));
	}
	if (fault > 0 || max < out.max)
		change_badly(text, e, fault, max, rc, &out);
	ats_buf_done(&out);
	ats_buf_done(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const cells[] = { NULL, "cell-0", "cell-1", "a" };
	static const char *const types[] = { NULL, "code", "markdown", NULL };
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	struct notebook_edit e = { .mode = (enum notebook_mode)(flags % 4 % 3),
		.cell = cells[flags / 4 % 4],
		.type = types[flags / 16 % 4],
		.new_id = "new-id" };
	size_t n = fuzz_byte(&in);
	char *source = fuzz_string(fuzz_bytes(&in, n)), *copy;
	struct ats_slice text = fuzz_bytes(&in, in.n);

	text.p = copy = fuzz_copy(text);
	e.source = source;
	edit(text, &e, fault, (flags & NARROW) == NARROW ? 64 + n : 16u << 20);
	free(copy);
	free(source);
	return 0;
}
