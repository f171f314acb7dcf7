/* SPDX-License-Identifier: Apache-2.0
 *
 * From a call's arguments to the parts of a request. Runs in ats-gateway; the arguments are
 * anybody's, and nothing of them may change what the template says of the rest. */
#include "brain/gateway/encode.h"

#include <string.h>
#include <strings.h>

#define VALUE_MAX (1u << 20)

int
encode_percent(struct ats_buf *out, const char *s, size_t n, unsigned how)
{
	const char *digits = (how & ENCODE_LOWER) != 0 ? "0123456789abcdef" : "0123456789ABCDEF";
	static const char plain[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c != '\0' && strchr(plain, c) != NULL)
			rc = ats_buf_add_char(out, (char)c);
		else if (c == ' ' && (how & ENCODE_FORM) != 0)
			rc = ats_buf_add_char(out, '+');
		else
			rc = ats_buf_add(out, (char[]){ '%', digits[c >> 4], digits[c & 15] }, 3);
	}
	return rc;
}

int
encode_value(struct ats_buf *out, const char *name, const struct ats_json_val *v,
    struct ats_err *err)
{
	int rc;

	if (v->type == ATS_JSON_NUMBER || v->type == ATS_JSON_BOOL)
		rc = ats_buf_add(out, v->raw.p, v->raw.n);
	else if (v->type != ATS_JSON_STRING)
		return ats_err_set(err, ATS_E_INVAL,
		    "%.100s: must be a string, a number, true or false", name);
	else
		rc = ats_json_to_str(v, out);
	if (rc == -ATS_E_FIELD)
		return ats_err_set(err, ATS_E_INVAL, "%.100s: must not hold a NUL character", name);
	return rc < 0 ? ats_err_set(err, -rc, "%.100s: %s", name, ats_err_text(rc)) : 0;
}

static bool
get(struct ats_slice args, const char *name, struct ats_json_val *ret)
{
	return ats_json_get(args, name, ret) && ret->type != ATS_JSON_NULL;
}

/* ---- path -------------------------------------------------------------------------------- */
static int
check_segment_value(const char *name, const struct ats_buf *v, struct ats_err *err)
{
	if (v->len == 0)
		return ats_err_set(err, ATS_E_INVAL, "%.100s: must not be empty", name);
	for (size_t i = 0; i < v->len; i++) {
		unsigned char c = (unsigned char)v->data[i];

		if (c == '/' || c == '\\' || c < 0x20 || c == 0x7f)
			return ats_err_set(err, ATS_E_INVAL,
			    "%.100s: must not hold a slash, a backslash or a control "
			    "character",
			    name);
	}
	return 0;
}

/* What the parts of a segment make together: servers and proxies take these away. */
static bool
has_dots(const char *path)
{
	for (size_t n; *path != '\0'; path += n) {
		char seg[8];
		size_t len = 0, i = 0;

		path += *path == '/';
		n = strcspn(path, "/");
		while (i < n && len < 3) {
			bool coded = n - i >= 3 && strncasecmp(path + i, "%2e", 3) == 0;

			seg[len++] = coded ? '.' : path[i];
			i += coded ? 3 : 1;
		}
		if (i == n && (len == 1 || len == 2) && strspn(seg, ".") >= len)
			return true;
	}
	return false;
}

static int
add_path_arg(struct ats_buf *out, const char *name, struct ats_slice args, struct ats_err *err)
{
	struct ats_buf v ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val j;
	int rc;

	ats_buf_init(&v, VALUE_MAX);
	if (!get(args, name, &j))
		return ats_err_set(err, ATS_E_INVAL, "%.100s: is required", name);
	rc = encode_value(&v, name, &j, err);
	if (rc == 0)
		rc = check_segment_value(name, &v, err);
	return rc < 0 ? rc : encode_percent(out, v.data, v.len, 0);
}

int
encode_path(struct ats_buf *out, const struct ats_gw_template *t, struct ats_slice args,
    struct ats_err *err)
{
	size_t from = out->len;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++)
		rc = t->v[i].is_arg ? add_path_arg(out, t->v[i].text, args, err) :
		    ats_buf_add_str(out, t->v[i].text);
	if (rc == 0 && has_dots(out->data + from))
		return ats_err_set(err, ATS_E_INVAL,
		    "the arguments make a part of the path . or .., which is refused");
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_TOOBIG, "the arguments make the address too long");
	return rc;
}

/* ---- query and body ---------------------------------------------------------------------- */
static int
fill(struct ats_buf *v, const struct ats_gw_template *t, struct ats_slice args, bool *ret_whole,
    struct ats_err *err)
{
	struct ats_json_val j;
	int rc = 0;

	*ret_whole = true;
	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		if (!t->v[i].is_arg)
			rc = ats_buf_add_str(v, t->v[i].text);
		else if (get(args, t->v[i].text, &j))
			rc = encode_value(v, t->v[i].text, &j, err);
		else
			*ret_whole = false;
	}
	return rc;
}

static int
add_pair(struct ats_buf *out, size_t from, const char *name, size_t name_len,
    const struct ats_buf *v, unsigned how)
{
	int rc = out->len > from ? ats_buf_add_char(out, '&') : 0;

	if (rc == 0)
		rc = encode_percent(out, name, name_len, how);
	if (rc == 0)
		rc = ats_buf_add_char(out, '=');
	return rc < 0 ? rc : encode_percent(out, v->data, v->len, how);
}

int
encode_query(struct ats_buf *out, const struct ats_gw_tool *t, struct ats_slice args,
    struct ats_err *err)
{
	size_t from = out->len;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->nquery; i++) {
		struct ats_buf v ATS_CLEANUP_BUF = { 0 };
		bool whole;

		ats_buf_init(&v, VALUE_MAX);
		rc = fill(&v, &t->query[i].value, args, &whole, err);
		if (rc == 0 && whole)
			rc = add_pair(out, from, t->query[i].name, strlen(t->query[i].name), &v, 0);
	}
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_TOOBIG, "the arguments make the address too long");
	return rc;
}

static int
add_form_arg(struct ats_buf *out, size_t from, struct ats_slice key, const struct ats_json_val *j,
    struct ats_err *err)
{
	struct ats_json_val k = { .type = ATS_JSON_STRING, .raw = { key.p - 1, key.n + 2 } };
	struct ats_buf name ATS_CLEANUP_BUF = { 0 }, v ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&name, VALUE_MAX);
	ats_buf_init(&v, VALUE_MAX);
	rc = encode_value(&name, "a name", &k, err);
	if (rc == 0)
		rc = encode_value(&v, name.data, j, err);
	return rc < 0 ? rc : add_pair(out, from, name.data, name.len, &v, ENCODE_FORM);
}

int
encode_rest(struct ats_buf *out, const struct ats_gw_tool *t, struct ats_slice args, bool form,
    struct ats_err *err)
{
	size_t from = out->len, n = 0;
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	int rc = form ? 0 : ats_buf_add_char(out, '{');

	ats_json_iter_init(&it, args);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		if (ats_gw_target_takes_arg(t, key))
			continue;
		if (form && v.type == ATS_JSON_NULL)
			continue;
		if (form) {
			rc = add_form_arg(out, from, key, &v, err);
			continue;
		}
		rc = n++ > 0 ? ats_buf_add_char(out, ',') : 0;
		if (rc == 0)		/* with its quotes */
			rc = ats_buf_add(out, key.p - 1, key.n + 2);
		if (rc == 0)
			rc = ats_buf_add_char(out, ':');
		if (rc == 0)
			rc = ats_buf_add(out, v.raw.p, v.raw.n);
	}
	return rc < 0 || form ? rc : ats_buf_add_char(out, '}');
}
