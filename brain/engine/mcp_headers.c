/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of HTTP against arguments of a call (MCP 2026-07-28, Streamable HTTP: Custom Headers from
 * Tool Parameters). Runs in the engine; schemas are an upstream server's, the rest a client's. */
#include "brain/engine/mcp_headers.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"

#define ANNOTATION "x-mcp-header"
#define NAME_MAX 54			/* bytes of a field's name, with its NUL */
#define DEPTH_MAX 16			/* of properties in properties */

static int
wrong(struct ats_err *err, const char *name, const char *what)
{
	return ats_err_set(err, ATS_E_FIELD, "Mcp-Param-%s %s", name, what);
}

/* The text of a JSON string, when it fits. */
static bool
text_of(const struct ats_json_val *v, char *out, size_t size)
{
	struct ats_buf b ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&b, v->raw.n + 1);
	if (v->type != ATS_JSON_STRING || ats_json_to_str(v, &b) < 0 || b.len >= size)
		return false;
	memcpy(out, b.data, b.len + 1);
	return true;
}

static bool
same_strings(const struct ats_json_val *a, const struct ats_json_val *b)
{
	struct ats_buf x ATS_CLEANUP_BUF = { 0 }, y ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&x, a->raw.n + 1);
	ats_buf_init(&y, b->raw.n + 1);
	return ats_json_to_str(a, &x) == 0 && ats_json_to_str(b, &y) == 0 && x.len == y.len &&
	    memcmp(x.data, y.data, x.len) == 0;
}

/* As numbers: 42.0 is 42. */
static bool
same_numbers(const struct ats_json_val *v, const char *text)
{
	char own[64], *end, *end2;
	double a, b;

	if (v->raw.n >= sizeof(own) || text[0] == '\0' ||
	    strspn(text, "+-.0123456789eE") != strlen(text))
		return false;
	memcpy(own, v->raw.p, v->raw.n);
	own[v->raw.n] = '\0';
	a = strtod(own, &end);
	b = strtod(text, &end2);
	return *end == '\0' && *end2 == '\0' && a >= b && a <= b;
}

/* arg: type END where it is not among the arguments. */
static int
compare(const char *name, const struct ats_json_val *arg, struct ats_slice headers,
    struct ats_err *err)
{
	char small[NAME_MAX], text[64];
	struct ats_json_val h;
	bool there, same = false;

	for (size_t i = 0; i <= strlen(name); i++)
		small[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	there = ats_json_get(headers, small, &h) && h.type == ATS_JSON_STRING;
	if (arg->type == ATS_JSON_END || arg->type == ATS_JSON_NULL)
		return there ? wrong(err, name, "is of an argument that is not there") : 0;
	if (!there)
		return wrong(err, name, "is missing");
	if (arg->type == ATS_JSON_STRING)
		same = same_strings(&h, arg);
	else if (text_of(&h, text, sizeof(text)) && arg->type == ATS_JSON_BOOL)
		same = strcmp(text, arg->b ? "true" : "false") == 0;
	else if (arg->type == ATS_JSON_NUMBER && text_of(&h, text, sizeof(text)))
		same = same_numbers(arg, text);
	return same ? 0 : wrong(err, name, "is not the argument");
}

/* The properties of one object, and of those in it. args: type END, or the object. */
static int
check_object(struct ats_slice schema, const struct ats_json_val *args, struct ats_slice headers,
    unsigned depth, struct ats_err *err)
{
	struct ats_json_val props, p, v, arg;
	struct ats_json_iter it, in;
	struct ats_slice key, other;
	char name[NAME_MAX];
	int rc = 0;

	if (depth == DEPTH_MAX || !ats_json_get(schema, "properties", &props) ||
	    props.type != ATS_JSON_OBJECT)
		return 0;
	ats_json_iter_init(&it, props.raw);
	while (rc == 0 && ats_json_next(&it, &key, &p)) {
		if (p.type != ATS_JSON_OBJECT)
			continue;
		arg.type = ATS_JSON_END;
		if (args->type == ATS_JSON_OBJECT) {
			ats_json_iter_init(&in, args->raw);
			while (ats_json_next(&in, &other, &v))
				if (other.n == key.n && memcmp(other.p, key.p, key.n) == 0)
					arg = v;
		}
		if (ats_json_get(p.raw, ANNOTATION, &v) && text_of(&v, name, sizeof(name)))
			rc = compare(name, &arg, headers, err);
		else
			rc = check_object(p.raw, &arg, headers, depth + 1, err);
	}
	return rc;
}

int
mcp_headers_check(struct ats_slice schema, struct ats_slice args, struct ats_slice headers,
    struct ats_err *err)
{
	struct ats_json_val a = ats_json_value(args);

	/* Most schemas have none. */
	if (schema.p == NULL || memmem(schema.p, schema.n, ANNOTATION, strlen(ANNOTATION)) == NULL)
		return 0;
	return check_object(schema, &a, headers, 0, err);
}
