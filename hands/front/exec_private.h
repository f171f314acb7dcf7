/* SPDX-License-Identifier: Apache-2.0
 *
 * What exec.c, exec_out.c, exec_stdin.c and exec_move.c share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_EXEC_PRIVATE_H
#define ATS_HANDS_FRONT_EXEC_PRIVATE_H

#include "common/hold.h"
#include "hands/front/exec.h"
#include "hands/front/exec_out.h"
#include "hands/front/exec_stdin.h"
#include "hands/front/record.h"
#include "hands/front/shell.h"

#define EXEC_GRANT_FROM (EXEC_STDIN_WINDOW / 4) /* smaller grants are saved up */

struct exec {
	struct call *c;
	struct shell *sh; /* NULL: not yet, or its end was told */
	struct exec_out *out[2];
	struct exec_stdin *in; /* NULL: none */
	bool linked;	       /* its streams are those of the link that there is */
	bool unwanted;	       /* a brain that does not know it wants its result only */
	bool ended;
	bool told; /* the result was sent on this link */
	struct event finish_ev;
	struct shell_end end;
	struct job_exit exit;
};

struct exec_out {
	struct call *c;
	unsigned which;
	struct event *finish;
	int fd;			   /* the pipe (borrowed), or -1: none, or at its end */
	struct event ev;
	bool watched;
	struct ats_stream *stream; /* NULL: nobody is attached, or has not resumed yet */
	uint64_t window;	   /* the peer's first credit */
	uint64_t granted;	   /* position up to which it may be sent */
	uint64_t sent;		   /* position of the next byte to send */
	struct ats_hold hold;
	struct spill *spill;	   /* what follows the bytes held, or NULL */
	uint64_t unspilled;	   /* bytes of it that were taken out again */
	struct ats_buf rest;	   /* what follows and could not be spilled */
	bool ended;
	uint64_t stop, end;	   /* when it ended: no byte from stop to end is sent */
};

struct exec_stdin {
	struct call *c;
	int fd;			   /* -1: not yet, or closed */
	bool started, eof, broken; /* broken: the program closed it, bytes are dropped */
	uint64_t received;	   /* offset that must follow */
	uint64_t granted;	   /* offset up to which the peer may send */
	uint64_t owed;		   /* consumed and not granted again yet */
	struct ats_buf queue;
	struct event ev;
};

extern const struct call_ops exec_call_ops;
extern const struct shell_ops exec_shell_ops;

void exec_on_finish(evutil_socket_t fd, short what, void *arg);
void exec_stdin_on_writable(evutil_socket_t fd, short what, void *arg);

/* ---- exec_move.c */
enum call_move exec_move(const struct call *c);
int exec_save(struct call *c, struct records *r);

#endif
