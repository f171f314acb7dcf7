/* SPDX-License-Identifier: Apache-2.0
 *
 * CALL exec: a program whose stdin, stdout and stderr go over the link under credit. */
#ifndef ATS_HANDS_FRONT_EXEC_H
#define ATS_HANDS_FRONT_EXEC_H

#include "hands/front/calls.h"

#define EXEC_STDIN_WINDOW \
	(1u << 20) /* stdin bytes that front takes ahead of the program */

void exec_start(struct call *c, const struct ats_msg_CALL_EXEC *m);
/* Frames for a running exec. Those for a call that has ended are late, not hostile. */
ATS_NODISCARD int exec_on_stdin(struct front *f, const struct ats_frame *fr,
    const struct ats_msg_EVENT_STDIN *m, struct ats_err *err);
ATS_NODISCARD int exec_on_window(struct front *f, uint64_t call, const char *stream,
    uint64_t bytes, struct ats_err *err);
/* Output goes on from where brain says. Negative: there is none to go on with, or it cannot be
 * so. */
ATS_NODISCARD int exec_on_resume(struct front *f, uint64_t call,
    const struct ats_msg_RESUME *m, struct ats_err *err);
void exec_on_signal(struct front *f, uint64_t call, unsigned number);
void exec_on_resize(struct front *f, uint64_t call, unsigned rows, unsigned cols);
/* The pipe that this stdin frame's payload may be spliced into, or -1. */
int exec_stdin_sink(struct front *f, const struct ats_frame *fr);
/* The link was cut within a stdin frame, of which n bytes are in that pipe. */
void exec_stdin_cut(struct front *f, uint64_t call, size_t n);

/* ---- exec_move.c: the part of a call that was told apart as an exec. */
ATS_NODISCARD int exec_load(struct call *c, struct records *r);

#endif
