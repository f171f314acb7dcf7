/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one cell as its notebook would have it: white space, order and form of what is there. Part
 * of notebook.c; runs in workers of the write profile; the notebook is anybody's and has passed the
 * strict scanner, the source is the model's. */
#include "hands/fs/notebook_private.h"

#include <string.h>

struct ats_slice
notebook_deeper(struct notebook *nb, struct ats_slice outer, struct ats_slice inner)
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

void
notebook_style_of(struct notebook *nb, const struct notebook_part *cell, struct notebook_style *ret)
{
	struct ats_json_val source;
	struct notebook_parts walk;
	struct notebook_part p, used = { .lead = { "", 0 }, .colon = { ": ", 2 } };
	size_t n = 0;

	notebook_parts_init(&walk, cell->v.raw);
	while (n < 2 && notebook_parts_next(&walk, &p)) {
		used = p;	/* the second says what follows a comma */
		n++;
	}
	ret->member = used.lead;
	ret->colon = used.colon;
	ret->as_lines = !ats_json_get(cell->v.raw, "source", &source) ||
	    source.type != ATS_JSON_STRING;
	ret->element = notebook_is_lines(used.lead) ? notebook_deeper(nb, cell->lead, used.lead) :
	    used.lead;
}

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
add_source(const struct notebook_style *st, const char *s, struct ats_buf *out)
{
	bool lines = notebook_is_lines(st->member), first = true;
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

static int
add_key(struct notebook_cell *w, const char *name)
{
	int rc = w->first ? 0 : ats_buf_add_char(w->out, ',');

	if (rc == 0 && (!w->first || notebook_is_lines(w->st->member)))
		rc = add(w->out, w->st->member);
	w->first = false;
	if (rc == 0)
		rc = add_string(w->out, name, strlen(name));
	return rc < 0 ? rc : add(w->out, w->st->colon);
}

static int
add_member(struct notebook_cell *w, const char *name, const char *json)
{
	int rc = add_key(w, name);

	return rc < 0 ? rc : ats_buf_add_str(w->out, json);
}

/* A new cell; keys in the order in which Jupyter writes them. */
int
notebook_write_new(struct notebook_cell *w, struct ats_slice close)
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
	if (rc == 0 && notebook_is_lines(w->st->member))
		rc = add(w->out, close);
	return rc < 0 ? rc : ats_buf_add_char(w->out, '}');
}

enum { HAS_SOURCE = 1, HAS_OUTPUTS = 2, HAS_COUNT = 4 };

/* A member as the changed cell has it. */
static int
write_member(struct notebook_cell *w, const struct notebook_part *p, bool code, unsigned *has)
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

int
notebook_write_changed(struct notebook_cell *w, struct ats_slice cell, bool code)
{
	const char *close = cell.p + cell.n - 1;
	unsigned has = 0;
	struct notebook_parts walk;
	struct notebook_part p;
	int rc = ats_buf_add_char(w->out, '{');

	w->first = true;
	notebook_parts_init(&walk, cell);
	while (rc == 0 && notebook_parts_next(&walk, &p))
		rc = write_member(w, &p, code, &has);
	if (rc == 0 && code && (has & HAS_COUNT) == 0)
		rc = add_member(w, "execution_count", "null");
	if (rc == 0 && code && (has & HAS_OUTPUTS) == 0)
		rc = add_member(w, "outputs", "[]");
	if (rc == 0 && (has & HAS_SOURCE) == 0)
		rc = add_key(w, "source");
	if (rc == 0 && (has & HAS_SOURCE) == 0)
		rc = add_source(w->st, w->source, w->out);
	while (close > walk.end && notebook_is_space(close[-1]))
		close--;
	return rc < 0 ? rc : ats_buf_add(w->out, close, (size_t)(cell.p + cell.n - close));
}
