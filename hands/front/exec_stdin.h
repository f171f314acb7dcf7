/* SPDX-License-Identifier: Apache-2.0
 *
 * The stdin of an exec: bytes under credit into a pipe that may be full. */
#ifndef ATS_HANDS_FRONT_EXEC_STDIN_H
#define ATS_HANDS_FRONT_EXEC_STDIN_H

#include "hands/front/calls.h"

struct exec_stdin;

/* Grants the first window. Returns owned or NULL. */
struct exec_stdin *exec_stdin_new(struct call *c);
void exec_stdin_free(struct exec_stdin *in); /* closes the pipe; NULL is fine */
/* The program runs; fd (taken) is where its input goes. Once. */
void exec_stdin_open(struct exec_stdin *in, int fd);
/* A frame's bytes; the first ones may be in the pipe already. Negative: over credit, or
 * not the offset that follows. */
ATS_NODISCARD int exec_stdin_take(struct exec_stdin *in, const struct ats_frame *fr,
    const struct ats_msg_EVENT_STDIN *m, struct ats_err *err);
/* On another link: tells the peer where to go on. sent: what it says that it sent. Negative: that
 * is less than came. */
ATS_NODISCARD int exec_stdin_resume(struct exec_stdin *in, uint64_t sent, struct ats_err *err);
/* n bytes of a frame went into the pipe that did not come whole. */
void exec_stdin_half(struct exec_stdin *in, size_t n);
/* The pipe, when nothing waits before it; else -1. */
int exec_stdin_sink_fd(const struct exec_stdin *in);

#endif
