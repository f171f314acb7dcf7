/* SPDX-License-Identifier: Apache-2.0
 *
 * Templates of a gateway's requests: text, and arguments of the call in braces. Runs in
 * ats-brain at its start and in ats-gateway; the user's own file is the input. */
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "proto/gateway_config_in.h"

#define PARTS_MAX 64
#define QUERY_MAX 64

void
ats_gw_template_done(struct ats_gw_template *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].text);
	free(t->v);
	memset(t, 0, sizeof(*t));
}

bool
ats_gw_template_has(const struct ats_gw_template *t, const char *arg)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].is_arg && strcmp(t->v[i].text, arg) == 0)
			return true;
	return false;
}

static bool
takes(const struct ats_gw_template *t, struct ats_slice key)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].is_arg && ats_json_key_is(key, t->v[i].text))
			return true;
	return false;
}

bool
ats_gw_target_takes_arg(const struct ats_gw_tool *t, struct ats_slice key)
{
	bool taken = takes(&t->path, key);

	for (size_t i = 0; !taken && i < t->nquery; i++)
		taken = takes(&t->query[i].value, key);
	return taken;
}

bool
ats_gw_takes_arg(const struct ats_gw_tool *t, struct ats_slice key)
{
	return t->body == ATS_GW_BODY_JSON || t->body == ATS_GW_BODY_FORM ||
	    ((t->body == ATS_GW_BODY_TEXT || t->body == ATS_GW_BODY_FILE) &&
		ats_json_key_is(key, t->body_arg)) ||
	    ats_gw_target_takes_arg(t, key);
}

static int
add_part(struct ats_gw_template *t, bool is_arg, const char *s, size_t n)
{
	char *text = ats_malloc(n + 1);

	if (text == NULL)
		return -ATS_E_NOMEM;
	memcpy(text, s, n);
	text[n] = '\0';
	t->v[t->n++] = (struct ats_gw_part){ is_arg, text };
	return 0;
}

static int
split(const struct ats_gw_in *in, const char *key, const char *s, struct ats_gw_template *t)
{
	while (*s != '\0') {
		bool is_arg = *s == '{';
		size_t n = strcspn(s + is_arg, "{}");

		if (t->n >= PARTS_MAX)
			return ats_gw_wrong(in, key, "has more than %d parts", PARTS_MAX);
		if (is_arg ? n == 0 || s[n + 1] != '}' : s[n] == '}')
			return ats_gw_wrong(in, key,
			    "each { needs an argument's name and a }, as in /items/{id}");
		if (add_part(t, is_arg, s + is_arg, n) < 0)
			return ats_gw_nomem(in);
		s += is_arg ? n + 2 : n;
	}
	return 0;
}

int
ats_gw_take_template(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct ats_gw_template *t = to;
	char *s = NULL;
	int rc = ats_gw_take_str(in, key, v, &s);

	if (rc < 0)
		return rc;
	t->v = ats_calloc(PARTS_MAX, sizeof(*t->v));
	rc = t->v == NULL ? ats_gw_nomem(in) : split(in, key, s, t);
	free(s);
	return rc;
}

int
ats_gw_take_query(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct ats_gw_tool *tool = to;
	struct ats_json_iter it;
	struct ats_slice name;
	struct ats_json_val e;
	int rc = 0;

	if (v->type != ATS_JSON_OBJECT)
		return ats_gw_wrong(in, key, "must be an object, as in {\"q\": \"{words}\"}");
	tool->query = ats_calloc(QUERY_MAX, sizeof(*tool->query));
	if (tool->query == NULL)
		return ats_gw_nomem(in);
	ats_json_iter_init(&it, v->raw);
	while (rc == 0 && ats_json_next(&it, &name, &e)) {
		struct ats_gw_query *q = &tool->query[tool->nquery];

		if (tool->nquery >= QUERY_MAX)
			return ats_gw_wrong(in, key, "has more than %d members", QUERY_MAX);
		tool->nquery++;
		q->name = ats_json_dup_key(name);
		if (q->name == NULL || q->name[0] == '\0')
			return ats_gw_wrong(in, key, "a parameter's name is empty or holds a NUL");
		rc = ats_gw_take_template(in, key, &e, &q->value);
	}
	return rc;
}

/* RFC 3986 pchar and '/', as text: percent-encoded bytes only in pairs. */
static bool
is_path_text(const char *s)
{
	static const char hex[] = "0123456789ABCDEFabcdef";
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~!$&'()*+,;=:@/";

	for (; *s != '\0'; s++) {
		if (strchr(plain, *s) != NULL)
			continue;
		if (*s != '%' || s[1] == '\0' || strchr(hex, s[1]) == NULL || s[2] == '\0' ||
		    strchr(hex, s[2]) == NULL)
			return false;
		s += 2;
	}
	return true;
}

/* One or two dots alone between slashes, plain or encoded; an argument counts as a letter. */
static bool
has_dot_segment(const char *s)
{
	for (size_t n;; s += n + 1) {
		size_t dots = 0, i = 0;

		n = strcspn(s, "/");
		while (i < n) {
			size_t step = s[i] == '.' ? 1 :
			    n - i >= 3 && strncasecmp(s + i, "%2e", 3) == 0 ? 3 : 0;

			if (step == 0)
				break;
			dots++;
			i += step;
		}
		if (i == n && (dots == 1 || dots == 2))
			return true;
		if (s[n] == '\0')
			return false;
	}
}

int
ats_gw_check_path(const struct ats_gw_in *in, const char *key, const struct ats_gw_template *t)
{
	struct ats_buf whole ATS_CLEANUP_BUF = { 0 };
	int rc = 0;

	ats_buf_init(&whole, ATS_GW_OBJECT_MAX);
	if (t->n == 0 || t->v[0].is_arg || t->v[0].text[0] != '/')
		return ats_gw_wrong(in, key, "must begin with a /");
	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		if (!t->v[i].is_arg && !is_path_text(t->v[i].text))
			return ats_gw_wrong(in, key, "\"%.100s\" cannot stand in a path: encode it "
			    "as %%XX, and put parameters into query", t->v[i].text);
		rc = ats_buf_add_str(&whole, t->v[i].is_arg ? "a" : t->v[i].text);
	}
	if (rc < 0)
		return ats_gw_nomem(in);
	if (has_dot_segment(whole.data))
		return ats_gw_wrong(in, key, "must not hold . or .. between slashes");
	return 0;
}
