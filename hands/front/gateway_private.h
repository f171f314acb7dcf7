/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two parts of the gateway share; nobody else includes this.
 *   gateway.c        calls on their way, and brain's frames
 *   gateway_peer.c   programs in the sandbox: their connections and their frames */
#ifndef ATS_HANDS_FRONT_GATEWAY_PRIVATE_H
#define ATS_HANDS_FRONT_GATEWAY_PRIVATE_H

#include <sys/types.h>

#include "hands/front/gateway.h"
#include "proto/msg.h"

struct ats_chan;
struct ats_acceptor;

#define GATEWAY_PEERS 16u
#define GATEWAY_CALLS 64u		/* of a peer */
#define GATEWAY_HELD (16u << 20)	/* arguments of all calls together */
#define GATEWAY_QUEUE (8u << 20)	/* for a peer that does not read */
#define GATEWAY_ACCEPTS 64u		/* connections taken in a second */

struct gateway_peer {
	struct gateway *g;
	struct gateway_peer *next;
	struct ats_chan *chan;
	unsigned calls;
	bool leaves;		/* its channel closes: nothing more is sent or taken */
};
struct gateway_call {
	struct gateway_call *next;
	struct gateway_peer *peer;
	uint64_t id, its;	/* ours, and the peer's */
	uint64_t deadline_us;	/* 0: none of its own */
	bool sent;		/* once at least: brain may know it */
	bool progress;
	char name[65], session[33];	/* session "": none was named */
	char *input;
	size_t n;
};
struct gateway {
	struct front *f;
	int listen_fd;
	struct ats_acceptor *acceptor;
	uint64_t second_ms;
	unsigned accepted;	/* in that second */
	uint64_t log_ms, unlogged;	/* peers that broke a rule */
	struct gateway_peer *peers;
	unsigned npeers;
	struct gateway_call *first, **last;	/* by id */
	uint64_t ids;		/* given so far */
	size_t held;
	char *tools;		/* the newest control.tools, as it came; or NULL */
	size_t tools_len;
};

/* ---- gateway.c ----------------------------------------------------------------------- */
/* A call that passed the gate. Whatever is wrong with it alone is answered. -ATS_E_ID_REUSED:
 * the peer has one of that id. */
ATS_NODISCARD int gateway_call(struct gateway_peer *p, uint64_t its,
    const struct ats_msg_CALL_GATEWAY *m, struct ats_err *err);
/* It is no longer wanted; an answer comes only to one that brain never had, or cannot be told. */
void gateway_cancel(struct gateway_peer *p, uint64_t its);
/* All of that peer's, without an answer. */
void gateway_forget(struct gateway_peer *p);

/* ---- gateway_peer.c ------------------------------------------------------------------ */
ATS_NODISCARD int gateway_listen(struct gateway *g);
void gateway_peer_free(struct gateway_peer *p);
/* One that does not read is dropped instead. */
void gateway_peer_send(struct gateway_peer *p, enum ats_frame_id id, uint64_t its,
    const char *json, size_t json_len, const char *payload, size_t payload_len);

#endif
