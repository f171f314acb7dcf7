/* SPDX-License-Identifier: Apache-2.0
 *
 * The json-c tree, for printing only. Runs in atsctl; the text comes from the engine or
 * from the user. The scanner has the first word, since json-c is not strict. */
#include "common/json.h"

#include <json-c/json.h>
#include <stdlib.h>

static int
parse(const char *s, size_t n, struct json_object **ret_tree, struct ats_err *err)
{
	struct json_tokener *tok;
	struct json_object *tree;
	enum json_tokener_error why;
	int rc = ats_json_scan(s, n, err);

	if (rc < 0)
		return rc;
	if (n > INT32_MAX - 1)
		return ats_err_set(err, ATS_E_TOOBIG, "JSON of %zu bytes", n);
	tok = json_tokener_new_ex(ATS_JSON_DEPTH + 2);
	if (tok == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	tree = json_tokener_parse_ex(tok, s, (int)n);
	why = json_tokener_get_error(tok);
	if (why == json_tokener_continue) {	/* a bare number may go on: end it */
		tree = json_tokener_parse_ex(tok, "", 1);
		why = json_tokener_get_error(tok);
	}
	json_tokener_free(tok);
	if (why != json_tokener_success)
		return ats_err_set(err, ATS_E_JSON, "%s", json_tokener_error_desc(why));
	*ret_tree = tree;
	return 0;
}

int
ats_json_tree(const char *s, size_t n, bool comments, struct json_object **ret_tree,
    struct ats_err *err)
{
	struct ats_buf b;
	int rc;

	if (!comments)
		return parse(s, n, ret_tree, err);
	ats_buf_init(&b, n);
	rc = ats_json_uncomment(&b, s, n);
	if (rc < 0)
		(void)ats_err_set(err, -rc, "a comment does not end");
	else
		rc = parse(b.data, b.len, ret_tree, err);
	ats_buf_done(&b);
	return rc;
}

void
ats_json_tree_free(struct json_object *tree)
{
	(void)json_object_put(tree);
}

const char *
ats_json_tree_text(struct json_object *tree)
{
	return json_object_to_json_string_ext(tree, JSON_C_TO_STRING_PRETTY |
	    JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
}
