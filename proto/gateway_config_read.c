/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects against tables of keys, and the types of values. Runs in ats-brain at its start, in
 * ats-gateway, and where a file is checked; the user's own file is the input. */
#include "proto/gateway_config_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"

#define WORDS_MAX 256
#define MS_MIN 100
#define MS_MAX 3600000

int
ats_gw_wrong(const struct ats_gw_in *in, const char *key, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ats_err_set(in->err, ATS_E_CONFIG, "%s%s%.100s: %s", in->where,
	    key[0] != '\0' ? "." : "", key, text);
}

int
ats_gw_nomem(const struct ats_gw_in *in)
{
	return ats_err_set(in->err, ATS_E_NOMEM, "%s: out of memory", in->where);
}

static int
unknown(const struct ats_gw_in *in, const struct ats_gw_key *rows, size_t n, struct ats_slice key)
{
	char known[300] = "";
	size_t len = 0;

	for (size_t i = 0; i < n && len + strlen(rows[i].name) + 3 < sizeof(known); i++)
		if (in->kind == 0 || (rows[i].kinds & in->kind) != 0)
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
			    len > 0 ? ", " : "", rows[i].name);
	return ats_err_set(in->err, ATS_E_CONFIG,
	    "%s.%.*s: unknown key; remove it or use one of: %s", in->where,
	    (int)(key.n < 100 ? key.n : 100), key.p, known);
}

int
ats_gw_read(const struct ats_gw_in *in, const struct ats_gw_key *rows, size_t n,
    struct ats_slice object, void *base)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	int rc = 0;

	ats_json_iter_init(&it, object);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		const struct ats_gw_key *r = NULL;

		for (size_t i = 0; r == NULL && i < n; i++)
			if ((in->kind == 0 || (rows[i].kinds & in->kind) != 0) &&
			    ats_json_key_is(key, rows[i].name))
				r = &rows[i];
		rc = r == NULL ? unknown(in, rows, n, key) :
		    r->take == NULL ? 0 : r->take(in, r->name, &v, (char *)base + r->offset);
	}
	return rc;
}

static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

int
ats_gw_take_str(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	char *s = ats_json_dup_str(v), **at = to;

	if (s == NULL || s[0] == '\0' || has_control(s)) {
		free(s);
		return ats_gw_wrong(in, key, "must be a string, not empty and of one line");
	}
	free(*at);
	*at = s;
	return 0;
}

int
ats_gw_take_path(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	char **at = to;
	int rc = ats_gw_take_str(in, key, v, to);

	return rc < 0 || (*at)[0] == '/' ? rc :
	    ats_gw_wrong(in, key, "\"%.200s\" must be an absolute path", *at);
}

int
ats_gw_take_bool(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	if (v->type != ATS_JSON_BOOL)
		return ats_gw_wrong(in, key, "must be true or false");
	*(bool *)to = v->b;
	return 0;
}

int
ats_gw_take_ms(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	uint64_t n;

	if (ats_json_to_u64(v, &n) < 0 || n < MS_MIN || n > MS_MAX)
		return ats_gw_wrong(in, key, "must be a whole number of milliseconds from %d to %d",
		    MS_MIN, MS_MAX);
	memcpy(to, &n, sizeof(n));
	return 0;
}

void
ats_gw_words_done(struct ats_gw_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	memset(w, 0, sizeof(*w));
}

int
ats_gw_take_words(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct ats_gw_words *w = to;
	struct ats_json_iter it;
	struct ats_slice none;
	struct ats_json_val e;

	if (v->type != ATS_JSON_ARRAY)
		return ats_gw_wrong(in, key, "must be an array of strings");
	w->v = ats_calloc(WORDS_MAX + 1, sizeof(*w->v));
	if (w->v == NULL)
		return ats_gw_nomem(in);
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &none, &e)) {
		char *s = w->n < WORDS_MAX ? ats_json_dup_str(&e) : NULL;

		if (s == NULL)
			return ats_gw_wrong(in, key,
			    "must be at most %d strings without NUL: entry %zu", WORDS_MAX,
			    w->n + 1);
		w->v[w->n++] = s;
	}
	return 0;
}

int
ats_gw_take_argv(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	const struct ats_gw_words *w = to;
	int rc = ats_gw_take_words(in, key, v, to);

	if (rc == 0 && (w->n == 0 || w->v[0][0] != '/'))
		return ats_gw_wrong(in, key,
		    "must be a program's absolute path and its arguments; no shell reads them");
	return rc;
}

void
ats_gw_pairs_done(struct ats_gw_pairs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].name);
		free(p->v[i].value);
	}
	free(p->v);
	memset(p, 0, sizeof(*p));
}

int
ats_gw_take_pairs(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct ats_gw_pairs *p = to;
	struct ats_json_iter it;
	struct ats_slice name;
	struct ats_json_val e;

	if (v->type != ATS_JSON_OBJECT)
		return ats_gw_wrong(in, key, "must be an object of strings");
	p->v = ats_calloc(WORDS_MAX, sizeof(*p->v));
	if (p->v == NULL)
		return ats_gw_nomem(in);
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &name, &e)) {
		struct ats_gw_pair *at = &p->v[p->n];

		if (p->n >= WORDS_MAX)
			return ats_gw_wrong(in, key, "has more than %d members", WORDS_MAX);
		at->name = ats_json_dup_key(name);
		at->value = ats_json_dup_str(&e);
		p->n++;
		if (at->name == NULL || at->value == NULL)
			return ats_gw_wrong(in, key, "\"%.*s\" must be a string without NUL",
			    (int)(name.n < 100 ? name.n : 100), name.p);
	}
	return 0;
}
