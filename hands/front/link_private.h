/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the link share; nobody else includes this.
 *   link.c         the attachment: ready, heartbeat, retention
 *   link_frames.c  frames of the attachment, after ready
 *   link_peer.c    one connection: what it says before, its end
 *   link_prove.c   whether it is who it says
 *   link_accept.c  where connections come from */
#ifndef ATS_HANDS_FRONT_LINK_PRIVATE_H
#define ATS_HANDS_FRONT_LINK_PRIVATE_H

#include "common/wire.h"
#include "hands/front/link.h"
#include "proto/prove.h"

struct ats_acceptor;
struct event;
struct link;

/* Connections beside the attachment. With ACCEPT_A_SECOND of them coming each has a second and a
 * half to say who it is: TLS, WebSocket, hello and proof are four ways there and back. */
#define LINK_WAITING_MAX 48u
#define LINK_HELLO_MS 10000u	/* for a hello, and a proof */

/* A connection. It waits until it has said who it is, then it is the attachment or ends. */
struct peer {
	struct link *l;
	struct peer *next;	/* that waits */
	struct ats_chan *chan;
	struct event *timer;
	enum ats_state state;
	bool proves;	/* who it is must be proven */
	bool hello;	/* its has come and is right */
	bool takeover;
	bool wrong;	/* its proof; it will hear so */
	bool tls;	/* exporter is of its session */
	unsigned char exporter[32];
	bool said_goodbye;	/* it, or we */
	uint64_t epoch;
	char nonce[ATS_PROVE_HEX], its_nonce[ATS_PROVE_HEX];
};

struct link {
	struct front *f;
	struct peer *at;	/* the attachment, or NULL */
	struct peer *waiting;	/* by arrival, with those that have been told to leave */
	bool tested;		/* the self-test has ended */
	uint64_t epoch;		/* of the last attachment */
	uint64_t ready_us, ping_seq;
	struct event *retention, *heartbeat;

	int listen_fd;
	bool asked;		/* the dialer, for one */
	bool known;		/* the last link was an attachment */
	struct ats_acceptor *acceptor;	/* a socket of ours that listens, or NULL; */
	struct event *passed;	/* or connections of the launcher's or the dialer's */

	struct event *pause;	/* until the next wrong proof is answered */
	unsigned pause_ms;
	uint64_t failed_ms;	/* when the last one was */
	uint64_t strangers, strangers_ms;	/* that ended; when that was last logged */
};

/* ---- link.c ------------------------------------------------------------------------- */
/* Encodes and sends one message. As link_send, or -ATS_E_FIELD. */
int link_send_msg(struct link *l, enum ats_frame_id id, uint64_t call, const void *msg);
/* It is the newest of those that wait. */
void link_wait(struct peer *p);
/* It has said, and proven where that is asked for, who it is: it attaches, or hears why not. Frees
 * others, not it. */
void link_admit(struct peer *p);
/* The channel of one has ended: it is freed. */
void link_ended(struct peer *p, int code, const char *why);

/* ---- link_frames.c ------------------------------------------------------------------ */
/* One frame of the attachment that passed the gate, to its handler. Negative: the peer broke a
 * rule. */
int link_frame(struct link *l, const struct ats_frame *fr, struct ats_err *err);

/* ---- link_peer.c -------------------------------------------------------------------- */
/* Takes w. Says hello; it waits then. -ATS_E_NOMEM. */
ATS_NODISCARD int peer_new(struct link *l, struct ats_wire *w, bool proves);
void peer_free(struct peer *p);
int peer_send(struct peer *p, enum ats_frame_id id, const void *msg);
/* Says why, and closes. */
void peer_goodbye(struct peer *p, int code, const char *text);
int peer_on_goodbye(struct peer *p, const struct ats_frame *fr, struct ats_err *err);
/* Its socket has ended, or will. */
bool peer_is_gone(const struct peer *p);

/* ---- link_prove.c ------------------------------------------------------------------- */
/* Both hellos are here: says our proof. */
ATS_NODISCARD int link_prove(struct peer *p, const struct ats_msg_HELLO *its,
    struct ats_err *err);
int link_on_prove(struct peer *p, const struct ats_frame *fr, struct ats_err *err);
/* It did not prove who it is: it hears one text, whatever the cause, now or after the pause. */
void link_not_proven(struct peer *p);
/* The pause is over. arg: struct link. */
void link_on_pause(int fd, short what, void *arg);

/* ---- link_accept.c ------------------------------------------------------------------ */
ATS_NODISCARD int link_listen(struct link *l, int listen_fd);
/* Takes a connected socket. network: of the address that we listen at or connect to, whose wire
 * it gets, and to be proven. */
ATS_NODISCARD int link_take(struct link *l, int fd, bool network, struct ats_err *err);
/* Where we connect: asks the dialer for a connection when there is none. */
void link_want(struct link *l);

#endif
