/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration against a table of rows. Runs in ats-brain before it has children, and in
 * atsctl config check; the user's own file is the input. Nothing in a file is ignored:
 * what is not in the table is an error. */
#include "common/conf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "common/json.h"

#define KEY_MAX 128

struct conf {
	const struct ats_conf_row *rows;
	size_t nrows;
	char *out;
	const char *name;
	struct ats_err *err;
};

static struct ats_conf_strv *
strv_at(char *out, const struct ats_conf_row *r)
{
	return (struct ats_conf_strv *)(void *)(out + r->offset);
}

static char **
str_at(char *out, const struct ats_conf_row *r)
{
	return (char **)(void *)(out + r->offset);
}

static void
strv_done(struct ats_conf_strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i]);
	memset(v, 0, sizeof(*v));
}

static struct ats_conf_argvs *
argvs_at(char *out, const struct ats_conf_row *r)
{
	return (struct ats_conf_argvs *)(void *)(out + r->offset);
}

static void
argvs_done(struct ats_conf_argvs *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].name);
		strv_done(&a->v[i].argv);
	}
	memset(a, 0, sizeof(*a));
}

void
ats_conf_done(const struct ats_conf_row *rows, size_t nrows, void *out)
{
	for (size_t i = 0; i < nrows; i++) {
		if (rows[i].type == ATS_CONF_STR || rows[i].type == ATS_CONF_JSON) {
			free(*str_at(out, &rows[i]));
			*str_at(out, &rows[i]) = NULL;
		} else if (rows[i].type == ATS_CONF_STRV ||
			   rows[i].type == ATS_CONF_ENV) {
			strv_done(strv_at(out, &rows[i]));
		} else if (rows[i].type == ATS_CONF_ARGVS) {
			argvs_done(argvs_at(out, &rows[i]));
		}
	}
}

/* Pointers first, so that a failure half-way can be undone by ats_conf_done. */
static int
set_defaults(struct conf *c)
{
	for (size_t i = 0; i < c->nrows; i++) {
		const struct ats_conf_row *r = &c->rows[i];

		if (r->type == ATS_CONF_U64)
			memcpy(c->out + r->offset, &r->def, sizeof(uint64_t));
		else if (r->type == ATS_CONF_BOOL)
			*(bool *)(c->out + r->offset) = r->def != 0;
		else if (r->type == ATS_CONF_STR || r->type == ATS_CONF_JSON)
			*str_at(c->out, r) = NULL;
		else if (r->type == ATS_CONF_ARGVS)
			memset(argvs_at(c->out, r), 0, sizeof(struct ats_conf_argvs));
		else
			memset(strv_at(c->out, r), 0, sizeof(struct ats_conf_strv));
	}
	for (size_t i = 0; i < c->nrows; i++) {
		const struct ats_conf_row *r = &c->rows[i];

		if (r->type != ATS_CONF_STR || r->def_str == NULL)
			continue;
		*str_at(c->out, r) = ats_strdup(r->def_str);
		if (*str_at(c->out, r) == NULL)
			return ats_err_set(c->err, ATS_E_NOMEM, "out of memory");
	}
	return 0;
}

static int
wrong(struct conf *c, const struct ats_conf_row *r, const char *want)
{
	return ats_err_set(c->err, ATS_E_CONFIG, "%s: \"%s\" must be %s (%s)", c->name,
	    r->key, want, r->doc);
}

static int
set_u64(struct conf *c, const struct ats_conf_row *r, const struct ats_json_val *v)
{
	uint64_t n;

	if (ats_json_to_u64(v, &n) < 0 || n < r->min || n > r->max)
		return ats_err_set(c->err, ATS_E_CONFIG,
		    "%s: \"%s\" must be a whole number from %" PRIu64 " to %" PRIu64
		    " (%s)",
		    c->name, r->key, r->min, r->max, r->doc);
	memcpy(c->out + r->offset, &n, sizeof(n));
	return 0;
}

static int
set_str(struct conf *c, const struct ats_conf_row *r, const struct ats_json_val *v)
{
	char *s = ats_json_dup_str(v);

	if (s == NULL)
		return wrong(c, r, "a string without NUL");
	free(*str_at(c->out, r));
	*str_at(c->out, r) = s;
	return 0;
}

/* "K=V" (returns owned) or NULL when key or value do not fit an environment. */
static char *
env_entry(struct ats_slice key, const struct ats_json_val *v)
{
	char *name = ats_json_dup_key(key), *value = ats_json_dup_str(v), *s = NULL;
	size_t n, m;

	if (name != NULL && value != NULL && name[0] != '\0' &&
	    strchr(name, '=') == NULL) {
		n = strlen(name);
		m = strlen(value);
		s = ats_malloc(n + m + 2);
		if (s != NULL) {
			memcpy(s, name, n);
			s[n] = '=';
			memcpy(s + n + 1, value, m + 1);
		}
	}
	free(name);
	free(value);
	return s;
}

/* Names the entry: key of an object, or the number of an array's. */
static int
wrong_entry(struct conf *c, const struct ats_conf_row *r, struct ats_slice key, size_t at,
    const struct ats_json_val *e)
{
	int n = (int)(key.n < 100 ? key.n : 100), m = (int)(e->raw.n < 100 ? e->raw.n : 100);

	if (r->type != ATS_CONF_ENV)
		return ats_err_set(c->err, ATS_E_CONFIG,
		    "%s: \"%s\" must be an array of strings without NUL: entry %zu is %.*s",
		    c->name, r->key, at + 1, m, e->raw.p);
	if (key.n == 0 || memchr(key.p, '=', key.n) != NULL)
		return ats_err_set(c->err, ATS_E_CONFIG,
		    "%s: \"%s\": \"%.*s\" names no variable: it is empty, or has a '='",
		    c->name, r->key, n, key.p);
	return ats_err_set(c->err, ATS_E_CONFIG,
	    "%s: \"%s\": the value of \"%.*s\" must be a string, and no NUL be in either",
	    c->name, r->key, n, key.p);
}

static int
set_strv(struct conf *c, const struct ats_conf_row *r, const struct ats_json_val *v)
{
	bool env = r->type == ATS_CONF_ENV;
	const char *want = env ? "an object of strings" : "an array of strings";
	struct ats_conf_strv *to = strv_at(c->out, r);
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;

	if (v->type != (env ? ATS_JSON_OBJECT : ATS_JSON_ARRAY))
		return wrong(c, r, want);
	strv_done(to);
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &key, &e)) {
		if (to->n >= ATS_CONF_STRV_MAX)
			return ats_err_set(c->err, ATS_E_CONFIG,
			    "%s: \"%s\": at most %d entries", c->name, r->key,
			    ATS_CONF_STRV_MAX);
		to->v[to->n] = env ? env_entry(key, &e) : ats_json_dup_str(&e);
		if (to->v[to->n] == NULL)
			return wrong_entry(c, r, key, to->n, &e);
		to->n++;
	}
	return 0;
}

static int
set_argv(struct conf *c, const struct ats_conf_row *r, struct ats_conf_argv *to,
    const struct ats_json_val *v)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;

	if (v->type != ATS_JSON_ARRAY)
		return ats_err_set(c->err, ATS_E_CONFIG,
		    "%s: \"%s.%s\" must be an array of strings", c->name, r->key, to->name);
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &key, &e)) {
		char *s = to->argv.n < ATS_CONF_STRV_MAX ? ats_json_dup_str(&e) : NULL;

		if (s == NULL)
			return ats_err_set(c->err, ATS_E_CONFIG,
			    "%s: \"%s.%s\" must be at most %d strings without NUL: entry %zu",
			    c->name, r->key, to->name, ATS_CONF_STRV_MAX, to->argv.n + 1);
		to->argv.v[to->argv.n++] = s;
	}
	return to->argv.n > 0 ? 0 : ats_err_set(c->err, ATS_E_CONFIG,
	    "%s: \"%s.%s\" is empty", c->name, r->key, to->name);
}

static int
set_argvs(struct conf *c, const struct ats_conf_row *r, const struct ats_json_val *v)
{
	struct ats_conf_argvs *to = argvs_at(c->out, r);
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;
	int rc = 0;

	if (v->type != ATS_JSON_OBJECT)
		return wrong(c, r, "an object of arrays of strings");
	argvs_done(to);
	ats_json_iter_init(&it, v->raw);
	while (rc == 0 && ats_json_next(&it, &key, &e)) {
		if (to->n >= ATS_CONF_ARGVS_MAX)
			return ats_err_set(c->err, ATS_E_CONFIG,
			    "%s: \"%s\": at most %d entries", c->name, r->key,
			    ATS_CONF_ARGVS_MAX);
		to->v[to->n].name = ats_json_dup_key(key);
		if (to->v[to->n].name == NULL)
			return wrong(c, r, "an object whose names have no NUL");
		rc = set_argv(c, r, &to->v[to->n++], &e);
	}
	return rc;
}

static int
set_json(struct conf *c, const struct ats_conf_row *r, const struct ats_json_val *v)
{
	size_t n = 0;
	bool quoted = false;
	char *s;

	if (v->type != ATS_JSON_OBJECT)
		return wrong(c, r, "an object");
	s = ats_malloc(v->raw.n + 1);
	if (s == NULL)
		return ats_err_set(c->err, ATS_E_NOMEM, "out of memory");
	for (size_t i = 0; i < v->raw.n; i++) {
		char b = v->raw.p[i];

		if (!quoted && strchr(" \t\r\n", b) != NULL)
			continue;
		s[n++] = b;
		if (b == '\\' && i + 1 < v->raw.n)
			s[n++] = v->raw.p[++i];	/* only in strings */
		else if (b == '"')
			quoted = !quoted;
	}
	s[n] = '\0';
	free(*str_at(c->out, r));
	*str_at(c->out, r) = s;
	return 0;
}

static int
set_row(struct conf *c, const struct ats_conf_row *r, const struct ats_json_val *v)
{
	switch (r->type) {
	case ATS_CONF_U64:
		return set_u64(c, r, v);
	case ATS_CONF_BOOL:
		if (v->type != ATS_JSON_BOOL)
			return wrong(c, r, "true or false");
		*(bool *)(c->out + r->offset) = v->b;
		return 0;
	case ATS_CONF_STR:
		return set_str(c, r, v);
	case ATS_CONF_ARGVS:
		return set_argvs(c, r, v);
	case ATS_CONF_JSON:
		return set_json(c, r, v);
	case ATS_CONF_STRV:
	case ATS_CONF_ENV:
	default:
		return set_strv(c, r, v);
	}
}

/* The row of key; *ret_section: whether rows lie below it. */
static const struct ats_conf_row *
find_row(const struct conf *c, const char *key, bool *ret_section)
{
	size_t n = strlen(key);

	*ret_section = false;
	for (size_t i = 0; i < c->nrows; i++) {
		const char *k = c->rows[i].key;

		if (strcmp(k, key) == 0)
			return &c->rows[i];
		if (strncmp(k, key, n) == 0 && k[n] == '.')
			*ret_section = true;
	}
	return NULL;
}

static int
unknown(struct conf *c, const char *prefix, const char *key)
{
	char known[300] = "";
	size_t len = 0, n = strlen(prefix);

	for (size_t i = 0; i < c->nrows; i++) {
		const char *k = c->rows[i].key;
		size_t kn = n, j = 0;

		if (strncmp(k, prefix, n) != 0)
			continue;
		kn += strcspn(k + n, ".");
		while (j < i && (k[kn] != '.' || strncmp(k, c->rows[j].key, kn + 1) != 0))
			j++;
		if (j < i || len + kn - n + 6 >= sizeof(known))
			continue;	/* a section is named once */
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%.*s",
		    len > 0 ? ", " : "", (int)(kn - n), k + n);
	}
	return ats_err_set(c->err, ATS_E_CONFIG,
	    "%s: unknown key \"%s\"; remove it or use one of: %s", c->name, key, known);
}

static int
read_object(struct conf *c, const char *prefix, struct ats_slice object)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	const struct ats_conf_row *r;
	char full[KEY_MAX], below[KEY_MAX + 1];
	bool section;
	int rc = 0;

	ats_json_iter_init(&it, object);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		(void)snprintf(full, sizeof(full), "%s%.*s", prefix,
		    (int)(key.n < KEY_MAX ? key.n : KEY_MAX), key.p);
		r = find_row(c, full, &section);
		if (r != NULL && memchr(key.p, '.', key.n) == NULL) {
			rc = set_row(c, r, &v);
		} else if (section && v.type == ATS_JSON_OBJECT) {
			(void)snprintf(below, sizeof(below), "%s.", full);
			rc = read_object(c, below, v.raw);
		} else if (section) {
			rc = ats_err_set(c->err, ATS_E_CONFIG,
			    "%s: \"%s\" must be an object", c->name, full);
		} else {
			rc = unknown(c, prefix, full);
		}
	}
	return rc;
}

/* "FILE: line L, column C: ..." of the reader's "... at byte N: why"; comments were blanked,
 * so its bytes are those of the file. */
static int
where(struct conf *c, int rc, const char *text, size_t len)
{
	char why[sizeof(c->err->text)] = "";
	size_t at = 0, line = 1, column = 1;

	if (c->err == NULL)
		return rc;
	if (sscanf(c->err->text, "%*[^0-9]%zu: %511[^\n]", &at, why) != 2) {
		(void)ats_err_wrap(c->err, "%s", c->name);
		return rc;
	}
	for (size_t i = 0; i < at && i < len; i++, column++) {
		if (text[i] == '\n') {
			line++;
			column = 0;
		}
	}
	return ats_err_set(c->err, -rc, "%s: line %zu, column %zu: not strict JSON: %s",
	    c->name, line, column, why);
}

static int
parse_text(struct conf *c, const char *text, size_t len)
{
	struct ats_json_val top;
	struct ats_buf b;
	int rc;

	ats_buf_init(&b, len);
	rc = ats_json_uncomment(&b, text, len);
	if (rc < 0) {
		rc = ats_err_set(
		    c->err, ATS_E_CONFIG, "%s: a comment does not end", c->name);
	} else {
		rc = ats_json_scan(b.data, b.len, c->err);
		if (rc < 0)
			rc = where(c, rc, text, len);
	}
	if (rc == 0) {
		top = ats_json_value((struct ats_slice){ b.data, b.len });
		if (top.type != ATS_JSON_OBJECT)
			rc = ats_err_set(
			    c->err, ATS_E_CONFIG, "%s: must be one JSON object", c->name);
		else
			rc = read_object(c, "", top.raw);
	}
	ats_buf_done(&b);
	return rc;
}

int
ats_conf_parse(const struct ats_conf_row *rows, size_t nrows, void *out, const char *name,
    const char *text, size_t len, struct ats_err *err)
{
	struct conf c = { rows, nrows, out, name, err };
	int rc = set_defaults(&c);

	if (rc == 0 && text != NULL)
		rc = parse_text(&c, text, len);
	if (rc < 0)
		ats_conf_done(rows, nrows, out);
	return rc;
}
