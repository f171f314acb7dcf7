/* SPDX-License-Identifier: Apache-2.0
 *
 * One tool of a gateway: what its upstream says of it is read, and written for clients and
 * sandboxes. Runs in the engine; names and JSON are an upstream server's, hostile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/gateway_private.h"
#include "common/json.h"
#include "common/log.h"

#define TITLE_MAX 512u
#define DAY_MS 86400000u
/* ats-gateway cuts at 100,000 bytes; clients that take 50,000 characters, and put the rest into a
 * file of the host, count them as they are escaped. It is the most that they believe. */
#define RESULT_CHARS 500000u
/* What stands around a tool where it is sent is at most so deep and has at most so many keys:
 * the reader there has the same limits as ours. */
#define AROUND_HEAD "[[[[{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"tool\":"
#define AROUND_TAIL "}]]]]"

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '_' || c == '-';
}

bool
gateway_is_gateway(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > ATS_GATEWAY_NAME_MAX || name[0] < 'a' || name[0] > 'z' ||
	    strstr(name, "__") != NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_plain(name[i]) || (name[i] >= 'A' && name[i] <= 'Z'))
			return false;
	return true;
}

bool
gateway_is_name(const char *name)
{
	return strstr(name, "__") != NULL;
}

/* GATEWAY__TOOL, with "_" for what clients do not take in a name. */
static int
make_name(char out[ATS_GATEWAY_TOOL_MAX], const char *gateway, const char *tool)
{
	int n = snprintf(out, ATS_GATEWAY_TOOL_MAX, "%s__%s", gateway, tool);

	if (n < 0 || n >= ATS_GATEWAY_TOOL_MAX || tool[0] == '\0')
		return -ATS_E_TOOBIG;
	for (char *p = out; *p != '\0'; p++)
		if (!is_plain(*p))
			*p = '_';
	return 0;
}

struct gateway_tool *
gateway_tool_hold(struct gateway_tool *t)
{
	t->refs++;
	return t;
}

void
gateway_tool_let_go(struct gateway_tool *t)
{
	if (t == NULL || --t->refs > 0)
		return;
	while (t->nfiles > 0)
		free(t->files[--t->nfiles]);
	free(t->json);
	free(t);
}

struct gateway_tool *
gateway_tool_named(const char *name)
{
	const char *mark = strstr(name, "__");
	struct gateway_tool *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->refs = 1;
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	(void)snprintf(t->gateway, sizeof(t->gateway), "%.*s",
	    mark == NULL ? 0 : (int)(mark - name), name);
	return t;
}

static int
scan_with_margin(const char *json, size_t n, struct ats_err *err)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&text, GATEWAY_JSON_MAX + 256);
	rc = ats_buf_add_str(&text, AROUND_HEAD);
	if (rc == 0)
		rc = ats_buf_add(&text, json, n);
	if (rc == 0)
		rc = ats_buf_add_str(&text, AROUND_TAIL);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s", ats_err_text(rc));
	/* Both: what is whole between the two may yet close them. */
	rc = ats_json_scan(json, n, err);
	return rc < 0 ? rc : ats_json_scan(text.data, text.len, err);
}

static int
read_files(struct gateway_tool *t, const struct ats_json_val *list, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice none;

	if (list->type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "files: expected an array");
	ats_json_iter_init(&it, list->raw);
	while (ats_json_next(&it, &none, &v)) {
		char *name = t->nfiles < ATS_GATEWAY_FILES_MAX ? ats_json_dup_str(&v) : NULL;

		if (name == NULL)
			return ats_err_set(err, ATS_E_FIELD, "files: expected %d names at most",
			    ATS_GATEWAY_FILES_MAX);
		t->files[t->nfiles++] = name;
	}
	return 0;
}

static int
read_members(struct gateway_tool *t, struct ats_err *err)
{
	struct ats_slice all = { t->json, t->json_len };
	struct ats_json_val v;

	if (ats_json_value(all).type != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_FIELD, "not an object");
	if (ats_json_get(all, "description", &v)) {
		if (v.type != ATS_JSON_STRING)
			return ats_err_set(err, ATS_E_FIELD, "description: expected a string");
		t->description = v.raw;
	}
	if (!ats_json_get(all, "inputSchema", &v) || v.type != ATS_JSON_OBJECT ||
	    !ats_json_member_is(v.raw, "type", "object"))
		return ats_err_set(err, ATS_E_FIELD,
		    "inputSchema: expected an object with the type \"object\"");
	t->schema = v.raw;
	if (ats_json_get(t->schema, "required", &v) && v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "inputSchema.required: expected an array");
	if (ats_json_get(all, "annotations", &v)) {
		if (v.type != ATS_JSON_OBJECT)
			return ats_err_set(err, ATS_E_FIELD, "annotations: expected an object");
		t->annotations = v.raw;
	}
	if (ats_json_get(all, "timeoutMs", &v) &&
	    (ats_json_to_u64(&v, &t->timeout_ms) < 0 || t->timeout_ms > DAY_MS))
		return ats_err_set(err, ATS_E_FIELD, "timeoutMs: expected 1 to %u", DAY_MS);
	if (ats_json_get(all, "files", &v))
		return read_files(t, &v, err);
	return 0;
}

struct gateway_tool *
gateway_tool_new(const char *gateway, const char *tool, const char *json, uint64_t flags,
    struct ats_err *err)
{
	char name[ATS_GATEWAY_TOOL_MAX];
	struct gateway_tool *t;
	size_t n = strlen(json);
	int rc;

	if (make_name(name, gateway, tool) < 0) {
		(void)ats_err_set(err, ATS_E_TOOBIG, "a name of 1 to %d characters is needed, "
		    "with that of its gateway", ATS_GATEWAY_TOOL_MAX - 1);
		return NULL;
	}
	if (n > GATEWAY_JSON_MAX) {
		(void)ats_err_set(err, ATS_E_TOOBIG, "its description and schema have more than "
		    "%u bytes", GATEWAY_JSON_MAX);
		return NULL;
	}
	if (scan_with_margin(json, n, err) < 0)
		return NULL;
	t = gateway_tool_named(name);
	if (t != NULL)
		t->json = strdup(json);
	if (t == NULL || t->json == NULL) {
		gateway_tool_let_go(t);
		(void)ats_err_set(err, ATS_E_NOMEM, "tool");
		return NULL;
	}
	/* It becomes part of lines: outside of strings a line break is a blank. */
	for (char *p = t->json; *p != '\0'; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	t->json_len = n;
	t->flags = (unsigned)flags;
	rc = read_members(t, err);
	if (rc == 0)
		return t;
	gateway_tool_let_go(t);
	return NULL;
}

enum ats_tool_class
gateway_tool_class(const struct gateway_tool *t)
{
	/* A person is asked once: what waits for one goes on with the next engine, and is not
	 * begun again by this one, whatever it does. */
	return (t->flags & GATEWAY_READ_ONLY) != 0 && (t->flags & GATEWAY_ASKS) == 0 &&
	    t->nfiles == 0 ?		/* it would be another file the second time */
	    ATS_CLASS_PURE : ATS_CLASS_NEVER;
}

/* ---- writing --------------------------------------------------------------------------- */

static void
write_hint(struct ats_json_w *w, const struct gateway_tool *t, const char *name, bool said,
    bool otherwise)
{
	struct ats_json_val v;

	if (t->annotations.p != NULL && ats_json_get(t->annotations, name, &v) &&
	    v.type == ATS_JSON_BOOL)
		ats_json_w_bool(w, name, v.b);
	else if (said || otherwise)
		ats_json_w_bool(w, name, true);
}

/* Whether it only reads is the vault's word, since calls are decided by it; the rest is what its
 * maker says. */
static void
write_annotations(struct ats_json_w *w, const struct gateway_tool *t)
{
	struct ats_json_val v;

	ats_json_w_object(w, "annotations");
	if (t->annotations.p != NULL && ats_json_get(t->annotations, "title", &v) &&
	    v.type == ATS_JSON_STRING && v.raw.n <= TITLE_MAX)
		ats_json_w_raw(w, "title", v.raw.p, v.raw.n);
	ats_json_w_bool(w, "readOnlyHint", (t->flags & GATEWAY_READ_ONLY) != 0);
	write_hint(w, t, "destructiveHint", (t->flags & GATEWAY_DESTRUCTIVE) != 0, false);
	write_hint(w, t, "idempotentHint", (t->flags & GATEWAY_IDEMPOTENT) != 0, false);
	write_hint(w, t, "openWorldHint", false, true);
	ats_json_w_end(w);
}

void
gateway_tool_write(struct ats_json_w *w, const struct gateway_tool *t, bool with_limit)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "name", t->name);
	if (t->description.p != NULL)
		ats_json_w_raw(w, "description", t->description.p, t->description.n);
	else
		ats_json_w_str(w, "description", "");
	ats_json_w_raw(w, "inputSchema", t->schema.p, t->schema.n);
	write_annotations(w, t);
	if (with_limit && t->timeout_ms != 0)
		ats_json_w_u64(w, "timeoutMs", t->timeout_ms);
	if (!with_limit) {
		ats_json_w_object(w, "_meta");
		ats_json_w_u64(w, "anthropic/maxResultSizeChars", RESULT_CHARS);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

/* ---- what a call needs ------------------------------------------------------------------- */

int
gateway_tool_check(const struct gateway_tool *t, struct ats_slice args, struct ats_err *err)
{
	struct ats_json_val required, v, unused;
	struct ats_json_iter it;
	struct ats_slice key;
	char quoted[120];
	char *name;
	bool there;

	if (args.n > ATS_GATEWAY_ARGS_MAX)
		return ats_err_set(err, ATS_E_FIELD, "the arguments have %zu bytes; %u is the "
		    "most that a tool of the host takes", args.n, ATS_GATEWAY_ARGS_MAX);
	if (t->schema.p == NULL || !ats_json_get(t->schema, "required", &required))
		return 0;
	ats_json_iter_init(&it, required.raw);
	while (ats_json_next(&it, &key, &v)) {
		name = ats_json_dup_str(&v);
		if (name == NULL)
			continue;	/* not a string: not a name */
		there = ats_json_get(args, name, &unused);
		(void)ats_log_quote(quoted, sizeof(quoted), name, strlen(name));
		free(name);
		if (!there)
			return ats_err_set(err, ATS_E_FIELD, "%s: missing, and required by %s",
			    quoted, t->name);
	}
	return 0;
}
