/* SPDX-License-Identifier: Apache-2.0
 *
 * Gateways as the vault sees them: gateway.c is the life of their processes, gateway_in.c what
 * these say, gateway_out.c what they are told and their links, gateway_tools.c what tools they
 * have. decide.h has the calls. */
#ifndef ATS_VAULT_GATEWAY_H
#define ATS_VAULT_GATEWAY_H

#include <event2/util.h>
#include <stdint.h>
#include <sys/types.h>

#include "brain/vault/sources.h"
#include "proto/brain.h"

#define GATEWAY_SETUP_MS 30000		/* a process that does not take orders by then is killed */

struct ats_json_w;
struct event;
struct vault;

enum gateway_life {
	GW_DOWN,			/* no process */
	GW_CREDENTIAL,			/* its credential is being read */
	GW_ORDERED,			/* its process is */
	GW_SETTING_UP,			/* it runs, and has not said GW_READY */
	GW_TAKES,			/* orders */
	GW_ENDING			/* nobody talks to it any more; EXITED comes */
};
struct gateway_tool {
	char *name, *json;		/* owned; its own name, its JSON as GATEWAY_TOOL has it */
	char whole[ATS_GATEWAY_TOOL_MAX];	/* GATEWAY__TOOL */
	unsigned flags;
	const struct ats_gw_tool *said;	/* of the configuration, or NULL */
};
struct gateway_tools {
	struct gateway_tool *v;
	size_t n;
};
struct gateway {
	struct vault *v;
	const struct gateway_source *src;
	enum gateway_life life;
	pid_t pid;
	int fd;				/* of its process, or -1 */
	struct event *rd, *wr, *timer;	/* timer: back-off, setting up, idle; by life */
	struct ats_err why;		/* of its last failure; code 0: none */
	unsigned failures;		/* since it last took orders for some time */
	bool took, why_took;		/* its process took orders; that of why did */
	bool fell;			/* its process ended by itself: EXITED says how */
	char last_exit[40];		/* of one that ended by itself, or "" */
	uint64_t failed_ms, ready_ms;
	bool stale;			/* ends when it has no call, and begins anew */
	bool wanted;			/* its tools are */
	/* Its upstream refused the credential: that is being read, the answer is owed. */
	bool refused_waits, credential_owed, renewed;
	size_t ncalls;			/* told the engine as started, not ended */
	/* A link between it and the engine; each end is owed to its side, or -1. */
	bool linked;			/* this process and this engine have one, or are owed it */
	uint64_t generation;		/* of the last link */
	int engine_end, own_end;
	/* Tools. coming is of GW_TOOL; tools are what calls are judged by. */
	struct gateway_tools tools, coming;
	bool known;			/* tools are; else why says why not, or nobody asked */
	size_t refused;			/* of coming: they cannot be shown */
	/* The engine is told one list at a time, whole: what is told is of telling. */
	struct gateway_tools *telling;	/* owned copy, or NULL */
	bool tools_owed;
	size_t told;
};

/* ---- gateway.c ----------------------------------------------------------------------- */
/* Makes those of the configuration. -ATS_E_NOMEM. */
ATS_NODISCARD int gateway_open_all(struct vault *v, struct ats_err *err);
void gateway_free_all(struct vault *v);
struct gateway *gateway_find(const struct vault *v, const char *name);	/* borrowed, or NULL */
/* It is to take orders: engine_sync or asks_gateway_failed follows, perhaps at once. */
void gateway_need(struct gateway *g);
/* It broke the rules, or its link did. */
void gateway_kill(struct gateway *g, const char *why);
/* Its process is of no more use: it is killed, EXITED comes. Its calls are lost. */
void gateway_end(struct gateway *g);
/* It is not to be had now; code and text are kept as why. Who waits for it hears so. */
void gateway_fail(struct gateway *g, int code, const char *text);
/* Its process ended by itself, as text says; who waits hears so, unless it took orders long. */
void gateway_fell(struct gateway *g, const char *text);
/* Whether it cannot be had, as far as is known. One whose process took orders and fell can: its
 * next call starts another, unless that was so again and again. */
bool gateway_is_broken(const struct gateway *g);
/* Those that are not well are tried again, when it is time. */
void gateway_try_all(struct vault *v);
/* After a call of it has ended: idle, or the end of a stale one. */
void gateway_check_idle(struct gateway *g);
/* Takes what is of a gateway; false: it is of something else. */
bool gateway_on_spawner(struct vault *v, struct ats_ipc_msg *m);
void gateway_credential_known(struct vault *v, const char *name, bool changed);
/* Of the engine: GATEWAY_LIST, GATEWAY_BROKEN. */
void gateway_on_list(struct vault *v, const char *name);
void gateway_on_broken(struct vault *v, const char *name, uint64_t generation);
void gateway_engine_gone(struct vault *v);

/* ---- gateway_in.c --------------------------------------------------------------------- */
/* Callback of libevent for g->rd; arg is the gateway. */
void gateway_on_readable(evutil_socket_t fd, short what, void *arg);

/* ---- gateway_out.c ------------------------------------------------------------------- */
/* GW_SETUP with the credential. An error is the end of its process. */
ATS_NODISCARD int gateway_set_up(struct gateway *g, struct ats_err *err);
/* Sends the engine what is owed; as ats_brain_send. */
ATS_NODISCARD int gateway_sync_all(struct vault *v);
/* An array of all: name, kind, state, tools, calls, error, last exit. */
void gateway_json(const struct vault *v, struct ats_json_w *w);
/* To its process; as ats_brain_send, and -ATS_E_EOF when there is none. */
ATS_NODISCARD int gateway_order(struct gateway *g, uint64_t id, uint64_t limit_ms,
    const char *tool, struct ats_slice args, const int *files, size_t nfiles);
ATS_NODISCARD int gateway_cancel_order(struct gateway *g, uint64_t id);
/* It has said GW_UNAUTHORIZED: GW_CREDENTIAL follows, with another one if there is. */
void gateway_on_unauthorized(struct gateway *g);
/* Whether it can be given an order now. */
bool gateway_takes(const struct gateway *g);
/* Something waits for room in its socket: engine_sync follows. */
void gateway_want_room(struct gateway *g);

/* ---- gateway_tools.c ------------------------------------------------------------------- */
void gateway_tools_done(struct gateway_tools *t);
/* What the configuration has of http and command; nothing of mcp. -ATS_E_NOMEM. */
ATS_NODISCARD int gateway_tools_configured(struct gateway *g, struct ats_err *err);
/* GW_TOOL and GW_TOOLS. Negative: it breaks the rules. */
ATS_NODISCARD int gateway_tools_on_tool(struct gateway *g, uint64_t flags, const char *name,
    const char *json, struct ats_err *err);
ATS_NODISCARD int gateway_tools_on_tools(struct gateway *g, uint64_t n, struct ats_err *err);
/* GATEWAY__TOOL, or NULL. */
const struct gateway_tool *gateway_tools_find(const struct gateway *g, const char *whole);
/* The list is owed to the engine; by a new one it is owed anew. */
void gateway_tools_owe(struct gateway *g);
void gateway_tools_engine_gone(struct gateway *g);
/* As ats_brain_send. */
ATS_NODISCARD int gateway_tools_sync(struct gateway *g);
/* What is required and missing in args (an object): its name in ret, false if nothing is. */
bool gateway_tool_misses(const struct gateway_tool *t, struct ats_slice args, char *ret,
    size_t size);
/* An argument that goes nowhere in the request of a tool of kind http: its name in ret, as it can
 * be shown; false if there is none. */
bool gateway_tool_has_no(const struct gateway *g, const struct gateway_tool *t,
    struct ats_slice args, char *ret, size_t size);

#endif
