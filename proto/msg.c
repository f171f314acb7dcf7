/* SPDX-License-Identifier: Apache-2.0
 *
 * The one strict decoder from JSON to the structs of the .def tables.
 * Runs in every process that speaks on a link, on every frame: one pass over the members,
 * no allocation but the arena. The input is a peer's or a model's: anything. */
#include "proto/msg.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "proto/msg_wrong.h"

#define ITEM_MAX 512	/* bytes of a struct that is one of ITEMS */

struct decoder {
	const struct ats_shape *shape;
	unsigned flags;
	unsigned char *ret;
	struct ats_buf *arena;
	struct ats_err *err;
	bool is_item;			/* of ITEMS: no arrays in it */
	uint32_t seen;			/* bit per field */
	size_t at[ATS_FIELDS_MAX];	/* offset in the arena: it may move while it grows */
};

static void *
member(const struct decoder *d, size_t offset)
{
	return d->ret + offset;
}

static int decode_item(
    struct decoder *d, const struct ats_shape *item, size_t at, struct ats_slice raw);

/* ---- decoding one value ------------------------------------------------------------ */
/* A number or a truth value that a model put between quotes: its text without them. */
static struct ats_json_val
unquoted(const struct ats_json_val *v)
{
	struct ats_slice s = { .p = v->raw.p + 1, .n = v->raw.n - 2 };
	struct ats_json_val out = { .type = ATS_JSON_END };
	size_t i;

	if (s.n == 0 || s.n > 20)
		return out;
	if ((s.n == 4 && memcmp(s.p, "true", 4) == 0) ||
	    (s.n == 5 && memcmp(s.p, "false", 5) == 0)) {
		out.type = ATS_JSON_BOOL;
		out.b = s.n == 4;
		out.raw = s;
		return out;
	}
	for (i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return out;
	}
	if (s.n > 1 && s.p[0] == '0')
		return out;
	out.type = ATS_JSON_NUMBER;
	out.raw = s;
	return out;
}

/* 5.0 is how some clients print 5: without the zero fraction, only for lenient input. */
static struct ats_json_val
without_fraction(const struct ats_json_val *v)
{
	struct ats_json_val out = *v;
	const char *dot = memchr(v->raw.p, '.', v->raw.n);
	size_t i;

	if (dot == NULL)
		return out;
	for (i = (size_t)(dot - v->raw.p) + 1; i < v->raw.n; i++) {
		if (v->raw.p[i] != '0')
			return out;
	}
	out.raw.n = (size_t)(dot - v->raw.p);
	return out;
}

static int
decode_u64(struct decoder *d, const struct ats_field *f, const struct ats_json_val *v)
{
	struct ats_json_val number = *v;
	uint64_t value;

	if ((d->flags & ATS_DECODE_LENIENT_NUM) != 0) {
		if (v->type == ATS_JSON_STRING)
			number = unquoted(v);
		else if (v->type == ATS_JSON_NUMBER)
			number = without_fraction(v);
	}
	if (number.type != ATS_JSON_NUMBER || ats_json_to_u64(&number, &value) < 0)
		return ats_msg_mistyped(f, v, d->err);
	/* Who gives more time than there is gets what there is. */
	if (f->role == ATS_ROLE_TIMEOUT && value > f->max)
		value = f->max;
	if (value < f->min || value > f->max)
		return ats_msg_mistyped(f, v, d->err);
	*(uint64_t *)member(d, f->offset) = value;
	*(bool *)member(d, f->has_offset) = true;
	return 0;
}

static int
decode_bool(struct decoder *d, const struct ats_field *f, const struct ats_json_val *v)
{
	struct ats_json_val truth = *v;

	if ((d->flags & ATS_DECODE_LENIENT_NUM) != 0 && v->type == ATS_JSON_STRING)
		truth = unquoted(v);
	if (truth.type != ATS_JSON_BOOL)
		return ats_msg_mistyped(f, v, d->err);
	*(bool *)member(d, f->offset) = truth.b;
	*(bool *)member(d, f->has_offset) = true;
	return 0;
}

/* Appends the string and its NUL to the arena; *ret_len is without the NUL. */
static int
add_string(struct decoder *d, const struct ats_field *f, const struct ats_json_val *v,
    size_t *ret_len)
{
	size_t before = d->arena->len;
	int rc;

	if ((v->raw.n - 2) / 6 > f->max)	/* six bytes are the longest escape of one */
		return ats_msg_too_long(f, d->err);
	rc = ats_json_to_str(v, d->arena);
	if (rc == -ATS_E_FIELD)
		return ats_err_set(d->err, ATS_E_FIELD, "%s: holds a NUL character", f->name);
	if (rc < 0)
		return ats_err_set(d->err, -rc, "%s: %s", f->name, ats_err_text(rc));
	*ret_len = d->arena->len - before;
	rc = ats_buf_add_char(d->arena, '\0');
	if (rc < 0)
		return ats_err_set(d->err, -rc, "%s: %s", f->name, ats_err_text(rc));
	return 0;
}

static int
decode_str(struct decoder *d, size_t i, const struct ats_json_val *v)
{
	const struct ats_field *f = &d->shape->fields[i];
	size_t n;
	int rc;

	if (v->type != ATS_JSON_STRING)
		return ats_msg_mistyped(f, v, d->err);
	d->at[i] = d->arena->len;
	rc = add_string(d, f, v, &n);
	if (rc < 0)
		return rc;
	if (n > f->max)
		return ats_msg_too_long(f, d->err);
	if (n < f->min && f->min == 1)
		return ats_err_set(d->err, ATS_E_FIELD, "%s: must not be empty", f->name);
	if (n < f->min)
		return ats_err_set(d->err, ATS_E_FIELD, "%s: too short, at least %" PRIu64 " bytes",
		    f->name, f->min);
	return 0;
}

static int
decode_enum(struct decoder *d, size_t i, const struct ats_json_val *v)
{
	const struct ats_field *f = &d->shape->fields[i];
	const char *p = f->doc, *text;
	size_t n, len;
	int rc;

	if (v->type != ATS_JSON_STRING || v->raw.n > 6 * 256)
		return ats_msg_mistyped(f, v, d->err);
	d->at[i] = d->arena->len;
	rc = ats_json_to_str(v, d->arena);
	if (rc == -ATS_E_FIELD)
		return ats_msg_mistyped(f, v, d->err);
	if (rc == 0)
		rc = ats_buf_add_char(d->arena, '\0');
	if (rc < 0)
		return ats_err_set(d->err, -rc, "%s: %s", f->name, ats_err_text(rc));
	text = d->arena->data + d->at[i];
	len = strlen(text);
	for (;;) {
		n = strcspn(p, "|:");
		if (n == len && memcmp(p, text, n) == 0)
			return 0;
		if (p[n] != '|')
			return ats_msg_mistyped(f, v, d->err);
		p += n + 1;
	}
}

static int
decode_raw(struct decoder *d, const struct ats_field *f, const struct ats_json_val *v)
{
	if (v->type != ATS_JSON_OBJECT && v->type != ATS_JSON_ARRAY)
		return ats_msg_mistyped(f, v, d->err);
	if (v->raw.n > f->max)
		return ats_msg_too_long(f, d->err);
	*(struct ats_slice *)member(d, f->offset) = v->raw;
	return 0;
}

/* Room for the array of field i, zeroed, aligned within the arena. */
static int
reserve_array(struct decoder *d, size_t i, size_t align, size_t bytes)
{
	size_t pad = (align - d->arena->len % align) % align;
	char *p;
	int rc = ats_buf_reserve(d->arena, pad + bytes, &p);

	if (rc < 0)
		return ats_err_set(d->err, -rc, "%s: %s", d->shape->fields[i].name,
		    ats_err_text(rc));
	memset(p, 0, pad + bytes);
	d->at[i] = d->arena->len + pad;
	ats_buf_commit(d->arena, pad + bytes);
	return 0;
}

/* In the arena: a NULL-terminated array of pointers (offsets until relocate), then the
 * strings. max counts the strings' bytes and a NUL each, which also bounds how many. */
static int
decode_strv(struct decoder *d, size_t i, const struct ats_json_val *v)
{
	const struct ats_field *f = &d->shape->fields[i];
	struct ats_json_iter it;
	struct ats_json_val e;
	struct ats_slice key;
	size_t count = 0, k, n, offset, total = 0;
	int rc;

	if (v->type != ATS_JSON_ARRAY || d->is_item)
		return ats_msg_mistyped(f, v, d->err);
	ats_json_iter_init(&it, v->raw);
	for (; ats_json_next(&it, &key, &e); count++) {
		if (e.type != ATS_JSON_STRING)
			return ats_msg_mistyped(f, v, d->err);
	}
	if (count > f->max)
		return ats_msg_too_long(f, d->err);
	rc = reserve_array(d, i, sizeof(char *), (count + 1) * sizeof(char *));
	if (rc < 0)
		return rc;
	ats_json_iter_init(&it, v->raw);
	for (k = 0; ats_json_next(&it, &key, &e); k++) {
		offset = d->arena->len;
		rc = add_string(d, f, &e, &n);
		if (rc < 0)
			return rc;
		total += n + 1;
		if (total > f->max)
			return ats_msg_too_long(f, d->err);
		memcpy(d->arena->data + d->at[i] + k * sizeof(char *), &offset, sizeof(offset));
	}
	*(size_t *)member(d, f->has_offset) = count;
	return 0;
}

/* In the arena: the array of structs. The strings follow it, and until relocate the structs
 * hold their offsets; none is 0, since the array stands before them. */
static int
decode_items(struct decoder *d, size_t i, const struct ats_json_val *v)
{
	const struct ats_field *f = &d->shape->fields[i];
	struct ats_json_iter it;
	struct ats_json_val e;
	struct ats_slice key;
	size_t count = 0, k;
	int rc;

	if (v->type != ATS_JSON_ARRAY || d->is_item)
		return ats_msg_mistyped(f, v, d->err);
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &key, &e))
		count++;
	if (count < f->min || count > f->max)
		return ats_err_set(d->err, ATS_E_FIELD,
		    "%s: expected an array of %" PRIu64 " to %" PRIu64 " objects, got %zu",
		    f->name, f->min, f->max, count);
	rc = reserve_array(d, i, _Alignof(max_align_t), count * f->item->size + 1);
	if (rc < 0)
		return rc;
	ats_json_iter_init(&it, v->raw);
	for (k = 0; ats_json_next(&it, &key, &e); k++) {
		rc = decode_item(d, f->item, d->at[i] + k * f->item->size, e.raw);
		if (rc < 0 && d->err != NULL)
			return ats_err_wrap(d->err, "%s[%zu]", f->name, k);
		if (rc < 0)
			return rc;
	}
	*(size_t *)member(d, f->has_offset) = count;
	return 0;
}

/* ---- decoding an object ------------------------------------------------------------- */
static int
decode_value(struct decoder *d, size_t i, const struct ats_json_val *v)
{
	const struct ats_field *f = &d->shape->fields[i];

	if (v->type == ATS_JSON_NULL && (d->flags & ATS_DECODE_NULL_ABSENT) != 0) {
		d->seen &= ~(UINT32_C(1) << i);
		return 0;
	}
	switch (f->type) {
	case ATS_FIELD_U64:
		return decode_u64(d, f, v);
	case ATS_FIELD_BOOL:
		return decode_bool(d, f, v);
	case ATS_FIELD_STR:
		return decode_str(d, i, v);
	case ATS_FIELD_ENUM:
		return decode_enum(d, i, v);
	case ATS_FIELD_RAW:
		return decode_raw(d, f, v);
	case ATS_FIELD_STRV:
		return decode_strv(d, i, v);
	case ATS_FIELD_ITEMS:
		return decode_items(d, i, v);
	}
	return -ATS_E_FIELD;
}

/* The field of a key, or nfields. hint: our own encoder writes in the table's order. */
static size_t
field_find(const struct ats_shape *s, struct ats_slice key, size_t hint)
{
	const struct ats_field *f;
	size_t i, k;

	for (k = 0; k < s->nfields; k++) {
		i = hint + k < s->nfields ? hint + k : hint + k - s->nfields;
		f = &s->fields[i];
		if (f->name_len == key.n && memcmp(f->name, key.p, key.n) == 0)
			return i;
	}
	if (memchr(key.p, '\\', key.n) == NULL)
		return s->nfields;
	for (i = 0; i < s->nfields; i++) {	/* an escaped spelling is the same key */
		if (ats_json_key_is(key, s->fields[i].name))
			return i;
	}
	return s->nfields;
}

static void
relocate_items(const struct ats_shape *item, char *base, char *p, size_t count)
{
	const struct ats_field *f;
	const char *text;
	size_t i, k, offset;

	for (k = 0; k < count; k++, p += item->size) {
		for (i = 0; i < item->nfields; i++) {
			f = &item->fields[i];
			if (f->type != ATS_FIELD_STR && f->type != ATS_FIELD_ENUM)
				continue;
			memcpy(&offset, p + f->offset, sizeof(offset));
			text = offset == 0 ? NULL : base + offset;
			memcpy(p + f->offset, &text, sizeof(text));
		}
	}
}

/* The arena stands still now: offsets become pointers. */
static void
relocate(struct decoder *d)
{
	const struct ats_field *f;
	char *base = d->arena->data;
	const char **v;
	size_t i, k, offset, count;

	for (i = 0; i < d->shape->nfields; i++) {
		f = &d->shape->fields[i];
		if ((d->seen & (UINT32_C(1) << i)) == 0)
			continue;
		if (f->type == ATS_FIELD_STR || f->type == ATS_FIELD_ENUM) {
			*(const char **)member(d, f->offset) = base + d->at[i];
		} else if (f->type == ATS_FIELD_STRV) {
			v = (const char **)(void *)(base + d->at[i]);
			count = *(size_t *)member(d, f->has_offset);
			for (k = 0; k < count; k++) {
				memcpy(&offset, &v[k], sizeof(offset));
				v[k] = base + offset;
			}
			*(const char ***)member(d, f->offset) = v;
		} else if (f->type == ATS_FIELD_ITEMS) {
			count = *(size_t *)member(d, f->has_offset);
			relocate_items(f->item, base, base + d->at[i], count);
			*(void **)member(d, f->offset) = base + d->at[i];
		}
	}
}

static int
decode_members(struct decoder *d, const char *json, size_t n)
{
	struct ats_slice whole = { .p = json, .n = n }, key;
	struct ats_json_iter it;
	struct ats_json_val v;
	size_t i, hint = 0;
	int rc;

	ats_json_iter_init(&it, whole);
	if (!it.in_object)
		return ats_err_set(d->err, ATS_E_FIELD, "%s: expected an object", d->shape->name);
	while (ats_json_next(&it, &key, &v)) {
		i = field_find(d->shape, key, hint);
		if (i == d->shape->nfields) {
			if ((d->flags & ATS_DECODE_SKIP_UNKNOWN) != 0)
				continue;
			return ats_msg_unknown(d->shape, key, d->err);
		}
		if ((d->seen & (UINT32_C(1) << i)) != 0)
			return ats_err_set(d->err, ATS_E_FIELD, "%s: given twice",
			    d->shape->fields[i].name);
		d->seen |= UINT32_C(1) << i;
		rc = decode_value(d, i, &v);
		if (rc < 0)
			return rc;
		hint = i + 1 < d->shape->nfields ? i + 1 : 0;
	}
	for (i = 0; i < d->shape->nfields; i++) {
		if (d->shape->fields[i].required && (d->seen & (UINT32_C(1) << i)) == 0)
			return ats_err_set(d->err, ATS_E_FIELD, "%s: is required",
			    d->shape->fields[i].name);
	}
	return 0;
}

/* Decoded aside: the arena, where it belongs, may move meanwhile. */
static int
decode_item(struct decoder *d, const struct ats_shape *item, size_t at, struct ats_slice raw)
{
	max_align_t one[ITEM_MAX / sizeof(max_align_t)];
	struct decoder sub = { .shape = item, .flags = d->flags, .arena = d->arena,
		.err = d->err, .is_item = true, .ret = (unsigned char *)one };
	size_t i;
	int rc;

	ATS_BUG(item->size > sizeof(one));
	memset(one, 0, sizeof(one));
	rc = decode_members(&sub, raw.p, raw.n);
	for (i = 0; rc == 0 && i < item->nfields; i++) {
		if ((sub.seen & (UINT32_C(1) << i)) != 0 &&
		    (item->fields[i].type == ATS_FIELD_STR ||
		        item->fields[i].type == ATS_FIELD_ENUM))
			memcpy(sub.ret + item->fields[i].offset, &sub.at[i], sizeof(sub.at[i]));
	}
	if (rc == 0)
		memcpy(d->arena->data + at, one, item->size);
	return rc;
}

int
ats_msg_decode(const struct ats_shape *shape, const char *json, size_t n, unsigned flags,
    void *ret, struct ats_buf *arena, struct ats_err *err)
{
	struct decoder d = { .shape = shape, .flags = flags, .ret = ret, .arena = arena,
		.err = err };
	int rc;

	if ((flags & ATS_DECODE_SCANNED) == 0) {
		rc = ats_json_scan(json, n, err);
		if (rc < 0)
			return rc;
	}
	memset(ret, 0, shape->size);
	ats_buf_reset(arena);
	rc = decode_members(&d, json, n);
	if (rc == 0)
		relocate(&d);
	return rc;
}
