/* SPDX-License-Identifier: Apache-2.0
 *
 * A channel: frames over one connected stream socket, driven by a libevent loop.
 * Fair: control frames and results leave in order at once; streams take turns, one chunk
 * of at most ATS_CHAN_CHUNK each, and only while the socket takes bytes (back-pressure
 * reaches the producer because its pump is not called). Each stream has a credit window
 * that the peer refills; the channel counts, the owner decides what to grant.
 * Knows no frame type. Input is the peer's: any error there ends this channel only. */
#ifndef ATS_COMMON_CHAN_H
#define ATS_COMMON_CHAN_H

#include "common/frame.h"

#define ATS_CHAN_CHUNK (64u << 10)
#define ATS_CHAN_OUT_MAX (16u << 20)	/* queued bytes before send says FULL */

struct event_base;
struct ats_chan;
struct ats_stream;
struct ats_wire;

struct ats_chan_ops {
	/* Called with each header before a byte of its JSON is looked at: type, size,
	 * direction and state. Negative closes the channel with that code. */
	int (*check)(void *ctx, const struct ats_frame_head *h, struct ats_err *err);
	/* A whole frame. Negative closes the channel with that code. */
	int (*frame)(void *ctx, const struct ats_frame *f, struct ats_err *err);
	/* May be NULL. A frame whose header and JSON are here and whose payload is not yet
	 * read: returns a pipe's write end (O_NONBLOCK, borrowed until the channel returns to the
	 * loop) to splice the payload into, or -1. What the pipe does not take is delivered to
	 * frame() as payload; frame() is called in any case. Asked again at each turn of the loop
	 * that finds more of the payload, so that the owner may close the pipe in between. */
	int (*sink)(void *ctx, const struct ats_frame *f);
	/* Once, at the end; the channel may be freed in it. code is positive. */
	void (*closed)(void *ctx, int code, const char *why);
};

/* Takes fd (made non-blocking; closed also when NULL is returned, no memory). Starts reading
 * at the next turn of the loop. Ignores SIGPIPE in this process, for splice(2). */
struct ats_chan *ats_chan_new(struct event_base *base, int fd,
    const struct ats_chan_ops *ops, void *ctx);
/* The same over a wire, which it takes, also when NULL is returned. */
struct ats_chan *ats_chan_new_wire(struct event_base *base, struct ats_wire *w,
    const struct ats_chan_ops *ops, void *ctx);
/* The channel's wire, borrowed: for its exporter. */
struct ats_wire *ats_chan_wire(const struct ats_chan *c);
/* Another owner from here on, also from inside a callback of the one so far. */
void ats_chan_give(struct ats_chan *c, const struct ats_chan_ops *ops, void *ctx);
void ats_chan_free(struct ats_chan *c);	/* NULL is fine; closed() is not called */
/* Queues one frame and writes what the socket takes at once. -ATS_E_FULL, -ATS_E_NOMEM,
 * -ATS_E_TOOBIG (over ATS_FRAME_MAX) or -ATS_E_EOF; on error nothing was queued. No callback
 * runs inside. Several sends between ats_chan_cork and ats_chan_uncork leave in one write. */
ATS_NODISCARD int ats_chan_send(struct ats_chan *c, uint8_t type, uint8_t kind,
    uint64_t call, const char *json, size_t json_len, const void *payload,
    size_t payload_len);
void ats_chan_cork(struct ats_chan *c);
void ats_chan_uncork(struct ats_chan *c);
/* While sinks may exist the reader takes header, JSON and payload apart (see sink). */
void ats_chan_expect_sinks(struct ats_chan *c, bool on);
/* Closes after what is queued has left; closed() follows with that code. */
void ats_chan_close(struct ats_chan *c, int code, const char *why);
/* For closed() and after it: how many payload bytes of a frame that did not come whole went into
 * its sink. *ret_head is that frame's; untouched when 0 is returned. */
size_t ats_chan_cut(const struct ats_chan *c, struct ats_frame_head *ret_head);
/* Microseconds (CLOCK_MONOTONIC) of the last byte that came; for heartbeats. */
uint64_t ats_chan_last_rx_us(const struct ats_chan *c);
size_t ats_chan_queued(const struct ats_chan *c);	/* bytes that the socket has not taken */
int ats_chan_fd(const struct ats_chan *c);

/* ---- streams: bulk data under credit -------------------------------------------- */
/* What a pump answers: bytes come from memory or from a pipe. */
struct ats_chunk {
	uint8_t type, kind;
	char json[96];		/* e.g. {"offset":123} */
	size_t json_len;
	const char *mem;	/* borrowed until the pump returns, or NULL */
	int pipe_fd;		/* splice from here, or -1; must hold n bytes now and have no
				 * other reader (see ats_stream_take); borrowed until the stream's
				 * next pump or its free */
	size_t n;		/* 0: nothing now, the stream goes idle */
};
/* Fills chunk with at most max bytes (the smaller of credit and ATS_CHAN_CHUNK). */
typedef void (*ats_pump_fn)(void *ctx, size_t max, struct ats_chunk *ret_chunk);
/* Returns owned; free before the channel. credit: bytes that may be sent now. */
struct ats_stream *ats_stream_new(struct ats_chan *c, uint64_t call, uint64_t credit,
    ats_pump_fn pump, void *ctx);
/* For pumps: moves at most max bytes out of a pipe (O_NONBLOCK) into the chunk, whose mem,
 * pipe_fd and n it sets; returns n. 0: it gave none, be it empty, at its end, or read by
 * somebody else. Once announced in a header, bytes can no longer be taken away by those who
 * read the same pipe. */
size_t ats_stream_take(struct ats_stream *s, int pipe_fd, size_t max,
    struct ats_chunk *ret_chunk);
void ats_stream_free(struct ats_stream *s);	/* NULL is fine; half a chunk is sent to its end */
void ats_stream_ready(struct ats_stream *s);	/* there is data again */
/* -ATS_E_CREDIT on overflow of 2^63. */
ATS_NODISCARD int ats_stream_credit(struct ats_stream *s, uint64_t more);
/* Bytes that may still be sent. */
uint64_t ats_stream_credit_left(const struct ats_stream *s);

#endif
