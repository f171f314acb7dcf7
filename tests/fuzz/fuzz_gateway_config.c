/* SPDX-License-Identifier: Apache-2.0
 *
 * One gateway of the configuration. Input: which allocation fails, then the object's text. What is
 * read has what the vault and ats-gateway rely on, and each tool has its JSON for tools/list. */
#include "common/json.h"
#include "proto/brain.h"
#include "proto/gateway_config.h"
#include "tests/fuzz/fuzz.h"

static void
check_template(const struct ats_gw_template *t)
{
	for (size_t i = 0; i < t->n; i++) {
		FUZZ_CHECK(t->v[i].text[0] != '\0');
		FUZZ_CHECK(strpbrk(t->v[i].text, "{}") == NULL);
	}
}

static void
check_tool(const struct ats_gw_config *c, const struct ats_gw_tool *t)
{
	struct ats_buf json = { 0 };

	FUZZ_CHECK(ats_gw_find_tool(c, t->name) == t);
	if (c->kind == ATS_GW_MCP)
		return;
	ats_buf_init(&json, 2 * ATS_GW_TOOL_JSON_MAX);
	if (ats_gw_tool_json(c, t, &json) == 0) {
		FUZZ_CHECK(ats_json_scan(json.data, json.len, NULL) == 0);
		FUZZ_CHECK(memchr(json.data, '\n', json.len) == NULL ||
		    strchr(t->input, '\n') != NULL);
	}
	ats_buf_done(&json);
	FUZZ_CHECK(t->files.n <= ATS_GATEWAY_FILES_MAX);
	for (size_t i = 0; i < t->files.n; i++)
		FUZZ_CHECK(t->files.v[i] != NULL);
	if (c->kind == ATS_GW_COMMAND) {
		FUZZ_CHECK(t->argv.n > 0 && t->argv.v[0][0] == '/' && t->argv.v[t->argv.n] == NULL);
		return;
	}
	FUZZ_CHECK(t->method != NULL && t->path.n > 0 && t->path.v[0].text[0] == '/');
	check_template(&t->path);
	/* What stands in the URL is an argument that the tool takes. */
	for (size_t i = 0; i < t->path.n; i++)
		if (t->path.v[i].is_arg) {
			struct ats_slice key = { t->path.v[i].text, strlen(t->path.v[i].text) };

			FUZZ_CHECK(ats_gw_target_takes_arg(t, key) && ats_gw_takes_arg(t, key));
		}
	FUZZ_CHECK(!ats_gw_target_takes_arg(t, (struct ats_slice){ "\x01", 1 }));
	(void)ats_gw_takes_arg(t, (struct ats_slice){ "body", 4 });
	for (size_t i = 0; i < t->nquery; i++)
		check_template(&t->query[i].value);
	FUZZ_CHECK((t->body == ATS_GW_BODY_TEXT || t->body == ATS_GW_BODY_FILE) ==
	    (t->body_arg != NULL));
	FUZZ_CHECK(t->files.n == (t->body == ATS_GW_BODY_FILE));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct ats_gw_config c;
	struct ats_err err = { 0 };
	struct ats_slice text;
	unsigned fault;
	int rc;

	fault = fuzz_fault(&in);
	text = (struct ats_slice){ (const char *)in.p, in.n };
	if (ats_json_scan(text.p, text.n, NULL) < 0)
		return 0;
	ats_fault_alloc(fault);
	rc = ats_gw_config_read(&c, "g", text, &err);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -err.code && err.text[0] != '\0'));
	if (rc < 0)
		return 0;
	FUZZ_CHECK(!c.has_url || (c.url.host[0] != '\0' && c.url.port != 0));
	FUZZ_CHECK((c.auth == ATS_GW_AUTH_NONE) || c.credential != NULL);
	for (size_t i = 0; i < c.ntools; i++)
		check_tool(&c, &c.tools[i]);
	ats_gw_config_done(&c);
	return 0;
}
