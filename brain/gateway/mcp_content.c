/* SPDX-License-Identifier: Apache-2.0
 *
 * Content of MCP. Runs in ats-gateway; it is the upstream's. */
#include "brain/gateway/mcp_content.h"

#include <string.h>

#include "brain/gateway/mask.h"
#include "brain/gateway/mcp.h"
#include "common/base64.h"
#include "common/json.h"

struct about {
	struct result *r;
	const char *gateway;
	bool has_text;
};

#define WHOLE MCP_MESSAGE_MAX

/* The text of a member in out; "" when it is none. What is shown of it in part is masked before it
 * is cut. */
static int
text_of(const struct about *a, struct ats_slice object, const char *name, size_t max,
    struct ats_buf *out)
{
	struct ats_buf part ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v;
	int rc = 0;

	ats_buf_init(out, MCP_MESSAGE_MAX);
	if (ats_json_get(object, name, &v) && v.type == ATS_JSON_STRING)
		rc = ats_json_to_str(&v, out);
	if (rc == 0 && out->len > max) {
		ats_buf_init(&part, max);
		rc = mask_cut(a->r->mask, out->data, out->len, max, &part);
		ats_buf_truncate(out, 0);
		if (rc == 0)
			rc = ats_buf_add(out, part.data, part.len);
	}
	if (rc != -ATS_E_FIELD)
		return rc;
	ats_buf_reset(out);
	return ats_buf_add_str(out, "[not shown: it holds a NUL]");
}

static int
add_text(struct about *a, struct ats_slice part, const char *before)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 }, all ATS_CLEANUP_BUF = { 0 };
	int rc = text_of(a, part, "text", WHOLE, &text);

	a->has_text = true;
	ats_buf_init(&all, MCP_MESSAGE_MAX + 8192);
	if (rc == 0 && before[0] != '\0') {
		rc = ats_buf_add_str(&all, before);
		if (rc == 0)
			rc = ats_buf_add(&all, text.data, text.len);
		return rc < 0 ? rc : result_text(a->r, all.data, all.len);
	}
	return rc < 0 ? rc : result_text(a->r, text.data, text.len);
}

static int
add_bytes(struct about *a, struct ats_slice part, const char *member, const char *before)
{
	struct ats_buf data ATS_CLEANUP_BUF = { 0 }, mime ATS_CLEANUP_BUF = { 0 },
	    bytes ATS_CLEANUP_BUF = { 0 };
	int rc = text_of(a, part, member, WHOLE, &data);

	ats_buf_init(&bytes, MCP_MESSAGE_MAX);
	if (rc == 0)
		rc = text_of(a, part, "mimeType", 100, &mime);
	if (rc < 0)
		return rc;
	rc = data.len > 0 ? ats_base64_decode(data.data, data.len, &bytes) : 0;
	if (rc == -ATS_E_INVAL)
		return result_textf(a->r, "%s[%s: not shown, it is not base64]", before,
		    mime.data);
	if (rc < 0)
		return rc;
	if (result_image_type(mime.data) != NULL) {
		if (before[0] != '\0')
			rc = result_text(a->r, before, strlen(before));
		return rc < 0 ? rc : result_image(a->r, mime.data, bytes.data, bytes.len);
	}
	return result_textf(a->r, "%s[%s, %zu bytes: not shown]", before,
	    mime.len > 0 ? mime.data : "no type said", bytes.len);
}

static int
add_resource(struct about *a, struct ats_slice part)
{
	struct ats_buf uri ATS_CLEANUP_BUF = { 0 }, before ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v, text;
	int rc;

	if (!ats_json_get(part, "resource", &v) || v.type != ATS_JSON_OBJECT)
		return -ATS_E_FIELD;
	ats_buf_init(&before, 4096);
	rc = text_of(a, v.raw, "uri", 500, &uri);
	if (rc == 0)
		rc = ats_buf_addf(&before, "[Resource from %s at %s] ", a->gateway, uri.data);
	if (rc < 0)
		return rc;
	return ats_json_get(v.raw, "text", &text) ? add_text(a, v.raw, before.data) :
	    add_bytes(a, v.raw, "blob", before.data);
}

static int
add_link(struct about *a, struct ats_slice part)
{
	struct ats_buf uri ATS_CLEANUP_BUF = { 0 }, name ATS_CLEANUP_BUF = { 0 },
	    more ATS_CLEANUP_BUF = { 0 };
	int rc = text_of(a, part, "uri", 500, &uri);

	if (rc == 0)
		rc = text_of(a, part, "name", 200, &name);
	if (rc == 0)
		rc = text_of(a, part, "description", 250, &more);
	return rc < 0 ? rc : result_textf(a->r, "[Resource link: %s] %s%s%s%s",
	    name.data, uri.data, more.len > 0 ? " (" : "", more.data, more.len > 0 ? ")" : "");
}

static int
add_part(struct about *a, struct ats_slice part)
{
	if (ats_json_member_is(part, "type", "text"))
		return add_text(a, part, "");
	if (ats_json_member_is(part, "type", "image"))
		return add_bytes(a, part, "data", "");
	if (ats_json_member_is(part, "type", "audio"))
		return add_bytes(a, part, "data", "[Audio] ");
	if (ats_json_member_is(part, "type", "resource"))
		return add_resource(a, part);
	if (ats_json_member_is(part, "type", "resource_link"))
		return add_link(a, part);
	return result_textf(a->r, "[content of an unknown type: not shown]");
}

int
mcp_content(struct result *r, const char *gateway, struct ats_slice message)
{
	struct about a = { r, gateway, false };
	struct ats_json_val v, one;
	struct ats_json_iter it;
	struct ats_slice none;
	int rc = 0;

	if (ats_json_type(message) != ATS_JSON_OBJECT)
		return -ATS_E_FIELD;
	if (ats_json_get(message, "content", &v)) {
		if (v.type != ATS_JSON_ARRAY)
			return -ATS_E_FIELD;
		ats_json_iter_init(&it, v.raw);
		while (rc == 0 && ats_json_next(&it, &none, &one))
			rc = one.type != ATS_JSON_OBJECT ? -ATS_E_FIELD : add_part(&a, one.raw);
	}
	if (rc == 0 && !a.has_text && ats_json_get(message, "structuredContent", &v) &&
	    v.type == ATS_JSON_OBJECT)
		rc = result_text(r, v.raw.p, v.raw.n);
	if (ats_json_get(message, "isError", &v) && v.type == ATS_JSON_BOOL && v.b) {
		r->is_error = true;
		r->code = ATS_E_UPSTREAM;
	}
	return rc;
}
