/* SPDX-License-Identifier: Apache-2.0
 *
 * One output stream of an exec, from the program's pipe to the link. What was sent is held until
 * the peer has acknowledged it, by the credit it gives. While nobody is attached the program
 * runs on: its output is held, then spilled to a file, and only when that is full it waits. */
#ifndef ATS_HANDS_FRONT_EXEC_OUT_H
#define ATS_HANDS_FRONT_EXEC_OUT_H

#include "common/chan.h"
#include "hands/front/calls.h"

#define EXEC_HELD (1u << 20)	/* at least so much of a stream stays in memory */

struct exec_out;

/* which: 0 stdout, 1 stderr. window: the peer's first credit. finish (borrowed) is activated
 * when the stream is over after its end. Returns owned or NULL. */
struct exec_out *exec_out_new(
    struct call *c, unsigned which, uint64_t window, struct event *finish);
void exec_out_free(struct exec_out *o);	/* NULL is fine; closes no pipe */
/* The program runs; its pipe is borrowed until exec_out_close. */
void exec_out_open(struct exec_out *o, int fd);
void exec_out_close(struct exec_out *o);
/* Somebody is attached, and has been sent everything so far. false: no memory. */
bool exec_out_attach(struct exec_out *o, struct ats_chan *chan);
/* The same, who has have bytes and gives this credit. What cannot be sent again is a gap.
 * -ATS_E_FIELD: more than was sent. -ATS_E_NOMEM. */
ATS_NODISCARD int exec_out_resume(struct exec_out *o, struct ats_chan *chan, uint64_t have,
    uint64_t window, struct ats_err *err);
void exec_out_detach(struct exec_out *o);
/* -ATS_E_CREDIT: too much. -ATS_E_STATE: it was not resumed. */
ATS_NODISCARD int exec_out_credit(struct exec_out *o, uint64_t bytes);
/* The program has ended: what its pipe has now is the last. */
void exec_out_end(struct exec_out *o);
/* After the end: sends no more than the credit there is, and says how much is missing. */
void exec_out_give_up(struct exec_out *o);
/* After the end: sends nothing more. */
void exec_out_cut(struct exec_out *o);
/* After the end: sends what is left, at once if that is little, else as there is credit. */
void exec_out_send_rest(struct exec_out *o);
/* The program has ended, and who is attached was sent all of it. NULL is. */
bool exec_out_is_over(const struct exec_out *o);

#endif
