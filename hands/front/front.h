/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of front share. One per process; each part owns the pointer that carries
 * its name and gives the others functions only. */
#ifndef ATS_HANDS_FRONT_FRONT_H
#define ATS_HANDS_FRONT_FRONT_H

#include "common/buf.h"
#include "hands/front/front_options.h"
#include "hands/key.h"

struct background;
struct calls;
struct delivery;
struct event_base;
struct gateway;
struct link;
struct pool;
struct report;
struct spill_store;
struct upgrade;

#define FRONT_RX_BYTES (64u << 10)     /* one read from a worker */
#define FRONT_RX_MAX (5u << 20)	       /* a reply with what came before it */
#define FRONT_RX_KEEP (512u << 10)     /* of it, until the pool is idle */
#define FRONT_BLOCK_BYTES (128u << 10) /* one read from a pipe */

struct front {
	struct front_options opt;
	struct key key;
	struct ats_secret *key_texts;	/* that it was made of, for the next front; or NULL */
	struct ats_tls *tls;	/* of opt.addr, where it is of that kind */
	bool tls_elsewhere;	/* it may end before brain, at whom CAs vouch for */
	struct event_base *base;
	struct link *link;
	struct calls *calls;
	struct pool *pool;
	struct background *background;
	struct report *report;
	struct gateway *gateway;
	struct delivery *delivery;
	struct spill_store *spills;
	struct upgrade *upgrade;
	char boot[32];
	uint64_t gateway_ids; /* that the front before has given */
	bool draining; /* no more calls; ends when idle */
	bool unconfined; /* the self-test failed: no call was taken, none will be */
	/* Memory for the next reply. Who reads takes it, and gives it back when the reply has
	 * been handled: large ones come into pages that are there. Empty after idle time. */
	struct ats_buf rx;
	/* Scratch of one callback: block is for pipes, out for a message being made. Nobody
	 * keeps a pointer into them. */
	char *block;
	struct ats_buf arena; /* strings of the message being decoded */
	struct ats_buf out;
};

/* The role. Returns the exit status: 0 after an orderly end, 125 when confinement failed.
 */
int front_main(int argc, char **argv);
/* Ends the loop after the present callback. */
void front_stop(struct front *f, const char *why);
/* The same with exit status 125: the box does not hold what it promises. The peer hears it. */
void front_refuse(struct front *f, const char *why);
/* Ends the loop if a drain was asked for and nothing is left to do. */
void front_stop_if_drained(struct front *f);

#endif
