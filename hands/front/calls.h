/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls: new, waiting for a worker, running, finished and kept,
 * acknowledged. An id has one result for ever; a second CALL with it gets the same one.
 * Each kind of call (a tool in a worker, Bash, exec, background) brings a struct
 * call_ops. */
#ifndef ATS_HANDS_FRONT_CALLS_H
#define ATS_HANDS_FRONT_CALLS_H

#include "common/buf.h"
#include "proto/tools.h"

#include <event2/event.h>
#include <event2/event_struct.h>

struct call;
struct front;
struct records;

#define CALL_PROGRESS_US 200000u
#define CALLS_ACTIVE 256u	      /* waiting and running */
#define CALLS_MAX 1024u		      /* with the kept ones */
#define CALLS_KEPT_BYTES (64u << 20)  /* of kept or unsent results */
#define CALLS_UNSENT_JOBS (64u << 20) /* of inputs that wait for their workers */

/* What becomes of it when another front takes the place of this one. */
enum call_move {
	CALL_WAITS, /* that waits until it has ended, or moves */
	CALL_LEAVES, /* the same, but not for long: brain sends it again */
	CALL_MOVES
};
struct call_ops {
	unsigned part; /* enum record_part, of one that moves */
	/* NULL: CALL_WAITS, or CALL_LEAVES where no result is kept. */
	enum call_move (*move)(const struct call *c);
	/* Of one that moves: its part, as records behind the call's. Negative with their err. */
	int (*save)(struct call *c, struct records *r);
	/* Ends it early; exactly one answer follows, now or later. */
	void (*cancel)(struct call *c, bool timeout);
	/* Whether a kept call goes on when the link is lost. */
	bool survives;
	/* The part stays with the kept result, which it sends again by itself. */
	bool keeps_part;
	/* The link is lost and it goes on. May be NULL. */
	void (*unlinked)(struct call *c);
	/* Ends what still runs and frees c->part; nothing of it calls back any more. */
	void (*free)(struct call *c);
};
enum call_state { CALL_ACTIVE, CALL_KEPT };
struct call {
	uint64_t id;
	struct front *f;
	enum call_state state;
	const struct ats_tool_row *row; /* NULL: exec */
	bool keep, progress, split, unsent;
	bool validate; /* only its tool's checks: nothing is done */
	char session[33];
	uint64_t fingerprint;			    /* of name and input */
	uint64_t arrival_us, start_us, deadline_us; /* 0: not yet, none */
	uint64_t setup_us;			    /* it waited for a worker to be made */
	uint64_t progress_us;			    /* of the last one sent */
	struct event timer;
	const struct call_ops *ops;
	void *part;
	struct ats_buf json, payload; /* of the result, while kept or unsent */
};

struct calls *calls_new(struct front *f); /* returns owned or NULL */
void calls_free(struct calls *t);
/* Frames. Negative: the peer broke the protocol. */
ATS_NODISCARD int calls_on_tool(
    struct calls *t, const struct ats_frame *fr, struct ats_err *err);
ATS_NODISCARD int calls_on_validate(
    struct calls *t, const struct ats_frame *fr, struct ats_err *err);
ATS_NODISCARD int calls_on_exec(
    struct calls *t, const struct ats_frame *fr, struct ats_err *err);
ATS_NODISCARD int calls_on_hook(
    struct calls *t, const struct ats_frame *fr, struct ats_err *err);
void calls_on_cancel(struct calls *t, uint64_t id, bool timeout);
void calls_on_ack(struct calls *t, uint64_t id);
struct call *calls_find(const struct calls *t, uint64_t id); /* borrowed, or NULL */
/* The link is lost: what cannot survive it ends without an answer. */
void calls_on_link_lost(struct calls *t);
/* After READY: kept results are sent again. */
void calls_resend(struct calls *t);
/* Appends the ids of active and kept calls as a JSON array. */
ATS_NODISCARD int calls_list(const struct calls *t, struct ats_buf *out);
size_t calls_active(const struct calls *t);

/* ---- calls_move.c */
/* The least of what becomes of them. */
enum call_move calls_move(const struct calls *t);
/* All that goes on over a lost link, as records. *ret_n: how many. */
ATS_NODISCARD int calls_save(const struct calls *t, struct records *r, uint64_t *ret_n);
/* One, whose CALL was read into rec. */
union record_any;
ATS_NODISCARD int calls_load(struct calls *t, struct records *r, union record_any *rec);

/* ---- for the kinds of calls -------------------------------------------------------- */
/* Each answer ends the call: afterwards c and its part are gone or kept by the table.
 * r's outcome may be NULL ("done"); its times are filled in. */
void call_answer(struct call *c, struct ats_msg_RESULT *r, const char *payload, size_t n);
/* json is a RESULT that was checked; times are added when they are not in it. */
void call_answer_json(struct call *c, const struct ats_msg_RESULT *r, const char *json,
    size_t json_len, const char *payload, size_t n);
/* An error result with this text. started: its outcome is done, else not_started. */
void call_fail(struct call *c, bool started, int code, const char *fmt, ...)
    ATS_PRINTF(4, 5);
/* The tool's input, decoded into its struct. False: the call was answered with what is wrong.
 */
bool call_input(
    struct call *c, const struct ats_msg_CALL_TOOL *m, void *ret, struct ats_buf *arena);
/* Marks the start of the work. */
void call_started(struct call *c);
/* Arms the deadline again: ms from now, 0 none. */
void call_deadline(struct call *c, uint64_t ms);
/* Sends a kept result, or sees to that it is tried again. */
void call_send_kept(struct call *c);
/* EVENT progress, if the peer asked for it and is there; more than some a second are
 * dropped. */
void call_progress(struct call *c, const char *message, uint64_t done);
/* The same with the newest of its output, valid UTF-8, at most CALL_NEWEST bytes. */
#define CALL_NEWEST 8192u
void call_progress_with(
    struct call *c, const char *message, uint64_t done, struct ats_slice newest);

#endif
