/* SPDX-License-Identifier: Apache-2.0
 *
 * The Bash tool: a foreground command and the text that a model gets of it. */
#ifndef ATS_HANDS_FRONT_BASH_H
#define ATS_HANDS_FRONT_BASH_H

#include "hands/front/calls.h"
#include "hands/front/shell.h"

#define BASH_TIMEOUT_MS 120000u
#define BASH_COMMAND_READY (4u << 10) /* longer commands do not use the ready bash */

/* The input and ctx of a Bash call, decoded. Strings live in the arenas. */
struct bash_input {
	struct ats_in_bash in;
	struct ats_CTX_IN ctx;
	struct ats_buf in_arena, ctx_arena;
};

/* Fills ret (bash_input_done in any case). False: the call was answered with what is
 * wrong. */
bool bash_input_read(
    struct call *c, const struct ats_msg_CALL_TOOL *m, struct bash_input *ret);
void bash_input_done(struct bash_input *b);
/* The job of such a call; borrows from b. */
void bash_job(const struct call *c, const struct bash_input *b, struct shell_job *ret);
/* Whether a shell may leave a session there: within the workspace, home, or /tmp. */
bool bash_cwd_is_allowed(const struct front *f, const char *cwd);

/* ---- bash_move.c: the part of a call that was told apart as a Bash. */
ATS_NODISCARD int bash_load(struct call *c, struct records *r);

#endif
