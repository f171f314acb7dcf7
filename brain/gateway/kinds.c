/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of gateways. Runs in ats-gateway. */
#include "brain/gateway/gateway.h"

static const struct {
	enum ats_gw_kind number;
	const struct kind *kind;
} kinds[] = {
	{ ATS_GW_HTTP, &kind_http },
	{ ATS_GW_COMMAND, &kind_command },
	{ ATS_GW_MCP, &kind_mcp },
};

const struct kind *
kind_of(const struct ats_gw_config *c)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(kinds); i++)
		if (kinds[i].number == c->kind)
			return kinds[i].kind;
	ats_bug(__FILE__, __LINE__, "a kind without a row");
}
