/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that the vault has ordered: deadlines, cancelling, progress, and the results, which
 * are kept until the engine has them. Each ends exactly once. */
#ifndef ATS_GATEWAY_ORDERS_H
#define ATS_GATEWAY_ORDERS_H

#include <stdint.h>

#include "brain/gateway/result.h"
#include "common/json.h"
#include "proto/brain.h"

#define ORDERS_MAX 256			/* that run at a time */
#define ORDERS_KEPT_MAX 64		/* results without an ACK */
#define ORDERS_KEPT_BYTES (32u << 20)	/* of them together */

struct event;
struct gateway;

struct order {
	struct gateway *g;
	uint64_t id;
	const struct ats_gw_tool
	    *tool; /* of the configuration, or NULL (a tool of an MCP server) */
	char *name;			/* without the gateway's name */
	char *whole;			/* GATEWAY__TOOL, as the agent knows it: for texts */
	char *args;			/* a JSON object, scanned */
	size_t args_len;
	int files[ATS_GATEWAY_FILES_MAX];	/* of tool->files, sealed; -1: not given */
	uint64_t limit_ms, started_us;
	void *own;			/* the kind's, while it runs */
	struct event *deadline;
	uint64_t told_us;		/* of the last progress */
};

/* Returns owned, or NULL. */
struct orders *orders_new(struct gateway *g);
/* Ends all that run (kind->stop), sends nothing. NULL is fine. */
void orders_free(struct orders *o);
/* Takes fd: results go there from now on, those that are kept first. */
void orders_link(struct orders *o, int fd);
/* An order of the vault. limit_ms 0: the configuration's. args is copied, the files are taken:
 * those that args names, in the order of the configuration. What cannot be begun is answered as
 * such. */
void orders_start(struct orders *o, uint64_t id, uint64_t limit_ms, const char *tool,
    struct ats_slice args, int *files, size_t nfiles);
void orders_cancel(struct orders *o, uint64_t id);

struct ats_slice order_args(const struct order *o);
/* Ends it: r is sent and emptied, o is freed. Never from within kind->start. */
void order_end(struct order *o, struct result *r);
/* The same with an error alone. */
void order_fail(struct order *o, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* Tells of it, at most some times a second; message is masked. */
void order_progress(struct order *o, const char *message, bool has_done, uint64_t done);

#endif
