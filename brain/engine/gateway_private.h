/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of gateway*.c know of each other; nobody else includes this. */
#ifndef ATS_ENGINE_GATEWAY_PRIVATE_H
#define ATS_ENGINE_GATEWAY_PRIVATE_H

#include "brain/engine/gateway.h"

bool gateway_is_gateway(const char *name);	/* a gateway may have that name */
/* A tool of what the vault tells of it, with one reference; NULL and a reason otherwise. */
struct gateway_tool *gateway_tool_new(const char *gateway, const char *tool, const char *json,
    uint64_t flags, struct ats_err *err);
struct asked *gateway_asked_new(struct call *c);	/* c->asked; NULL without memory */
void gateway_forget_early(struct asked *a);
/* Tells the vault what is owed to it, now or later. Its call may be gone after it. */
void gateway_tell(struct asked *a);
void gateway_deadline(struct call *c, uint64_t ms);	/* 0: none */

TAILQ_HEAD(gateway_tool_list, gateway_tool);
struct gateway {
	TAILQ_ENTRY(gateway) link;
	char name[ATS_GATEWAY_NAME_MAX + 1];
	struct gateway_tool_list tools, coming;
	size_t ntools, ncoming, nrefused;	/* coming, and those of it that were left out */
	int code;				/* why there are no tools; 0 */
	char text[256];
	bool wanted;				/* GATEWAY_LIST was sent, and nothing came since */
	bool late;				/* and that for too long */
};
struct gateways {
	struct engine *e;
	struct ats_map *by_name;		/* GATEWAY__TOOL -> struct gateway_tool */
	TAILQ_HEAD(, gateway) all;
	TAILQ_HEAD(, gateway_link) links;
	TAILQ_HEAD(, asked) owed;		/* calls of which the vault must hear */
	TAILQ_HEAD(, gateway_files) reading;	/* those whose files it must get */
	size_t json_sum, early_bytes;
};

#endif
