/* SPDX-License-Identifier: Apache-2.0
 *
 * What BashOutput and KillShell say. */
#ifndef ATS_HANDS_FRONT_BACKGROUND_TEXT_H
#define ATS_HANDS_FRONT_BACKGROUND_TEXT_H

#include "hands/front/calls.h"
#include "hands/front/outcome.h"

struct spill;

enum job_status { JOB_RUNNING, JOB_COMPLETED, JOB_FAILED, JOB_KILLED };
struct job_view {
	char id[24];
	enum job_status status;
	/* 128 + signal number when one ended the shell; 137 when we ended it, however it took
	 * the TERM that comes first, unless a trap chose a status. */
	unsigned exit_code;
	enum outcome_kind kind;
	enum outcome_by by;
	bool pids; /* it reached the process limit */
	bool disk; /* when it ended the disk budget was exceeded */
	unsigned survivors;
	char names[256]; /* of the survivors, any bytes */
	struct spill *spill; /* borrowed */
	uint64_t read_to;    /* position up to which BashOutput has told */
	char note[96];	     /* or empty */
};

/* Each answers the call. */
void background_text_started(struct call *c, const struct job_view *j);
void background_text_killed(struct call *c, const struct job_view *j);
void background_text_status(struct call *c, const struct job_view *j);
void background_text_output(struct call *c, struct job_view *j);
/* Hands the new output to a read worker, which filters it. */
void background_text_filter(
    struct call *c, struct job_view *j, const struct ats_frame *fr);

#endif
