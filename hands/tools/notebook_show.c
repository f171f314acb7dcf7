/* SPDX-License-Identifier: Apache-2.0
 *
 * A Jupyter notebook as Read shows it: each cell with its id, kind, source and outputs,
 * images among them as blocks of their own. Runs in workers of the read profile; the file
 * is anybody's, and checked by the strict scanner before anything of it is used. */
#include "hands/tools/notebook_show.h"

#include "common/base64.h"
#include "hands/fs/image.h"
#include "hands/fs/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_SHOWN 10000u   /* bytes of text of one cell's outputs */
#define TEXT_MAX (250u << 10) /* of all cells; below tools.def's max_chars of Read */
#define IMAGES_MAX 16u	      /* two blocks each, of 64 that a result may have */
#define IMAGE_TEXT_MAX (8u << 20)

struct show {
	struct tool_result *out;
	size_t text_bytes; /* of out's text that are no images */
	unsigned images;
	size_t room; /* bytes of text that this cell's outputs may still take */
	bool is_cut; /* it was said that they took more */
};

/* ---- text -------------------------------------------------------------------------- */
/* A string, or an array of strings, appended in one. Other types: nothing. */
static int
add_text(const struct ats_json_val *v, struct ats_buf *out)
{
	struct ats_json_iter it;
	struct ats_json_val part;
	struct ats_slice key;
	char *s = NULL;
	int rc = 0;

	if (v->type == ATS_JSON_STRING) {
		s = ats_json_dup_str(v);
		rc = s != NULL ? ats_buf_add_str(out, s) : 0;
		free(s);
		return rc;
	}
	if (v->type != ATS_JSON_ARRAY)
		return 0;
	ats_json_iter_init(&it, v->raw);
	while (rc == 0 && ats_json_next(&it, &key, &part))
		if (part.type == ATS_JSON_STRING)
			rc = add_text(&part, out);
	return rc;
}

static int
add_member(struct ats_slice object, const char *name, struct ats_buf *out)
{
	struct ats_json_val v;

	return ats_json_get(object, name, &v) ? add_text(&v, out) : 0;
}

static int
put(struct show *s, const char *p, size_t n)
{
	if (n > TEXT_MAX - s->text_bytes)
		return -ATS_E_TOOBIG;
	s->text_bytes += n;
	return n > 0 ? ats_buf_add(&s->out->text, p, n) : 0;
}

static int
put_str(struct show *s, const char *text)
{
	return put(s, text, strlen(text));
}

static int
put_line_end(struct show *s)
{
	const struct ats_buf *b = &s->out->text;

	return b->len > s->out->blocked && b->data[b->len - 1] == '\n' ? 0
								       : put_str(s, "\n");
}

/* ---- images ------------------------------------------------------------------------ */
static int
note_image(struct show *s, const char *why)
{
	char note[256];

	(void)snprintf(note, sizeof note, "[an image, not shown: %s]\n", why);
	return put_str(s, note);
}

/* base64 of whatever it is; an image that is whole becomes a block. */
static int
add_image(struct show *s, const struct ats_json_val *v)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 }, bytes ATS_CLEANUP_BUF = { 0 };
	struct ats_buf *to = &s->out->text;
	struct ats_err err;
	struct image im;
	int rc;

	if (s->images == IMAGES_MAX)
		return note_image(s, "there are too many");
	ats_buf_init(&text, IMAGE_TEXT_MAX);
	ats_buf_init(&bytes, IMAGE_TEXT_MAX);
	rc = add_text(v, &text);
	if (rc == 0)
		rc = ats_base64_decode(text.data, text.len, &bytes);
	if (rc == -ATS_E_NOMEM)
		return rc;
	if (rc < 0)
		return note_image(
		    s, rc == -ATS_E_TOOBIG ? "it is too large" : "it is not base64");
	if (image_check(bytes.data, bytes.len, &im, &err) < 0)
		return note_image(s, err.text);
	if (to->len - s->text_bytes + im.size + TEXT_MAX + 4096 > to->max)
		return note_image(s, "the result is full");
	s->images++;
	rc = tool_block(s->out, NULL);
	if (rc == 0)
		rc = ats_buf_add(to, bytes.data, im.size);
	return rc == 0 ? tool_block(s->out, im.mime) : rc;
}

static int
add_images(struct show *s, struct ats_slice data)
{
	static const char *const types[] = { "image/png", "image/jpeg", "image/gif",
		"image/webp" };
	struct ats_json_val v;

	for (size_t i = 0; i < ATS_ARRAY_LEN(types); i++)
		if (ats_json_get(data, types[i], &v))
			return add_image(s, &v);
	return 0;
}

/* ---- cells ------------------------------------------------------------------------- */
/* What an output says in text: a stream's, a result's, an error's. */
static int
output_text(struct ats_slice o, struct ats_buf *out)
{
	struct ats_json_val data;
	int rc = add_member(o, "text", out);

	if (rc == 0 && ats_json_get(o, "data", &data) && data.type == ATS_JSON_OBJECT)
		rc = add_member(data.raw, "text/plain", out);
	if (rc == 0)
		rc = add_member(o, "ename", out);
	if (rc == 0 && ats_json_get(o, "evalue", &data))
		rc = ats_buf_add_str(out, ": ");
	return rc == 0 ? add_member(o, "evalue", out) : rc;
}

static int
add_output(struct show *s, struct ats_slice o)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val data;
	size_t shown;
	int rc;

	ats_buf_init(&text, 32u << 20);
	rc = output_text(o, &text);
	if (rc == 0 && text.len > 0 && !s->is_cut) {
		shown = text_cut(text.data, text.len, s->room);
		s->room -= shown;
		rc = put(s, text.data, shown);
		if (rc == 0)
			rc = put_line_end(s);
		s->is_cut = shown < text.len;
		if (rc == 0 && s->is_cut)
			rc = put_str(s, "[... output cut]\n");
	}
	if (rc == 0 && ats_json_get(o, "data", &data) && data.type == ATS_JSON_OBJECT)
		rc = add_images(s, data.raw);
	return rc;
}

static int
add_outputs(struct show *s, struct ats_slice cell)
{
	struct ats_json_val outputs, o;
	struct ats_json_iter it;
	struct ats_slice key;
	size_t start;
	int rc;

	if (!ats_json_get(cell, "outputs", &outputs) || outputs.type != ATS_JSON_ARRAY)
		return 0;
	rc = put_str(s, "<output>\n");
	start = s->out->text.len;
	s->room = OUTPUT_SHOWN;
	s->is_cut = false;
	ats_json_iter_init(&it, outputs.raw);
	while (rc == 0 && ats_json_next(&it, &key, &o))
		if (o.type == ATS_JSON_OBJECT)
			rc = add_output(s, o.raw);
	if (rc == 0 && s->out->text.len == start) { /* they say nothing */
		ats_buf_truncate(&s->out->text, start - strlen("<output>\n"));
		return 0;
	}
	return rc == 0 ? put_str(s, "</output>\n") : rc;
}

static int
add_cell(struct show *s, struct ats_slice cell, unsigned no)
{
	struct ats_buf head ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v;
	int rc;

	ats_buf_init(&head, TEXT_MAX);
	rc = ats_buf_add_str(&head, "<cell id=\"");
	if (rc == 0 && ats_json_get(cell, "id", &v) && v.type == ATS_JSON_STRING)
		rc = add_text(&v, &head);
	else if (rc == 0)
		rc = ats_buf_addf(&head, "cell-%u", no);
	if (rc == 0)
		rc = ats_buf_add_str(&head, "\" type=\"");
	if (rc == 0)
		rc = add_member(cell, "cell_type", &head);
	if (rc == 0)
		rc = ats_buf_add_str(&head, "\">\n");
	if (rc == 0)
		rc = add_member(cell, "source", &head);
	if (rc == 0)
		rc = put(s, head.data, head.len);
	if (rc == 0)
		rc = put_line_end(s);
	if (rc == 0)
		rc = add_outputs(s, cell);
	return rc == 0 ? put_str(s, "</cell>\n") : rc;
}

/* As many cells as fit; blocks stay as they are. */
static int
cut(struct tool_result *out, size_t good, unsigned no)
{
	ats_buf_truncate(&out->text, good > out->blocked ? good : out->blocked);
	return ats_buf_addf(&out->text,
	    "\n[The notebook was cut in cell %u; give offset and limit to read its "
	    "JSON.]",
	    no);
}

int
notebook_show(const char *p, size_t n, struct tool_result *out)
{
	struct show s = { .out = out };
	struct ats_slice key, whole = { p, n };
	struct ats_json_val cells, cell;
	struct ats_json_iter it;
	size_t good = out->text.len;
	unsigned no = 0;
	int rc = 0;

	if (ats_json_scan(p, n, NULL) < 0 ||
	    ats_json_value(whole).type != ATS_JSON_OBJECT ||
	    !ats_json_get(ats_json_value(whole).raw, "cells", &cells) ||
	    cells.type != ATS_JSON_ARRAY)
		return 1;
	ats_json_iter_init(&it, cells.raw);
	while (rc == 0 && ats_json_next(&it, &key, &cell)) {
		good = out->text.len;
		if (cell.type == ATS_JSON_OBJECT)
			rc = add_cell(&s, cell.raw, no++);
	}
	if (rc == -ATS_E_TOOBIG)
		rc = cut(out, good, no - 1);
	if (rc == 0 && no == 0)
		rc = ats_buf_add_str(&out->text, "[The notebook has no cells.]");
	return rc == 0 && s.images > 0 ? tool_blocks_end(out) : rc;
}
