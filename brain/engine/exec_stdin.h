/* SPDX-License-Identifier: Apache-2.0
 *
 * The stdin of an exec: from a client's pipe to the link, under hands' credit. What was sent is
 * held until hands has taken it, and sent again over another link. */
#ifndef ATS_ENGINE_EXEC_STDIN_H
#define ATS_ENGINE_EXEC_STDIN_H

#include "brain/engine/call.h"

struct exec_stdin;

/* Takes fd, the read end (O_NONBLOCK; shared: its client can undo that), also on failure. Returns
 * owned or NULL. */
struct exec_stdin *exec_stdin_new(int fd, bool shared);
void exec_stdin_free(struct exec_stdin *in);	/* NULL is fine */
/* The call was sent. -ATS_E_NOMEM. */
ATS_NODISCARD int exec_stdin_start(struct exec_stdin *in, struct call *c, struct ats_err *err);
/* Hands grants credit. */
ATS_NODISCARD int exec_stdin_window(
    struct exec_stdin *in, uint64_t bytes, struct ats_err *err);
/* The link is lost. Until it is resumed nothing is read. */
void exec_stdin_unlinked(struct exec_stdin *in);
uint64_t exec_stdin_sent(const struct exec_stdin *in);
/* Goes on from byte at, with this credit. -ATS_E_PROTO: it cannot. */
ATS_NODISCARD int exec_stdin_resumed(struct exec_stdin *in, uint64_t at, uint64_t window,
    struct ats_err *err);
/* Nothing is read any more. */
void exec_stdin_stop(struct exec_stdin *in);

#endif
