/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a Bash call: text, structured form, exit taxonomy and context delta. */
#ifndef ATS_HANDS_FRONT_BASH_TEXT_H
#define ATS_HANDS_FRONT_BASH_TEXT_H

#include "hands/front/calls.h"
#include "hands/front/shell.h"

struct capture;
struct front;
struct spill;

struct bash_text { /* all borrowed */
	struct front *f;
	const struct capture *text;    /* stdout and stderr as they came */
	const struct capture *side[2]; /* apart, or NULL */
	const struct shell_end *end;   /* exit is not NULL */
	const char *command;	       /* or NULL */
	const char *cwd;	       /* the session's */
	struct spill *spill;	       /* or NULL */
	bool spill_failed;
	bool ignored_flag;
	uint64_t limit_ms;
	enum outcome_by limit_by;      /* whose limit that is */
};

/* Answers the call. */
void bash_text_answer(struct call *c, const struct bash_text *t);
/* Appends the text alone and says what it is; for tests and for background commands. The
 * new cwd, if there is one, is in *ret_cwd (borrowed from t) or NULL. */
ATS_NODISCARD int bash_text_make(const struct bash_text *t, const struct outcome *o,
    struct ats_buf *out, const char **ret_cwd);

#endif
