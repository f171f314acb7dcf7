/* SPDX-License-Identifier: Apache-2.0
 *
 * What bash.c and bash_move.c share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_BASH_PRIVATE_H
#define ATS_HANDS_FRONT_BASH_PRIVATE_H

#include "hands/front/bash.h"
#include "hands/front/capture.h"
#include "hands/front/record.h"
#include "hands/front/spill.h"

struct bash {
	struct call *c;
	struct shell *sh;
	struct capture text, side[2]; /* in order; stdout and stderr apart when split */
	struct spill *spill;
	bool no_spill; /* it failed to open: said once, in the result */
	char *command, *cwd;
	uint64_t limit_ms;
	enum outcome_by limit_by;
	uint64_t next_progress_us;
	struct event later; /* output that came too soon after what was told */
	bool ignored_flag; /* dangerouslyDisableSandbox was given */
	struct event step; /* finishing the spill file */
	struct shell_end end;
	struct job_exit exit;
};

extern const struct call_ops bash_call_ops;
extern const struct shell_ops bash_shell_ops;

void bash_on_later(evutil_socket_t fd, short what, void *arg);

/* ---- bash_move.c */
enum call_move bash_move(const struct call *c);
int bash_save(struct call *c, struct records *r);

#endif
