/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of a gateway's tool that are files: `"type": "file"` of a property. A model is shown a
 * string, since no JSON Schema has that type. Runs in ats-brain at its start and in ats-gateway;
 * the user's own file is the input. */
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "proto/brain.h"
#include "proto/gateway_config_in.h"

#define STRING "\"string\""
#define SAYS STRING ",\"description\":\"Path of a file of the workspace. Its bytes go with the " \
	"call, as they are now.\""

static bool
is_file(struct ats_slice schema)
{
	return ats_json_type(schema) == ATS_JSON_OBJECT &&
	    ats_json_member_is(schema, "type", "file");
}

/* Anywhere within: what is not a property itself would be no file, and no schema either. */
static bool
holds_file(struct ats_slice of)
{
	enum ats_json_type type = ats_json_type(of);
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;

	if (type != ATS_JSON_OBJECT && type != ATS_JSON_ARRAY)
		return false;
	if (is_file(of))
		return true;
	ats_json_iter_init(&it, of);
	while (ats_json_next(&it, &key, &v))
		if (holds_file(v.raw))
			return true;
	return false;
}

static int
add_name(const struct ats_gw_in *in, const char *key, struct ats_slice name,
    struct ats_gw_tool *t)
{
	if (t->files.v == NULL)
		t->files.v = ats_calloc(ATS_GATEWAY_FILES_MAX + 1, sizeof(*t->files.v));
	if (t->files.v == NULL)
		return ats_gw_nomem(in);
	if (t->files.n == ATS_GATEWAY_FILES_MAX)
		return ats_gw_wrong(in, key, "has more than %d properties of type file",
		    ATS_GATEWAY_FILES_MAX);
	t->files.v[t->files.n] = ats_json_dup_key(name);
	return t->files.v[t->files.n++] != NULL ? 0 : ats_gw_nomem(in);
}

/* Adds what is in [*at, of its type[, and a string instead of that. */
static int
add_property(struct ats_buf *out, const char **at, struct ats_slice schema)
{
	struct ats_json_val type, v;
	int rc;

	if (!ats_json_get(schema, "type", &type))
		return -ATS_E_FIELD;
	rc = ats_buf_add(out, *at, (size_t)(type.raw.p - *at));
	*at = type.raw.p + type.raw.n;
	return rc < 0 ? rc : ats_buf_add_str(out,
	    ats_json_get(schema, "description", &v) ? STRING : SAYS);
}

int
ats_gw_take_files(const struct ats_gw_in *in, const char *key, struct ats_slice input,
    const struct ats_json_val *props, struct ats_gw_tool *t)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	const char *at = input.p;
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice name;
	int rc = 0;

	ats_buf_init(&out, 2 * ATS_GW_OBJECT_MAX);
	ats_json_iter_init(&it, props->type == ATS_JSON_OBJECT ? props->raw :
	    (struct ats_slice){ "{}", 2 });
	while (rc == 0 && ats_json_next(&it, &name, &v)) {
		if (!is_file(v.raw))
			continue;
		rc = add_name(in, key, name, t);
		if (rc == 0 && add_property(&out, &at, v.raw) < 0)
			return ats_gw_nomem(in);
	}
	if (rc < 0)
		return rc;
	if (ats_buf_add(&out, at, (size_t)(input.p + input.n - at)) < 0)
		return ats_gw_nomem(in);
	if (holds_file((struct ats_slice){ out.data, out.len }))
		return ats_gw_wrong(in, key,
		    "the type file is for properties of input alone, not for what is within them");
	t->input = ats_strdup(out.data);
	return t->input != NULL ? 0 : ats_gw_nomem(in);
}

int
ats_gw_check_files(const struct ats_gw_in *in, const struct ats_gw_tool *t)
{
	bool is_body = t->body == ATS_GW_BODY_FILE;

	for (size_t i = 0; i < t->files.n; i++) {
		const char *name = t->files.v[i];
		bool elsewhere = ats_gw_template_has(&t->path, name);

		for (size_t k = 0; k < t->nquery; k++)
			elsewhere |= ats_gw_template_has(&t->query[k].value, name);
		if (!is_body || strcmp(name, t->body_arg) != 0 || elsewhere)
			return ats_gw_wrong(in, "input", "the file \"%.100s\" can only be the "
			    "body: \"file:{%.100s}\"", name, name);
	}
	return !is_body || t->files.n == 1 ? 0 : ats_gw_wrong(in, "body",
	    "{%.100s} must have the type file", t->body_arg);
}
