/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the engine share. One per process, made by main.c, passed by pointer. */
#ifndef ATS_ENGINE_ENGINE_H
#define ATS_ENGINE_ENGINE_H

#include <stdint.h>

#include "brain/engine/settings.h"
#include "common/path.h"

struct arrivals;
struct calls;
struct door;
struct event_base;
struct events;
struct gateways;
struct hooks;
struct mcp_lists;
struct observed;
struct policy_rules;
struct provider;
struct sandboxes;
struct scripts;
struct sessions;
struct store;
struct vault_link;

struct trust {			/* instead of hands' own TLS key, by the configuration */
	bool has_pin;
	unsigned char pin[32];
	char *ca_pem;		/* owned, or NULL */
};

struct engine {
	struct event_base *base;
	struct settings set;
	struct store *store;
	struct sessions *sessions;
	struct sandboxes *boxes;
	struct calls *calls;
	struct events *events;
	struct gateways *gateways;
	struct refusals *refusals;
	struct hooks *hooks;
	bool hooks_on;		/* there may be one: calls look */
	struct mcp_lists *lists;
	struct policy_rules *rules;	/* of permissions; NULL: there are none */
	struct door *door;
	struct vault_link *vault;
	struct arrivals *arrivals;	/* NULL unless hands comes in */
	struct trust trust;
	struct observed *observed;
	struct scripts *scripts;
	struct provider *provider;
	char state_dir[ATS_PATH_MAX];	/* ours */
	char boxes_dir[ATS_PATH_MAX];	/* logs of hands, read only */
	uint64_t started_us;
	uint64_t brain_uid;	/* of the vault, which may be another user's than ours */
	bool stopping;
	bool idle;		/* what the vault was told last */
};

/* Tells the vault when the engine became idle or busy. Cheap; call it when a client, a call
 * or a background shell came or went. */
void engine_idle_check(struct engine *e);

#endif
