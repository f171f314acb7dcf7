/* SPDX-License-Identifier: Apache-2.0
 *
 * What chan.c (life), chan_send.c (sending), chan_read.c (receiving) and stream.c (bulk) share. */
#ifndef ATS_COMMON_CHAN_PRIVATE_H
#define ATS_COMMON_CHAN_PRIVATE_H

#include "common/chan.h"

#define CHAN_IN_REST 4096u		/* the receive buffer at rest: hellos, heartbeats */
#define CHAN_IN_BASE (64u << 10)	/* once that was filled, until a pause */
#define CHAN_IN_KEEP (512u << 10)	/* for a large frame, until a pause or a small one */
#define CHAN_KEEP_US 1000000u
#define CHAN_TURN_FRAMES 16u		/* per turn of the loop, so that others get theirs */
#define CHAN_TURN_BYTES (256u << 10)
/* Where nothing is spliced: with its head it fills records of TLS, 16 KiB each. A byte more would
 * be one more of them, with its two system calls. */
#define CHAN_COPY_CHUNK (ATS_CHAN_CHUNK - 256u)
#define CHAN_SPLICE_FROM (16u << 10)	/* below it one copy is cheaper than two packets */
#define CHAN_LINGER_S 5			/* for the last bytes of a channel being closed */

struct event;

struct chan_reader {
	char *buf;
	size_t cap, pos, end;		/* unread bytes are buf[pos..end) */
	struct ats_frame_head head;	/* valid when have_head; its 20 bytes are consumed */
	bool have_head;
	bool sink_over;			/* the rest of this payload goes to memory */
	size_t spliced;			/* payload bytes that went into the sink */
	bool leftover;			/* whole frames wait in buf for the next turn */
};

struct ats_chan {
	struct event_base *base;
	struct event *rd, *wr, *kick, *linger;
	const struct ats_chan_ops *ops;
	void *ctx;
	struct ats_wire *wire;
	int fd;				/* the wire's, for events and splice(2) */
	int code;			/* why it ends, with the text */
	char why[512];
	bool closing;			/* ends when out is empty */
	bool closed;			/* no more I/O; closed() is due or was called */
	bool reported;			/* closed() was called */
	bool freed;			/* by its owner, inside a callback */
	bool deaf;			/* the peer takes no more; what it sent is still read */
	bool sinks;
	bool no_splice;			/* this socket or wire cannot */
	bool pumping;
	unsigned busy;			/* callbacks on the stack */
	unsigned corked;
	uint64_t last_rx_us;

	struct ats_buf out;
	/* A chunk under way from a pipe: its bytes follow the first splice_at bytes of out. */
	struct ats_stream *splicing;
	int splice_fd;
	int hold[2];			/* our own pipe between a stream's and the socket, or -1 */
	size_t splice_at, splice_left;
	struct ats_stream *first, *last;	/* streams that have data and credit */

	struct chan_reader in;
};

/* chan.c */
void ats_chan_fail(struct ats_chan *c, int code, const char *why);
/* The peer has closed: sending is over, but frames that it sent before may still be in the
 * socket, and they count. The end of reading ends the channel. */
void ats_chan_peer_gone(struct ats_chan *c);
void ats_chan_kick(struct ats_chan *c);		/* looks what is to be done, after what runs now */
void ats_chan_again(struct ats_chan *c);	/* a kick at the next turn of the loop */

/* chan_send.c: writes what the socket takes, the spliced part included. */
void ats_chan_flush(struct ats_chan *c);

/* chan_read.c: one turn of receiving and delivering. */
void ats_chan_read_turn(struct ats_chan *c, bool readable);

/* stream.c */
void ats_stream_pump(struct ats_chan *c);
/* Sends from the pipe. 1 done, 0 the socket is full, -1 the channel failed. */
int ats_stream_splice(struct ats_chan *c);

#endif
