/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of a tool through the door, its answer on stdout: what atsctl call and atsctl gateway
 * call are. Process: atsctl. */
#ifndef ATS_CTL_CALLING_H
#define ATS_CTL_CALLING_H

#include "brain/ctl/brain.h"

struct calling {
	struct session_ask ask;	/* key is set by calling_run */
	uint64_t timeout_ms;	/* 0: the tool's own */
	bool validate;		/* only the tool's checks */
	const char *data_file;	/* the tool's raw bytes go there, or NULL */
};
/* json: an object as text, or "-" for stdin. Returns the exit code: 0, 1 tool error, 125
 * not run. */
int calling_run(struct ctl *c, const struct calling *a, const char *tool, const char *json);

#endif
