/* SPDX-License-Identifier: Apache-2.0
 *
 * What the linker puts before functions of the engine (--wrap), for the fixtures and for lists that
 * this server does not have: the suite looks at their members for caching. Test code: its peer is
 * the suite. */
#include <string.h>

#include "brain/engine/client.h"
#include "brain/engine/mcp_era.h"
#include "brain/engine/mcp_headers.h"
#include "brain/engine/toolset.h"
#include "tests/conformance/fixtures.h"

#define TTL_MS 1000u

int __real_toolset_write(struct engine *e, struct ats_buf *out);
int __wrap_toolset_write(struct engine *e, struct ats_buf *out);
void __real_mcp_tools_call(struct rpc *r);
void __wrap_mcp_tools_call(struct rpc *r);
void __real_mcp_discover(struct rpc *r);
void __wrap_mcp_discover(struct rpc *r);
void __real_rpc_line(struct client *c, struct ats_slice line);
void __wrap_rpc_line(struct client *c, struct ats_slice line);
void __real_client_free(struct client *c);
void __wrap_client_free(struct client *c);

/* They come first: the suite calls the first tool without arguments. */
int
__wrap_toolset_write(struct engine *e, struct ats_buf *out)
{
	struct ats_json_w w;
	struct ats_buf real ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&real, 1u << 20);
	rc = __real_toolset_write(e, &real);
	if (rc < 0)
		return rc;
	ats_json_w_init(&w, out);
	ats_json_w_array(&w, NULL);
	for (const struct fixture *f = NULL; (f = fixtures_each(f)) != NULL;) {
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "name", f->name);
		ats_json_w_str(&w, "description", f->description);
		ats_json_w_raw(&w, "inputSchema", f->schema, strlen(f->schema));
		ats_json_w_end(&w);
	}
	/* the others, without the brackets around them */
	if (real.len > 2)
		ats_json_w_raw(&w, NULL, real.data + 1, real.len - 2);
	ats_json_w_end(&w);
	return w.rc;
}

static bool
heads_fit(struct rpc *r, const struct fixture *f)
{
	struct ats_json_val meta, headers, args = { .raw = { "{}", 2 } };
	struct ats_err err = { 0 };

	if (!ats_json_get(r->params, "_meta", &meta) || meta.type != ATS_JSON_OBJECT ||
	    !ats_json_get(meta.raw, MCP_HEADERS, &headers))
		return true;
	(void)ats_json_get(r->params, "arguments", &args);
	if (mcp_headers_check((struct ats_slice){ f->schema, strlen(f->schema) }, args.raw,
		headers.raw, &err) == 0)
		return true;
	rpc_error(r->client, r->id, MCP_HEADER_MISMATCH, "%s", err.text);
	return false;
}

void
__wrap_mcp_tools_call(struct rpc *r)
{
	const struct fixture *f = NULL;
	struct ats_json_val name;

	if (ats_json_get(r->params, "name", &name) && name.type == ATS_JSON_STRING)
		f = fixture_find(name.raw);
	if (f == NULL)
		__real_mcp_tools_call(r);
	else if (heads_fit(r, f))
		f->call(f, r);
}

/* Who answers lists of prompts and resources has to say so. */
void
__wrap_mcp_discover(struct rpc *r)
{
	static const char tools[] = "\"capabilities\":{",
	    more[] = "\"prompts\":{},\"resources\":{},";
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	struct ats_buf *out = &r->client->out;
	size_t mark = out->len, at;
	const char *p;

	__real_mcp_discover(r);
	p = memmem(out->data + mark, out->len - mark, tools, strlen(tools));
	if (p == NULL)
		return;
	at = (size_t)(p - out->data) + strlen(tools);
	ats_buf_init(&line, 1u << 20);
	if (ats_buf_add(&line, out->data + at, out->len - at) < 0)
		return;
	ats_buf_truncate(out, at);
	if (ats_buf_add_str(out, more) < 0 || ats_buf_add(out, line.data, line.len) < 0)
		client_drop(r->client, "no room for an answer");
}

/* False: not one of these methods. */
static bool
run(struct rpc *r, struct ats_slice method)
{
	static const char *const lists[][2] = { { "prompts/list", "prompts" },
		{ "resources/list", "resources" },
		{ "resources/templates/list", "resourceTemplates" } };
	struct ats_json_w *w;

	if (ats_json_key_is(method, "logging/setLevel")) {
		if (mcp_era_take(r, MCP_ERA_LEGACY) == 0) {
			(void)rpc_begin(r);
			rpc_end(r);
		}
		return true;
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(lists); i++) {
		if (!ats_json_key_is(method, lists[i][0]))
			continue;
		if (mcp_era_take(r, MCP_ERA_BOTH) < 0)
			return true;
		if (!r->modern)
			return false;
		w = rpc_begin(r);
		ats_json_w_array(w, lists[i][1]);
		ats_json_w_end(w);
		mcp_write_cache(w, TTL_MS);
		rpc_end(r);
		return true;
	}
	return false;
}

void
__wrap_rpc_line(struct client *c, struct ats_slice line)
{
	struct rpc r = { .e = c->e, .client = c };
	struct rpc_envelope en;
	const char *why;

	if (ats_json_scan(line.p, line.n, NULL) == 0 && ats_json_type(line) == ATS_JSON_OBJECT &&
	    rpc_envelope_read(line, &en, &why) == 0) {
		r.id = en.id;
		r.params = en.params;
		if (en.response && en.method.p == NULL && fixture_answered(c, line))
			return;
		if (en.id.p != NULL && en.method.p != NULL && run(&r, en.method))
			return;
	}
	__real_rpc_line(c, line);
}

void
__wrap_client_free(struct client *c)
{
	fixtures_client_gone(c);
	__real_client_free(c);
}
