/* SPDX-License-Identifier: Apache-2.0
 *
 * Specs of the host's tools. Linked into ats-hands and atsctl; the text is brain's, or of a file
 * that programs in the sandbox may have written. */
#include "proto/specs.h"

#include <stdlib.h>
#include <string.h>

#include "common/fault.h"

/* The whole text without the white space between its parts: what is cut out of it later goes into
 * lines. The text is scanned. */
static char *
squeeze(const char *s, size_t n)
{
	char *to = ats_malloc(n + 1), *p = to;
	bool in_string = false;

	for (size_t i = 0; to != NULL && i < n; i++) {
		if (in_string && s[i] == '\\')
			*p++ = s[i++];	/* what it escapes is there: the text is whole */
		else if (s[i] == '"')
			in_string = !in_string;
		else if (!in_string && memchr(" \t\r\n", s[i], 4) != NULL)
			continue;
		*p++ = s[i];
	}
	if (to != NULL)
		*p = '\0';
	return to;
}

static int
read_name(const struct ats_json_val *v, char name[ATS_SPECS_NAME + 1])
{
	ATS_CLEANUP_BUF struct ats_buf b = { 0 };
	int rc;

	ats_buf_init(&b, ATS_SPECS_NAME);
	rc = ats_json_to_str(v, &b);
	if (rc < 0 || b.len == 0)
		return rc == -ATS_E_NOMEM ? rc : -ATS_E_FIELD;
	memcpy(name, b.data, b.len + 1);
	return 0;
}

static int
read_timeout(const struct ats_json_val *v, uint64_t *ret_ms)
{
	uint64_t ms;

	if (ats_json_to_u64(v, &ms) < 0 || ms > ATS_SPECS_TIMEOUT_MS)
		return -ATS_E_FIELD;
	*ret_ms = ms;
	return 0;
}

static int
take_raw(const struct ats_json_val *v, enum ats_json_type type, struct ats_slice *ret)
{
	if (v->type != type)
		return -ATS_E_FIELD;
	*ret = v->raw;
	return 0;
}

static int
read_member(struct ats_slice key, const struct ats_json_val *v, struct ats_spec *s)
{
	struct ats_slice other;	/* of two spellings the first one counts */

	if (ats_json_key_is(key, "name"))
		return read_name(v, s->name);
	if (v->type == ATS_JSON_NULL)
		return 0;	/* as if it were not there */
	if (ats_json_key_is(key, "description"))
		return take_raw(v, ATS_JSON_STRING, &s->description);
	if (ats_json_key_is(key, "inputSchema"))
		return take_raw(v, ATS_JSON_OBJECT, &s->schema);
	if (ats_json_key_is(key, "input_schema"))
		return take_raw(v, ATS_JSON_OBJECT, s->schema.p == NULL ? &s->schema : &other);
	if (ats_json_key_is(key, "timeoutMs"))
		return read_timeout(v, &s->timeout_ms);
	if (ats_json_key_is(key, "kind")) {
		if (v->type != ATS_JSON_STRING)
			return -ATS_E_FIELD;
		s->client = v->raw.n == 8 && memcmp(v->raw.p, "\"client\"", 8) == 0;
	}
	return 0;
}

static int
read_one(const struct ats_json_val *v, size_t number, struct ats_specs *all, struct ats_err *err)
{
	struct ats_spec s = { .name = "" };
	struct ats_json_iter it;
	struct ats_json_val m;
	struct ats_slice key;
	int rc = 0;

	if (v->type != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_FIELD, "tool %zu is not an object", number);
	ats_json_iter_init(&it, v->raw);
	while (rc == 0 && ats_json_next(&it, &key, &m))
		rc = read_member(key, &m, &s);
	if (rc == -ATS_E_NOMEM)
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(rc));
	if (rc < 0)
		return ats_err_set(err, ATS_E_FIELD, "tool %zu: name, description, inputSchema, "
		    "kind or timeoutMs has the wrong type, or is too long or too large", number);
	if (s.name[0] == '\0')
		return ats_err_set(err, ATS_E_FIELD, "tool %zu has no name", number);
	if (ats_specs_find(all, s.name) != NULL)
		return ats_err_set(err, ATS_E_FIELD, "tool %zu has the name of an earlier one",
		    number);
	all->v[all->n++] = s;
	return 0;
}

static int
count(struct ats_slice array, size_t *ret)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	size_t n = 0;

	ats_json_iter_init(&it, array);
	while (ats_json_next(&it, &key, &v))
		if (++n > ATS_SPECS_MAX)
			return -ATS_E_TOOBIG;
	*ret = n;
	return 0;
}

int
ats_specs_read(const char *text, size_t n, struct ats_specs *ret, struct ats_err *err)
{
	struct ats_specs all = { .n = 0 };
	struct ats_slice array;
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	size_t tools = 0, number = 0;
	int rc;

	if (n > ATS_SPECS_BYTES)
		return ats_err_set(err, ATS_E_TOOBIG, "longer than %u bytes", ATS_SPECS_BYTES);
	rc = ats_json_scan(text, n, NULL);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s", ats_err_text(rc));
	if (ats_json_type((struct ats_slice){ text, n }) != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "not a JSON array of tools");
	all.text = squeeze(text, n);
	if (all.text == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	array = (struct ats_slice){ all.text, strlen(all.text) };
	rc = count(array, &tools);
	if (rc < 0)
		rc = ats_err_set(err, ATS_E_TOOBIG, "more than %d tools", ATS_SPECS_MAX);
	if (rc == 0 && (all.v = ats_calloc(tools + 1, sizeof(*all.v))) == NULL)
		rc = ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	ats_json_iter_init(&it, array);
	while (rc == 0 && ats_json_next(&it, &key, &v))
		rc = read_one(&v, ++number, &all, err);
	if (rc < 0)
		ats_specs_done(&all);
	else
		*ret = all;
	return rc;
}

void
ats_specs_done(struct ats_specs *s)
{
	free(s->v);
	free(s->text);
	*s = (struct ats_specs){ .n = 0 };
}

const struct ats_spec *
ats_specs_find(const struct ats_specs *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].name, name) == 0)
			return &s->v[i];
	return NULL;
}

static void
write_one(struct ats_json_w *w, const struct ats_spec *s)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "name", s->name);
	if (s->description.p != NULL)
		ats_json_w_raw(w, "description", s->description.p, s->description.n);
	if (s->schema.p != NULL)
		ats_json_w_raw(w, "inputSchema", s->schema.p, s->schema.n);
	ats_json_w_str(w, "kind", s->client ? "client" : "callback");
	if (s->timeout_ms != 0)
		ats_json_w_u64(w, "timeoutMs", s->timeout_ms);
	ats_json_w_end(w);
}

int
ats_specs_write(struct ats_buf *out, const struct ats_specs *s)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_array(&w, NULL);
	for (size_t i = 0; i < s->n; i++)
		write_one(&w, &s->v[i]);
	ats_json_w_end(&w);
	return w.rc;
}

static bool
same(struct ats_slice a, struct ats_slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool
ats_specs_equal(const struct ats_specs *a, const struct ats_specs *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct ats_spec *x = &a->v[i], *y = &b->v[i];

		if (strcmp(x->name, y->name) != 0 || !same(x->description, y->description) ||
		    !same(x->schema, y->schema) || x->timeout_ms != y->timeout_ms ||
		    x->client != y->client)
			return false;
	}
	return true;
}
