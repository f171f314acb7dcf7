/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of an upstream MCP server: what its parts know of each other. */
#ifndef ATS_GATEWAY_MCP_H
#define ATS_GATEWAY_MCP_H

#include <stdint.h>

#include "brain/gateway/mcp_tools.h"
#include "common/json.h"

#define MCP_MESSAGE_MAX (16u << 20)	/* bytes of one message of a server */
#define MCP_JUNK_MAX 1000u		/* messages that are none, after which it is given up */
#define MCP_START_S 30			/* from its start to its list of tools */
#define MCP_NEWEST "2025-11-25"

struct event;
struct gateway;
struct mcp;
struct order;

/* How messages go and come: a row each in kind_mcp.c. */
struct mcp_transport {
	int (*open)(struct mcp *m, struct ats_err *err);	/* before the confinement */
	/* Starts the server, or a new session with it. mcp_on_down follows when it ends. */
	int (*begin)(struct mcp *m, struct ats_err *err);
	/* json[0..n) is one message in one line. id: of a request, else 0. An answer, mcp_on_lost
	 * or mcp_on_down follows, none of them before the return. */
	int (*send)(struct mcp *m, uint64_t id, const char *json, size_t n, struct ats_err *err);
	void (*ready)(struct mcp *m);		/* initialized; or NULL */
	void (*forget)(struct mcp *m, uint64_t id);	/* nobody waits for it; or NULL */
	void (*end)(struct mcp *m);		/* the server or session; may be ended already */
	void (*close)(struct mcp *m);
};
extern const struct mcp_transport mcp_stdio, mcp_http;

enum mcp_state { MCP_DOWN, MCP_STARTING, MCP_UP };
enum mcp_what { MCP_INITIALIZE, MCP_LIST, MCP_CALL };
/* A request of ours without an answer. */
struct mcp_asked {
	uint64_t id;
	enum mcp_what what;
	struct order *o;		/* CALL */
	struct mcp_asked *next;		/* of those that wait for the server */
};
struct mcp {
	struct gateway *g;
	const struct mcp_transport *transport;
	void *link;			/* the transport's */
	enum mcp_state state;
	bool was_up;			/* the vault has heard of it */
	char version[16];		/* agreed; "" before */
	uint64_t next_id;
	struct ats_map *asked;		/* by id */
	struct mcp_asked *waiting;	/* calls, until it is up */
	struct mcp_tools *tools, *listing;	/* listing: pages so far, or NULL */
	unsigned pages;
	bool list_again;
	unsigned junk;
	uint64_t backoff_ms, up_us;
	struct event *timer;		/* DOWN: the next try; STARTING: the limit */
	struct event *relist;
};

/* From transports. text is scanned here. */
void mcp_on_message(struct mcp *m, const char *text, size_t n);
void mcp_on_down(struct mcp *m, const char *why);
void mcp_on_lost(struct mcp *m, uint64_t id, const char *why);

/* Within: requests and what they came to. */
ATS_NODISCARD int mcp_send(struct mcp *m, uint64_t id, const struct ats_buf *json,
    struct ats_err *err);
/* mcp_requests.c: a message of ours is begun, written by w, and sent by its end. */
void mcp_begin(struct ats_json_w *w, struct ats_buf *out, uint64_t id, const char *method);
ATS_NODISCARD int mcp_end(struct mcp *m, struct ats_json_w *w, uint64_t id, struct ats_err *err);
void mcp_notify(struct mcp *m, const char *method);
ATS_NODISCARD int mcp_ask_initialize(struct mcp *m, struct ats_err *err);
ATS_NODISCARD int mcp_ask_list(struct mcp *m, const char *cursor, struct ats_err *err);
/* a stays the caller's where it fails. */
ATS_NODISCARD int mcp_ask_call(struct mcp *m, struct mcp_asked *a, struct ats_err *err);
/* kind_mcp.c: a call ends without an answer; a is freed. began: it may have taken effect. */
void mcp_fail_call(struct mcp_asked *a, bool began, int code, const char *why);
void mcp_set_timer(struct event *ev, uint64_t ms);
/* mcp_answers.c: an answer to a, which it frees; m may be down after it. */
void mcp_on_answer(struct mcp *m, struct mcp_asked *a, struct ats_slice message);
void mcp_on_list_changed(struct mcp *m);
void mcp_next_list(struct mcp *m);	/* asks for its tools from the first page on */

#endif
