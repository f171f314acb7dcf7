/* SPDX-License-Identifier: Apache-2.0
 *
 * The encoder from the structs of the .def tables to JSON. Runs in every process that speaks
 * on a link. What it writes is our own, but strings in it may be a peer's. */
#include "proto/msg.h"

#include <string.h>

static int
unfit(const struct ats_field *f, struct ats_err *err)
{
	return ats_err_set(err, ATS_E_FIELD, "%s: missing or out of range", f->name);
}

static int
encode_strv(const struct ats_field *f, const void *p, size_t n, struct ats_json_w *w,
    struct ats_err *err)
{
	const char *const *v = *(const char *const *const *)p;
	size_t i, total = 0;

	if (v == NULL)
		return f->required ? unfit(f, err) : 0;
	ats_json_w_array(w, f->name);
	for (i = 0; i < n; i++) {
		total += strlen(v[i]) + 1;
		if (total > f->max)
			return unfit(f, err);
		ats_json_w_str(w, NULL, v[i]);
	}
	ats_json_w_end(w);
	return 0;
}

static int
encode_str(const struct ats_field *f, const char *s, struct ats_json_w *w,
    struct ats_err *err)
{
	size_t n;

	if (s == NULL)
		return f->required ? unfit(f, err) : 0;
	n = strlen(s);
	if (f->type == ATS_FIELD_STR && (n > f->max || n < f->min))
		return unfit(f, err);
	ats_json_w_strn(w, f->name, s, n);
	return 0;
}

static int encode_members(const struct ats_shape *s, const void *msg, struct ats_json_w *w,
    struct ats_err *err);

static int
encode_items(const struct ats_field *f, const void *p, size_t n, struct ats_json_w *w,
    struct ats_err *err)
{
	const unsigned char *one = *(const unsigned char *const *)p;
	size_t i;
	int rc = 0;

	if (one == NULL)
		return f->required ? unfit(f, err) : 0;
	if (n < f->min || n > f->max)
		return unfit(f, err);
	ats_json_w_array(w, f->name);
	for (i = 0; i < n && rc == 0; i++, one += f->item->size) {
		ats_json_w_object(w, NULL);
		rc = encode_members(f->item, one, w, err);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
	return rc;
}

static int
encode_field(const struct ats_field *f, const unsigned char *msg, struct ats_json_w *w,
    struct ats_err *err)
{
	const void *p = msg + f->offset;
	struct ats_slice raw;
	uint64_t u;
	size_t n;

	switch (f->type) {
	case ATS_FIELD_U64:
		u = *(const uint64_t *)p;
		if (!f->required && !*(const bool *)(msg + f->has_offset))
			return 0;
		if (u < f->min || u > f->max)
			return unfit(f, err);
		ats_json_w_u64(w, f->name, u);
		return 0;
	case ATS_FIELD_BOOL:
		if (f->required || *(const bool *)(msg + f->has_offset))
			ats_json_w_bool(w, f->name, *(const bool *)p);
		return 0;
	case ATS_FIELD_STR:
	case ATS_FIELD_ENUM:
		return encode_str(f, *(const char *const *)p, w, err);
	case ATS_FIELD_RAW:
		raw = *(const struct ats_slice *)p;
		if (raw.p == NULL)
			return f->required ? unfit(f, err) : 0;
		if (raw.n > f->max)
			return unfit(f, err);
		ats_json_w_raw(w, f->name, raw.p, raw.n);
		return 0;
	case ATS_FIELD_STRV:
		n = *(const size_t *)(const void *)(msg + f->has_offset);
		return encode_strv(f, p, n, w, err);
	case ATS_FIELD_ITEMS:
		n = *(const size_t *)(const void *)(msg + f->has_offset);
		return encode_items(f, p, n, w, err);
	}
	return -ATS_E_FIELD;
}

static int
encode_members(const struct ats_shape *s, const void *msg, struct ats_json_w *w,
    struct ats_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < s->nfields && rc == 0; i++)
		rc = encode_field(&s->fields[i], msg, w, err);
	return rc;
}

int
ats_msg_encode(const struct ats_shape *shape, const void *msg, struct ats_buf *out,
    struct ats_err *err)
{
	size_t before = out->len;
	struct ats_json_w w;
	int rc;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	rc = encode_members(shape, msg, &w, err);
	ats_json_w_end(&w);
	if (rc == 0 && w.rc < 0)
		rc = ats_err_set(err, -w.rc, "%s: %s", shape->name, ats_err_text(w.rc));
	if (rc < 0)
		ats_buf_truncate(out, before);
	return rc;
}
