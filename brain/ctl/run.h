/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program of ours and reading what it prints. Process: atsctl. */
#ifndef ATS_CTL_RUN_H
#define ATS_CTL_RUN_H

#include "common/buf.h"
#include "common/path.h"

/* argv[0] is looked up by brain_program; the rest is passed. What it writes to fd (1 or
 * 2) is appended to out. *ret_status: exit code, or 128+n. Waits up to timeout_ms, then
 * kills: -ATS_E_TIMEOUT. -ATS_E_NOENT, -ATS_E_SYS, -ATS_E_TOOBIG. */
ATS_NODISCARD int run_program(const char *const *argv, int fd, unsigned timeout_ms,
    struct ats_buf *out, int *ret_status, struct ats_err *err);

/* What ats-brain itself says about a configuration. */
struct config_verdict {
	char file[ATS_PATH_MAX + 16];	/* "" when its place is not known */
	bool exists, ok;
	char why[512];			/* when it is not ok: names file and key */
	char url[256];			/* when it is: sandbox.url, "" for stdio */
	char hooks[256];		/* how many of each event, "" for none */
	char warnings[1024];		/* a line each */
};
/* file is absolute, or NULL: the one that brain would read, which may be absent. */
void config_verdict(const char *file, struct config_verdict *ret);

#endif
