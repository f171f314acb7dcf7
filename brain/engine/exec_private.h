/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the life of an exec (exec.c) and what it writes (exec_out.c). */
#ifndef ATS_ENGINE_EXEC_PRIVATE_H
#define ATS_ENGINE_EXEC_PRIVATE_H

#include "brain/engine/exec.h"

#define EXEC_TEXT_MAX 4096

struct event;

struct exec_out {			/* stdout or stderr */
	struct exec *x;
	enum exec_stream_id id;
	int fd;				/* the client's pipe, non-blocking, or -1 */
	bool shared;			/* with the client, who can make it block again */
	struct event *event;		/* it is writable */
	struct ats_buf held;		/* came, not yet taken by the pipe */
	uint64_t offset;		/* of the next byte */
	uint64_t granted;		/* credit given in all */
	uint64_t taken;			/* left here since credit was last given */
	bool over;			/* the pipe's reader has gone */
};

struct exec {
	struct engine *e;
	struct call *call;		/* NULL before exec_start */
	char **argv;
	size_t nargv;
	bool tty;
	uint64_t rows, cols;
	char term[64];
	struct exec_out s[EXEC_STREAMS];
	struct exec_stdin *in;		/* NULL: none */
	bool linked;			/* hands hears of it: it was sent, or resumed */
	bool asked;			/* where its stdin goes on: not yet answered */
	bool counted;			/* in its sandbox's number of execs */
	bool ending;
	bool cut;			/* output was dropped that nobody took */
	bool gap;			/* output is missing that hands has no more */
	struct outcome outcome;		/* with text and exit_kind below */
	char text[EXEC_TEXT_MAX];
	char exit_kind[17];
};

extern const char *const exec_stream_names[];	/* by enum exec_stream_id */

/* Makes what waits for room in its pipe, if there is a pipe. Again is fine. -ATS_E_NOMEM. */
ATS_NODISCARD int exec_out_start(struct exec_out *s, struct ats_err *err);
/* On another link: credit that is due, and the word to a command that nobody reads. */
void exec_out_resumed(struct exec *x);
/* Closes the pipe; what still comes is taken and dropped. Again is fine. */
void exec_out_close(struct exec_out *s);
/* Finishes the call if hands has ended it and nothing is held, or in any case. x may be gone. */
void exec_finish_drained(struct exec *x, bool force);

#endif
