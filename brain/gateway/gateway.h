/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of ats-gateway: one gateway of the configuration, its credential, its calls. */
#ifndef ATS_GATEWAY_GATEWAY_H
#define ATS_GATEWAY_GATEWAY_H

#include "brain/gateway/mask.h"
#include "proto/gateway_config.h"

struct ats_secret;
struct event_base;
struct order;
struct orders;
struct renewal;
struct vault_link;

struct gateway {
	struct event_base *base;
	struct ats_gw_config conf;
	struct ats_secret *credential;	/* or NULL */
	struct mask *mask;		/* or NULL; borrowed by all that shows something */
	const struct kind *kind;
	void *own;			/* the kind's */
	struct orders *orders;
	struct vault_link *vault;
	struct renewal *renewals;	/* what waits for another credential */
	struct renewal *renewing;	/* and is told just now */
};

/* A kind of gateway, one a file, a row each in kinds.c. */
struct kind {
	const char *name;
	/* Before the confinement: what needs files or libraries. Fills g->own. */
	int (*open)(struct gateway *g, struct ats_err *err);
	/* In the loop, confined. It calls vault_link_ready once, at once or later. NULL: it is
	 * ready as it is. */
	int (*run)(struct gateway *g, struct ats_err *err);
	/* Begins an order; o->own is the kind's. 0: order_end follows, but not before the return.
	 * Negative: nothing has begun, err says why; the order is ended by the caller. */
	int (*start)(struct order *o, struct ats_err *err);
	/* The order ends by a time limit or because nobody waits: whatever runs for it ends, and
	 * no more is heard of it. */
	void (*stop)(struct order *o);
	void (*close)(struct gateway *g);
};
extern const struct kind kind_http, kind_command, kind_mcp;
/* By the configuration: never NULL. */
const struct kind *kind_of(const struct ats_gw_config *c);

#endif
