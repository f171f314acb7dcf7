/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and answers of a relay directory. Process: atsctl relay. */
#include "brain/ctl/relay_calls.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

static bool
is_gateway_tool(const struct ats_json_val *name)
{
	return name->type == ATS_JSON_STRING && memmem(name->raw.p, name->raw.n, "__", 2) != NULL;
}

int
relay_tools(struct ats_slice result, struct ats_specs *ret, struct ats_err *err)
{
	struct ats_buf all ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val list, one, v;
	struct ats_json_iter it;
	struct ats_json_w w;
	struct ats_slice key;
	size_t n = 0;
	int rc;

	if (!ats_json_get(result, "tools", &list) || list.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_PROTO, "brain's list of tools is none");
	ats_buf_init(&all, ATS_SPECS_BYTES);
	ats_json_w_init(&w, &all);
	ats_json_w_array(&w, NULL);
	for (ats_json_iter_init(&it, list.raw); ats_json_next(&it, &key, &one);) {
		if (one.type == ATS_JSON_OBJECT && ats_json_get(one.raw, "name", &v) &&
		    is_gateway_tool(&v) && n++ < ATS_SPECS_MAX)
			ats_json_w_raw(&w, NULL, one.raw.p, one.raw.n);
	}
	ats_json_w_end(&w);
	if (w.rc < 0)
		return ats_err_set(err, -w.rc, "brain's list of tools: %s", ats_err_text(w.rc));
	rc = ats_specs_read(all.data, all.len, ret, err);
	if (rc < 0)
		return ats_err_wrap(err, "brain's list of tools");
	/* The other side waits as long as a person may take; we always answer before that. */
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i].timeout_ms = RELAY_CALL_MS;
	return 0;
}

int
relay_params(const struct ats_specs *tools, struct ats_slice text, const char *call_id,
    struct ats_buf *out, struct ats_err *err)
{
	struct ats_relaydir_request r;
	struct ats_json_w w;
	int rc = ats_relaydir_request_read(text.p, text.n, &r, err);

	if (rc < 0)
		return ats_err_wrap(err, "the request");
	if (ats_specs_find(tools, r.tool) == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_TOOL,
		    "there is no tool of this name; the list "
		    "of tools names those that there are");
	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "name", r.tool);
	if (r.args.p != NULL)
		ats_json_w_raw(&w, "arguments", r.args.p, r.args.n);
	else
		ats_json_w_raw(&w, "arguments", "{}", 2);
	ats_json_w_str(&w, "call_id", call_id);
	ats_json_w_end(&w);
	return w.rc < 0 ? ats_err_set(err, -w.rc, "the request: %s", ats_err_text(w.rc)) : 0;
}

/* Adds the texts of all blocks, a line each; of others what they are. */
static int
add_blocks(struct ats_buf *out, struct ats_slice result)
{
	struct ats_json_val content, b, v;
	struct ats_json_iter it;
	struct ats_slice key;
	int rc = 0;

	if (!ats_json_get(result, "content", &content) || content.type != ATS_JSON_ARRAY)
		return 0;
	for (ats_json_iter_init(&it, content.raw); rc == 0 && ats_json_next(&it, &key, &b);) {
		if (b.type != ATS_JSON_OBJECT)
			continue;
		if (out->len > 0)
			rc = ats_buf_add_char(out, '\n');
		if (rc == 0 && ats_json_get(b.raw, "text", &v) && v.type == ATS_JSON_STRING) {
			rc = ats_json_to_str(&v, out);
			if (rc == -ATS_E_FIELD)		/* a NUL inside: escaped, as it stands */
				rc = ats_buf_add(out, v.raw.p + 1, v.raw.n - 2);
		} else if (rc == 0) {
			rc = ats_buf_add_str(out,
			    "[an image or other data, which cannot be passed on "
			    "here]");
		}
	}
	return rc;
}

static int
add_error(struct ats_buf *text, const struct door_msg *m, bool maybe)
{
	struct ats_err err = { 0 };

	(void)!door_result(m, &err);
	if (maybe)
		door_sent_before(&err);
	return ats_buf_add_str(text, err.text[0] != '\0' ? err.text : "the call failed");
}

int
relay_response(const struct door_msg *m, bool maybe, struct ats_buf *out)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	enum ats_relaydir_answer kind = ATS_RELAYDIR_ERROR;
	struct ats_json_val v;
	bool done = false;
	int rc;

	ats_buf_init(&text, ATS_RELAYDIR_RESPONSE_MAX / 2);
	if (m->result.p == NULL) {
		rc = add_error(&text, m, maybe);
	} else {
		done = ats_json_member_is(m->result, "outcome", "done");
		if (done && !(ats_json_get(m->result, "is_error", &v) && v.b))
			kind = ATS_RELAYDIR_OK;
		rc = add_blocks(&text, m->result);
	}
	if (rc == 0 && kind == ATS_RELAYDIR_ERROR && text.len == 0)
		rc = ats_buf_add_str(&text, done ? "the tool failed and said nothing" :
		    "the call was not done, or its outcome is unknown");
	if (rc == 0)
		rc = ats_relaydir_response_write(out, kind, text.data, text.len);
	if (rc != -ATS_E_TOOBIG)
		return rc;
	ats_buf_reset(out);
	return ats_relaydir_response_write(out, ATS_RELAYDIR_ERROR, "the answer is too long", 22);
}

int
relay_ids_init(struct relay_ids *ids)
{
	ids->young = ats_map_new(RELAY_IDS);
	ids->old = NULL;
	return ids->young != NULL ? 0 : -ATS_E_NOMEM;
}

void
relay_ids_done(struct relay_ids *ids)
{
	ats_map_free(ids->young);
	ats_map_free(ids->old);
	*ids = (struct relay_ids){ 0 };
}

/* Two generations: when the young one is full, the old one is forgotten. */
int
relay_ids_use(struct relay_ids *ids, const char *id)
{
	static char used;
	struct ats_map *fresh;

	if (ats_map_get_str(ids->young, id) != NULL ||
	    (ids->old != NULL && ats_map_get_str(ids->old, id) != NULL))
		return -ATS_E_EXISTS;
	if (ats_map_count(ids->young) >= RELAY_IDS) {
		fresh = ats_map_new(RELAY_IDS);
		if (fresh == NULL)
			return -ATS_E_NOMEM;
		ats_map_free(ids->old);
		ids->old = ids->young;
		ids->young = fresh;
	}
	return ats_map_put_str(ids->young, id, &used);
}
