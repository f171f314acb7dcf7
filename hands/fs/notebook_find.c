/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the cell of a notebook that an edit names, with what stands around it. Part of notebook.c;
 * runs in workers of the write profile; the notebook is anybody's and has passed the strict
 * scanner, the cell's name is the model's. */
#include "hands/fs/notebook_private.h"

#include <stdlib.h>
#include <string.h>

bool
notebook_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void
notebook_parts_init(struct notebook_parts *p, struct ats_slice container)
{
	ats_json_iter_init(&p->it, container);
	p->end = container.p + 1;
}

bool
notebook_parts_next(struct notebook_parts *p, struct notebook_part *ret)
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
	while (ret->lead.p > p->end && notebook_is_space(ret->lead.p[-1]))
		ret->lead.p--;
	ret->lead.n = (size_t)(start - ret->lead.p);
	p->end = ret->v.raw.p + ret->v.raw.n;
	return true;
}

bool
notebook_is_lines(struct ats_slice lead)
{
	return memchr(lead.p, '\n', lead.n) != NULL;
}

bool
notebook_text_is(const struct ats_json_val *v, const char *want)
{
	return v->type == ATS_JSON_STRING &&
	    ats_json_key_is((struct ats_slice){ v->raw.p + 1, v->raw.n - 2 }, want);
}

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

int
notebook_open(struct notebook *nb, struct ats_err *err)
{
	struct ats_json_val root = ats_json_value(nb->text);
	struct notebook_parts walk;
	struct notebook_part p;
	uint64_t major, minor;

	if (root.type == ATS_JSON_OBJECT) {
		notebook_parts_init(&walk, root.raw);
		while (notebook_parts_next(&walk, &p)) {
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
int
notebook_find(struct notebook *nb, const char *name, struct ats_err *err)
{
	size_t want = 0, same = 0;
	bool by_index = name != NULL && index_of(name, &want), last_is_at = false;
	struct ats_json_val id;
	struct notebook_parts walk;
	struct notebook_part p, before = { .lead.p = NULL };

	notebook_parts_init(&walk, nb->cells);
	for (; notebook_parts_next(&walk, &p); nb->n++, before = p) {
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
		is_id = name != NULL && ats_json_get(p.v.raw, "id", &id) &&
		    notebook_text_is(&id, name);
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
