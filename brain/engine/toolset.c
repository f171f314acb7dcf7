/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of tools, one row each. Runs in the engine; names are a client's. */
#include "brain/engine/toolset.h"

#include "brain/engine/call_ask.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/mcp.h"
#include "brain/policy/rules.h"
#include "common/json.h"
#include "proto/brain.h"

static bool
find_in_sandbox(struct engine *e, const char *name, struct call_ask *ask)
{
	(void)e;
	ask->tool = ats_tool_find(name);
	return ask->tool != NULL;
}

static void
list_in_sandbox(struct engine *e, struct ats_json_w *w)
{
	for (size_t i = 0; i < ATS_TOOL_COUNT; i++)
		if (e->rules == NULL ||
		    !policy_denies_all(e->rules, POLICY_SANDBOX, ats_tool_rows[i].name))
			mcp_tool_write(w, &ats_tool_rows[i]);
}

static bool
find_of_gateways(struct engine *e, const char *name, struct call_ask *ask)
{
	ask->gateway = gateways_find(e->gateways, name);
	return ask->gateway != NULL;
}

static void
list_of_gateways(struct engine *e, struct ats_json_w *w)
{
	const struct gateway_tool *t = NULL;

	while ((t = gateways_each(e->gateways, t)) != NULL)
		if ((t->flags & GATEWAY_HIDDEN) == 0)
			gateway_tool_write(w, t, false);
}

static const struct kind {
	bool (*find)(struct engine *e, const char *name, struct call_ask *ask);
	void (*list)(struct engine *e, struct ats_json_w *w);
} kinds[] = {
	{ find_in_sandbox, list_in_sandbox },
	{ find_of_gateways, list_of_gateways },
};

bool
toolset_find(struct engine *e, const char *name, struct call_ask *ask)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(kinds); i++)
		if (kinds[i].find(e, name, ask))
			return true;
	return false;
}

int
toolset_write(struct engine *e, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_array(&w, NULL);
	for (size_t i = 0; i < ATS_ARRAY_LEN(kinds); i++)
		kinds[i].list(e, &w);
	ats_json_w_end(&w);
	return w.rc;
}
