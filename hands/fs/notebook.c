/* SPDX-License-Identifier: Apache-2.0
 *
 * A notebook's text is cut at the cell and put together again; only the cell is written anew,
 * from slices of what it was. Runs in workers of the write profile; the notebook is anybody's
 * and has passed the strict scanner, the edit is the model's. */
#include "hands/fs/notebook.h"

#include "hands/fs/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_MAX 1024u	/* of a level's white space; more is left out */

/* A member or an element with what stands before it. */
struct part {
	struct ats_slice lead;	/* white space after the bracket or comma */
	struct ats_slice key;	/* still escaped, without quotes */
	struct ats_slice colon;	/* from the key's quote to the value */
	struct ats_json_val v;
};
struct parts {			/* walks a container */
	struct ats_json_iter it;
	const char *end;	/* of the part before, or the bracket */
};

struct style {
	struct ats_slice member, element;	/* white space before a member and its elements */
	struct ats_slice colon;
	bool as_lines;		/* a source is an array */
};
struct notebook {
	struct ats_slice text, cells;		/* cells: the array */
	struct ats_slice cells_lead, cells_colon;	/* before and after the key "cells" */
	bool has_ids;
	size_t n;
	struct part at, first, second, next;	/* next: the one after at */
	struct part before;			/* at */
	bool found;
	size_t index;				/* of at */
	char space[3][SPACE_MAX];		/* that a style needs */
	unsigned nspaces;
};

/* ---- walking ----------------------------------------------------------------------- */
static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
parts_init(struct parts *p, struct ats_slice container)
{
	ats_json_iter_init(&p->it, container);
	p->end = container.p + 1;
}

static bool
parts_next(struct parts *p, struct part *ret)
{
	const char *start;

	if (!ats_json_next(&p->it, &ret->key, &ret->v))
		return false;
	start = ret->v.raw.p;
	ret->colon = (struct ats_slice){ NULL, 0 };
	if (p->it.in_object) {
		start = ret->key.p - 1;
		ret->colon.p = ret->key.p + ret->key.n + 1;
		ret->colon.n = (size_t)(ret->v.raw.p - ret->colon.p);
	}
	ret->lead.p = start;
	while (ret->lead.p > p->end && is_space(ret->lead.p[-1]))
		ret->lead.p--;
	ret->lead.n = (size_t)(start - ret->lead.p);
	p->end = ret->v.raw.p + ret->v.raw.n;
	return true;
}

static bool
is_lines(struct ats_slice lead)
{
	return memchr(lead.p, '\n', lead.n) != NULL;
}

static bool
text_is(const struct ats_json_val *v, const char *want)
{
	return v->type == ATS_JSON_STRING &&
	    ats_json_key_is((struct ats_slice){ v->raw.p + 1, v->raw.n - 2 }, want);
}

/* ---- finding ----------------------------------------------------------------------- */
/* The N of cell-N; false: no such name. */
static bool
index_of(const char *name, size_t *ret)
{
	char *end;

	if (strncmp(name, "cell-", 5) != 0 || name[5] < '0' || name[5] > '9' ||
	    strlen(name) > 14)
		return false;
	*ret = strtoul(name + 5, &end, 10);
	return *end == '\0';
}

static uint64_t
number_of(struct ats_slice object, const char *name)
{
	struct ats_json_val v;
	uint64_t n;

	return ats_json_get(object, name, &v) && ats_json_to_u64(&v, &n) == 0 ? n : 0;
}

static int
open_root(struct notebook *nb, struct ats_err *err)
{
	struct ats_json_val root = ats_json_value(nb->text);
	struct parts walk;
	struct part p;
	uint64_t major, minor;

	if (root.type == ATS_JSON_OBJECT) {
		parts_init(&walk, root.raw);
		while (parts_next(&walk, &p)) {
			if (!ats_json_key_is(p.key, "cells") || p.v.type != ATS_JSON_ARRAY)
				continue;
			nb->cells = p.v.raw;
			nb->cells_lead = p.lead;
			nb->cells_colon = p.colon;
		}
	}
	if (nb->cells.p == NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "It is no notebook of format 4: there is no array of cells.");
	major = number_of(root.raw, "nbformat");
	minor = number_of(root.raw, "nbformat_minor");
	nb->has_ids = major > 4 || (major == 4 && minor >= 5);
	return 0;
}

/* Finds the cell that an edit names, and the cells around it. */
static int
find_cell(struct notebook *nb, const char *name, struct ats_err *err)
{
	size_t want = 0, same = 0;
	bool by_index = name != NULL && index_of(name, &want), last_is_at = false;
	struct ats_json_val id;
	struct parts walk;
	struct part p, before = { .lead.p = NULL };

	parts_init(&walk, nb->cells);
	for (; parts_next(&walk, &p); nb->n++, before = p) {
		bool is_id;

		if (p.v.type != ATS_JSON_OBJECT)
			return ats_err_set(err, ATS_E_INVAL, "Its cell %zu is not an object.",
			    nb->n);
		if (nb->n == 0)
			nb->first = p;
		if (nb->n == 1)
			nb->second = p;
		if (last_is_at)
			nb->next = p;
		last_is_at = false;
		is_id = name != NULL && ats_json_get(p.v.raw, "id", &id) && text_is(&id, name);
		same += is_id;
		/* an id goes before a number */
		if (!(is_id && same == 1) && !(by_index && same == 0 && nb->n == want))
			continue;
		nb->at = p;
		nb->before = before;
		nb->index = nb->n;
		nb->next.v.raw.p = NULL;
		nb->found = last_is_at = true;
	}
	if (same > 1)
		return ats_err_set(err, ATS_E_AMBIGUOUS,
		    "%zu cells have the id %.64s; name it by its place, cell-N.", same, name);
	if (name != NULL && !nb->found)
		return ats_err_set(err, ATS_E_NO_MATCH,
		    "It has no cell %.64s; it has %zu cell%s. Read shows their ids.", name,
		    nb->n, nb->n == 1 ? "" : "s");
	return 0;
}

/* ---- style ------------------------------------------------------------------------- */
/* The white space of a level below inner, which lies one below outer. */
static struct ats_slice
deeper(struct notebook *nb, struct ats_slice outer, struct ats_slice inner)
{
	const char *o = outer.n > 0 ? memrchr(outer.p, '\n', outer.n) : NULL;
	const char *i = inner.n > 0 ? memrchr(inner.p, '\n', inner.n) : NULL;
	size_t on = o == NULL ? 0 : (size_t)(outer.p + outer.n - o - 1);
	size_t in = i == NULL ? 0 : (size_t)(inner.p + inner.n - i - 1);
	size_t more = in > on ? in - on : 0;
	char *to = nb->space[nb->nspaces];

	if (i == NULL || inner.n + more > SPACE_MAX || nb->nspaces == ATS_ARRAY_LEN(nb->space))
		return (struct ats_slice){ "", 0 };
	nb->nspaces++;
	memcpy(to, inner.p, inner.n);
	memcpy(to + inner.n, inner.p + inner.n - more, more);
	return (struct ats_slice){ to, inner.n + more };
}

/* From an existing cell. */
static void
style_of(struct notebook *nb, const struct part *cell, struct style *ret)
{
	struct ats_json_val source;
	struct parts walk;
	struct part p, used = { .lead = { "", 0 }, .colon = { ": ", 2 } };
	size_t n = 0;

	parts_init(&walk, cell->v.raw);
	while (n < 2 && parts_next(&walk, &p)) {
		used = p;	/* the second says what follows a comma */
		n++;
	}
	ret->member = used.lead;
	ret->colon = used.colon;
	ret->as_lines = !ats_json_get(cell->v.raw, "source", &source) ||
	    source.type != ATS_JSON_STRING;
	ret->element = is_lines(used.lead) ? deeper(nb, cell->lead, used.lead) : used.lead;
}

/* ---- writing ----------------------------------------------------------------------- */
static int
add(struct ats_buf *out, struct ats_slice s)
{
	return ats_buf_add(out, s.p, s.n);
}

static int
add_string(struct ats_buf *out, const char *s, size_t n)
{
	int rc = ats_buf_add_char(out, '"');

	if (rc == 0)
		rc = ats_json_escape(out, s, n);
	return rc < 0 ? rc : ats_buf_add_char(out, '"');
}

/* A source as its notebook writes it. */
static int
add_source(const struct style *st, const char *s, struct ats_buf *out)
{
	bool lines = is_lines(st->member), first = true;
	int rc;

	if (!st->as_lines)
		return add_string(out, s, strlen(s));
	rc = ats_buf_add_char(out, '[');
	while (rc == 0 && *s != '\0') {
		size_t n = strcspn(s, "\n");

		n += s[n] == '\n';
		if (!first)
			rc = ats_buf_add_char(out, ',');
		if (rc == 0 && (lines || !first))
			rc = add(out, st->element);
		if (rc == 0)
			rc = add_string(out, s, n);
		first = false;
		s += n;
	}
	if (rc == 0 && lines && !first)
		rc = add(out, st->member);
	return rc < 0 ? rc : ats_buf_add_char(out, ']');
}

struct cell_out {
	const struct style *st;
	const char *source;
	const char *type;	/* what the cell is to be; NULL: as it is */
	const char *new_id;	/* or NULL */
	struct ats_buf *out;
	bool first;
};

static int
add_key(struct cell_out *w, const char *name)
{
	int rc = w->first ? 0 : ats_buf_add_char(w->out, ',');

	if (rc == 0 && (!w->first || is_lines(w->st->member)))
		rc = add(w->out, w->st->member);
	w->first = false;
	if (rc == 0)
		rc = add_string(w->out, name, strlen(name));
	return rc < 0 ? rc : add(w->out, w->st->colon);
}

static int
add_member(struct cell_out *w, const char *name, const char *json)
{
	int rc = add_key(w, name);

	return rc < 0 ? rc : ats_buf_add_str(w->out, json);
}

/* A new cell; keys in the order in which Jupyter writes them. */
static int
write_new(struct cell_out *w, struct ats_slice close)
{
	bool code = strcmp(w->type, "code") == 0;
	int rc = ats_buf_add_char(w->out, '{');

	w->first = true;
	if (rc == 0)
		rc = add_member(w, "cell_type", code ? "\"code\"" : "\"markdown\"");
	if (rc == 0 && code)
		rc = add_member(w, "execution_count", "null");
	if (rc == 0 && w->new_id != NULL)
		rc = add_key(w, "id");
	if (rc == 0 && w->new_id != NULL)
		rc = add_string(w->out, w->new_id, strlen(w->new_id));
	if (rc == 0)
		rc = add_member(w, "metadata", "{}");
	if (rc == 0 && code)
		rc = add_member(w, "outputs", "[]");
	if (rc == 0)
		rc = add_key(w, "source");
	if (rc == 0)
		rc = add_source(w->st, w->source, w->out);
	if (rc == 0 && is_lines(w->st->member))
		rc = add(w->out, close);
	return rc < 0 ? rc : ats_buf_add_char(w->out, '}');
}

enum { HAS_SOURCE = 1, HAS_OUTPUTS = 2, HAS_COUNT = 4 };

/* A member as the changed cell has it. */
static int
write_member(struct cell_out *w, const struct part *p, bool code, unsigned *has)
{
	bool outputs = ats_json_key_is(p->key, "outputs");
	bool count = ats_json_key_is(p->key, "execution_count");
	bool other = w->type != NULL;
	int rc;

	if (other && (code ? ats_json_key_is(p->key, "attachments") : outputs || count))
		return 0;	/* not of the new kind of cell */
	rc = w->first ? 0 : ats_buf_add_char(w->out, ',');
	w->first = false;
	if (rc == 0)
		rc = add(w->out, p->lead);
	if (rc == 0)
		rc = ats_buf_add(w->out, p->key.p - 1, p->key.n + 2);
	if (rc == 0)
		rc = add(w->out, p->colon);
	if (rc < 0)
		return rc;
	*has |= (outputs ? HAS_OUTPUTS : 0u) | (count ? HAS_COUNT : 0u);
	if (code && outputs)
		return ats_buf_add_str(w->out, "[]");
	if (code && count)
		return ats_buf_add_str(w->out, "null");
	if (ats_json_key_is(p->key, "source")) {
		*has |= HAS_SOURCE;
		return add_source(w->st, w->source, w->out);
	}
	if (other && ats_json_key_is(p->key, "cell_type"))
		return add_string(w->out, w->type, strlen(w->type));
	return add(w->out, p->v.raw);
}

static int
write_changed(struct cell_out *w, struct ats_slice cell, bool code)
{
	const char *close = cell.p + cell.n - 1;
	unsigned has = 0;
	struct parts walk;
	struct part p;
	int rc = ats_buf_add_char(w->out, '{');

	w->first = true;
	parts_init(&walk, cell);
	while (rc == 0 && parts_next(&walk, &p))
		rc = write_member(w, &p, code, &has);
	if (rc == 0 && code && (has & HAS_COUNT) == 0)
		rc = add_member(w, "execution_count", "null");
	if (rc == 0 && code && (has & HAS_OUTPUTS) == 0)
		rc = add_member(w, "outputs", "[]");
	if (rc == 0 && (has & HAS_SOURCE) == 0)
		rc = add_key(w, "source");
	if (rc == 0 && (has & HAS_SOURCE) == 0)
		rc = add_source(w->st, w->source, w->out);
	while (close > walk.end && is_space(close[-1]))
		close--;
	return rc < 0 ? rc : ats_buf_add(w->out, close, (size_t)(cell.p + cell.n - close));
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

/* ---- the three edits --------------------------------------------------------------- */
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
	struct cell_out w = { .source = e->source, .type = e->type, .out = out };
	struct ats_json_val type;
	struct style st;
	int rc;

	if (!ats_json_get(cell, "cell_type", &type) || type.type != ATS_JSON_STRING)
		return ats_err_set(err, ATS_E_INVAL, "Its cell %zu has no cell_type.", nb->index);
	ret->type = e->type != NULL	     ? e->type
	    : text_is(&type, "code")	     ? "code"
	    : text_is(&type, "markdown")     ? "markdown"
					     : "raw";
	if (e->type != NULL && text_is(&type, e->type))
		w.type = NULL;
	style_of(nb, &nb->at, &st);
	w.st = &st;
	rc = name_cell(nb, ret);
	if (rc == 0)
		rc = add_head(nb, cell.p, out);
	if (rc == 0)
		rc = write_changed(&w, cell, strcmp(ret->type, "code") == 0);
	return rc < 0 ? rc : add_tail(nb, cell.p + cell.n, out);
}

/* Into a notebook without cells: the style of its outermost level. */
static int
insert_only(struct notebook *nb, struct cell_out *w, struct style *st)
{
	struct ats_slice lead = nb->cells_lead, cell = { "", 0 };
	int rc;

	*st = (struct style){ .member = lead, .element = lead, .colon = nb->cells_colon,
		.as_lines = true };
	if (is_lines(lead)) {
		cell = deeper(nb, cell, lead);
		st->member = deeper(nb, lead, cell);
		st->element = deeper(nb, cell, st->member);
	}
	rc = add_head(nb, nb->cells.p + 1, w->out);
	if (rc == 0)
		rc = add(w->out, cell);
	if (rc == 0)
		rc = write_new(w, cell);
	if (rc == 0 && is_lines(lead))
		rc = add(w->out, lead);
	return rc < 0 ? rc : add_tail(nb, nb->cells.p + nb->cells.n - 1, w->out);
}

static int
insert(struct notebook *nb, const struct notebook_edit *e, struct ats_buf *out,
    struct notebook_done *ret)
{
	struct style st;
	struct cell_out w = { .st = &st, .source = e->source, .out = out,
		.new_id = nb->has_ids ? e->new_id : NULL,
		.type = e->type != NULL ? e->type : "code" };
	const struct part *like = nb->found ? &nb->at : &nb->first;
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
	style_of(nb, like, &st);
	rc = add_head(nb, at, out);
	if (rc == 0 && nb->found)
		rc = ats_buf_add_char(out, ',');
	if (rc == 0 && nb->found)
		rc = add(out, gap);
	if (rc == 0)
		rc = write_new(&w, like->lead);
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
	rc = open_root(&nb, err);
	if (rc == 0)
		rc = find_cell(&nb, e->cell, err);
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
