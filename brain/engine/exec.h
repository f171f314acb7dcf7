/* SPDX-License-Identifier: Apache-2.0
 *
 * A command with the client's own pipes: bytes of stdout and stderr are spliced from the
 * link into them, stdin the other way, all under credit. A tool that gives raw data has a
 * pipe for them too: they are its stdout. */
#ifndef ATS_ENGINE_EXEC_H
#define ATS_ENGINE_EXEC_H

#include "brain/engine/call.h"
#include "proto/msg.h"

enum exec_stream_id { EXEC_STDIN, EXEC_STDOUT, EXEC_STDERR, EXEC_STREAMS };

struct exec_ask {
	const char *const *argv;	/* borrowed */
	size_t nargv;
	bool tty;
	uint64_t rows, cols;
	char term[64];			/* TERM of the command; "": what hands has */
	int fds[EXEC_STREAMS];		/* taken on success; -1: none */
};
/* Checks the descriptors (FIFOs) and copies argv. */
ATS_NODISCARD int exec_new(struct engine *e, const struct exec_ask *ask, struct exec **ret,
    struct ats_err *err);
void exec_free(struct exec *x);	/* NULL is fine; closes the pipes */
/* Before it was sent: a shell runs command instead of its words. */
ATS_NODISCARD int exec_set_command(struct exec *x, const char *command);
uint64_t exec_window_size(const struct exec *x);	/* first credit of its output */
/* Fills CALL_EXEC but for ctx, session and deadline. */
void exec_fill(const struct exec *x, struct ats_msg_CALL_EXEC *m);
const char *exec_term(const struct exec *x);	/* "" if the client named none */
/* CALL_EXEC has gone to hands: streams begin. */
ATS_NODISCARD int exec_start(struct exec *x, struct call *c, struct ats_err *err);
/* Before the payload is read: -ATS_E_CREDIT if it is over the window. */
ATS_NODISCARD int exec_check(struct exec *x, enum exec_stream_id id, uint64_t n,
    struct ats_err *err);
/* The pipe to splice into, or -1. */
int exec_sink(struct exec *x, enum exec_stream_id id);
/* A chunk came: total bytes, of which rest (n) were not spliced. */
ATS_NODISCARD int exec_output(struct exec *x, enum exec_stream_id id, uint64_t offset,
    uint64_t total, const char *rest, size_t n, struct ats_err *err);
ATS_NODISCARD int exec_gap(struct exec *x, enum exec_stream_id id, uint64_t from, uint64_t to,
    struct ats_err *err);
/* Hands grants credit for stdin. */
ATS_NODISCARD int exec_window(struct exec *x, uint64_t bytes, struct ats_err *err);
/* The link is lost, hands may go on: the client's pipes wait. */
void exec_unlinked(struct exec *x);
/* The link was cut within an output frame, of which n bytes are in the client's pipe. */
void exec_half(struct exec *x, enum exec_stream_id id, uint64_t n);
/* On another link, and hands goes on: says what is here of its output. */
void exec_resume(struct exec *x);
/* Its answer: what it has of stdin, and credit from there. */
ATS_NODISCARD int exec_resumed(struct exec *x, uint64_t in, uint64_t window,
    struct ats_err *err);
/* The result is here (copied): the call is finished with it once the bytes still held have
 * left. The call, and x with it, may be gone after this. */
void exec_end(struct exec *x, const struct outcome *o);
/* Waits no more for the client to take them: the call is finished now. */
void exec_drain_stop(struct exec *x);
/* The call was answered before hands ended it: its client's pipes are closed, and what still
 * comes is dropped. NULL is fine. */
void exec_let_go(struct exec *x);
/* The sandbox is gone. */
void exec_lost(struct exec *x);
enum exec_stream_id exec_stream_of(const char *name);	/* EXEC_STREAMS if unknown */

#endif
