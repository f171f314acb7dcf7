/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl shutdown: ends a per-user brain and waits until it has gone. Process: atsctl. */
#include <poll.h>
#include <unistd.h>

#include "brain/ctl/brain.h"

#define WAIT_MS 30000

int
cmd_shutdown(struct ctl *c, int argc, char **argv)
{
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	static struct ats_ipc_msg m;	/* 64 KiB */
	int code, rc;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	rc = brain_connect(c, false, &fd, &err);
	if (rc == -ATS_E_NOENT) {
		(void)printf(c->json ? "{\"running\":false}\n" : "no brain runs\n");
		return CTL_OK;
	}
	if (rc == 0) {
		rc = brain_ask(fd, ATS_MSG_SHUTDOWN, NULL, NULL, &m, &err);
		if (rc == 0)
			ats_ipc_done(&m);
		if (rc == -ATS_E_EOF)	/* it left before it could answer */
			rc = 0;
	}
	if (rc == 0) {	/* the connection ends with the process */
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, WAIT_MS) == 0)
			rc = ats_err_set(&err, ATS_E_SILENT,
			    "brain has not ended after 30 s; see "
			    "its log");
	}
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	if (c->json)
		(void)printf("{\"running\":false}\n");
	return CTL_OK;
}
