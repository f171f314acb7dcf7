/* SPDX-License-Identifier: Apache-2.0
 *
 * A notebook's text is cut at the cell and put together again; only the cell is written anew,
 * from slices of what it was. Runs in workers of the write profile; the notebook is anybody's
 * and has passed the strict scanner, the edit is the model's. */
#include "hands/fs/notebook_private.h"

#include <stdio.h>
#include <string.h>

#include "hands/fs/text.h"

static int
add(struct ats_buf *out, struct ats_slice s)
{
	return ats_buf_add(out, s.p, s.n);
}

/* What stands before and after the place that changes. */
static int
add_head(const struct notebook *nb, const char *from, struct ats_buf *out)
{
	return ats_buf_add(out, nb->text.p, (size_t)(from - nb->text.p));
}

static int
add_tail(const struct notebook *nb, const char *to, struct ats_buf *out)
{
	return ats_buf_add(out, to, (size_t)(nb->text.p + nb->text.n - to));
}

static int
name_cell(const struct notebook *nb, struct notebook_done *ret)
{
	ATS_CLEANUP_BUF struct ats_buf name = { 0 };
	struct ats_json_val id;
	int rc = -ATS_E_FIELD;

	if (ats_json_get(nb->at.v.raw, "id", &id)) {
		ats_buf_init(&name, id.raw.n);
		rc = ats_json_to_str(&id, &name);
	}
	if (rc < 0 && rc != -ATS_E_FIELD)
		return rc;
	if (name.len > 0)
		(void)snprintf(ret->cell, sizeof(ret->cell), "%.*s",
		    (int)text_cut(name.data, name.len, 64), name.data);
	else
		(void)snprintf(ret->cell, sizeof(ret->cell), "cell-%zu", nb->index);
	return 0;
}

static int
replace(struct notebook *nb, const struct notebook_edit *e, struct ats_buf *out,
    struct notebook_done *ret, struct ats_err *err)
{
	const struct ats_slice cell = nb->at.v.raw;
	struct notebook_cell w = { .source = e->source, .type = e->type, .out = out };
	struct ats_json_val type;
	struct notebook_style st;
	int rc;

	if (!ats_json_get(cell, "cell_type", &type) || type.type != ATS_JSON_STRING)
		return ats_err_set(err, ATS_E_INVAL, "Its cell %zu has no cell_type.", nb->index);
	ret->type = e->type != NULL	     ? e->type
	    : notebook_text_is(&type, "code")	     ? "code"
	    : notebook_text_is(&type, "markdown")     ? "markdown"
					     : "raw";
	if (e->type != NULL && notebook_text_is(&type, e->type))
		w.type = NULL;
	notebook_style_of(nb, &nb->at, &st);
	w.st = &st;
	rc = name_cell(nb, ret);
	if (rc == 0)
		rc = add_head(nb, cell.p, out);
	if (rc == 0)
		rc = notebook_write_changed(&w, cell, strcmp(ret->type, "code") == 0);
	return rc < 0 ? rc : add_tail(nb, cell.p + cell.n, out);
}

/* Into a notebook without cells: the style of its outermost level. */
static int
insert_only(struct notebook *nb, struct notebook_cell *w, struct notebook_style *st)
{
	struct ats_slice lead = nb->cells_lead, cell = { "", 0 };
	int rc;

	*st = (struct notebook_style){ .member = lead, .element = lead, .colon = nb->cells_colon,
		.as_lines = true };
	if (notebook_is_lines(lead)) {
		cell = notebook_deeper(nb, cell, lead);
		st->member = notebook_deeper(nb, lead, cell);
		st->element = notebook_deeper(nb, cell, st->member);
	}
	rc = add_head(nb, nb->cells.p + 1, w->out);
	if (rc == 0)
		rc = add(w->out, cell);
	if (rc == 0)
		rc = notebook_write_new(w, cell);
	if (rc == 0 && notebook_is_lines(lead))
		rc = add(w->out, lead);
	return rc < 0 ? rc : add_tail(nb, nb->cells.p + nb->cells.n - 1, w->out);
}

static int
insert(struct notebook *nb, const struct notebook_edit *e, struct ats_buf *out,
    struct notebook_done *ret)
{
	struct notebook_style st;
	struct notebook_cell w = { .st = &st, .source = e->source, .out = out,
		.new_id = nb->has_ids ? e->new_id : NULL,
		.type = e->type != NULL ? e->type : "code" };
	const struct notebook_part *like = nb->found ? &nb->at : &nb->first;
	/* what follows a comma between cells */
	struct ats_slice gap = nb->n > 1 ? nb->second.lead : nb->first.lead;
	const char *at;
	int rc;

	ret->type = w.type;
	if (w.new_id != NULL)
		(void)snprintf(ret->cell, sizeof(ret->cell), "%s", w.new_id);
	else
		(void)snprintf(ret->cell, sizeof(ret->cell), "cell-%zu",
		    nb->found ? nb->index + 1 : 0);
	if (nb->n == 0)
		return insert_only(nb, &w, &st);
	at = nb->found ? like->v.raw.p + like->v.raw.n : like->v.raw.p;
	notebook_style_of(nb, like, &st);
	rc = add_head(nb, at, out);
	if (rc == 0 && nb->found)
		rc = ats_buf_add_char(out, ',');
	if (rc == 0 && nb->found)
		rc = add(out, gap);
	if (rc == 0)
		rc = notebook_write_new(&w, like->lead);
	if (rc == 0 && !nb->found)
		rc = ats_buf_add_char(out, ',');
	if (rc == 0 && !nb->found)
		rc = add(out, gap);
	return rc < 0 ? rc : add_tail(nb, at, out);
}

static int
delete(struct notebook *nb, struct ats_buf *out, struct notebook_done *ret)
{
	const char *from = nb->at.v.raw.p, *to = from + nb->at.v.raw.n;
	int rc = name_cell(nb, ret);

	if (nb->n == 1) {
		from = nb->cells.p + 1;
		to = nb->cells.p + nb->cells.n - 1;
	} else if (nb->index > 0) {
		from = nb->before.v.raw.p + nb->before.v.raw.n;
	} else {
		to = nb->next.v.raw.p;
	}
	if (rc == 0)
		rc = add_head(nb, from, out);
	return rc < 0 ? rc : add_tail(nb, to, out);
}

int
notebook_change(struct ats_slice text, const struct notebook_edit *e, struct ats_buf *out,
    struct notebook_done *ret, struct ats_err *err)
{
	struct notebook nb = { .text = text };
	int rc = ats_json_scan(text.p, text.n, err);

	memset(ret, 0, sizeof(*ret));
	if (rc < 0)
		return ats_err_wrap(err, "It is no notebook");
	if (e->cell == NULL && e->mode != NOTEBOOK_INSERT)
		return ats_err_set(err, ATS_E_INVAL,
		    "cell_id: is required to replace or delete a cell.");
	rc = notebook_open(&nb, err);
	if (rc == 0)
		rc = notebook_find(&nb, e->cell, err);
	if (rc < 0)
		return rc;
	if (e->mode == NOTEBOOK_REPLACE)
		rc = replace(&nb, e, out, ret, err);
	else if (e->mode == NOTEBOOK_INSERT)
		rc = insert(&nb, e, out, ret);
	else
		rc = delete(&nb, out, ret);
	if (rc == -ATS_E_NOMEM || rc == -ATS_E_TOOBIG)
		return ats_err_set(err, -rc, "It would become too large: %s.",
		    ats_err_text(rc));
	return rc;
}
