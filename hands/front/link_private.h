/* SPDX-License-Identifier: Apache-2.0
 *
 * What link.c and link_frames.c share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_LINK_PRIVATE_H
#define ATS_HANDS_FRONT_LINK_PRIVATE_H

#include "hands/front/link.h"

struct event;

struct link {
	struct front *f;
	struct ats_chan *chan; /* NULL: nobody is attached */
	enum ats_state state;
	bool hello;  /* the peer's has come */
	bool tested; /* the self-test has ended */
	bool said_goodbye;
	uint64_t epoch;
	int listen_fd;
	bool passed;	 /* by listen_fd come connections that the launcher accepted */
	struct event *accept_ev;
	struct event *retention;
};

/* Encodes and sends one message. As link_send, or -ATS_E_FIELD. */
int link_send_msg(struct link *l, enum ats_frame_id id, uint64_t call, const void *msg);
/* READY, once the peer said HELLO and the self-test has ended. */
void link_ready_if_both(struct link *l);
/* One frame that passed the gate, to its handler. Negative: the peer broke a rule. */
int link_frame(struct link *l, const struct ats_frame *fr, struct ats_err *err);

#endif
