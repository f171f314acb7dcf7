/* SPDX-License-Identifier: Apache-2.0
 *
 * stdin, stdout and stderr of atsctl exec: passed to the engine when they are pipes, else
 * through a pipe of our own. Process: atsctl. */
#ifndef ATS_CTL_STREAMS_H
#define ATS_CTL_STREAMS_H

#include "brain/ctl/io.h"

#define STREAMS_POLL_MAX 5

struct streams {
	bool want[3];		/* which of 0, 1, 2 the command gets */
	int pass[3];		/* ends for the engine, owned, -1 none */
	bool relayed[3];
	struct relay relay[3];
	bool broken;		/* nobody reads stdout any more */
};
/* -ATS_E_SYS, -ATS_E_NOMEM. */
ATS_NODISCARD int streams_open(struct streams *s, bool with_stdin, bool with_stderr,
    struct ats_err *err);
void streams_sent(struct streams *s);	/* the engine has its ends: ours are closed */
void streams_close(struct streams *s);
/* Fills up to STREAMS_POLL_MAX entries; returns how many. */
size_t streams_poll(const struct streams *s, struct pollfd *p);
/* After poll: p as streams_poll filled it. True if bytes moved or something ended. */
bool streams_step(struct streams *s, const struct pollfd *p, size_t n);
bool streams_output_ended(const struct streams *s);
bool streams_output_blocked(const struct streams *s);	/* bytes wait for a slow reader */
void streams_stop_input(struct streams *s);

/* ---- terminal: tty.c ---- */
/* Raw mode on stdin when it is a terminal; undone by tty_restore and at exit. */
void tty_raw(void);
void tty_restore(void);
/* Size of our terminal; false when there is none. */
bool tty_size(unsigned *ret_rows, unsigned *ret_cols);

#endif
