/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw data of a call, through a pipe into a file. */
#ifndef ATS_CTL_DATA_H
#define ATS_CTL_DATA_H

#include "common/err.h"

struct data {
	int file;	/* where it goes */
	int pipe;	/* where it comes from; -1: that was all */
	int pass;	/* the write end, for the engine */
};
/* name: a file, or "-" for stdout. */
ATS_NODISCARD int data_open(struct data *d, const char *name, struct ats_err *err);
void data_passed(struct data *d);	/* the engine has the write end */
/* Moves what there is. On error the pipe is closed: nobody is to fill it any more. */
ATS_NODISCARD int data_move(struct data *d, struct ats_err *err);
/* The answer is here: the engine has closed its end, or is about to. */
ATS_NODISCARD int data_rest(struct data *d, struct ats_err *err);
void data_close(struct data *d);

#endif
