/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl gateway: the configured gateways, and calls of their tools. Process: atsctl. */
#include <string.h>

#include "brain/ctl/calling.h"
#include "brain/ctl/output.h"

static int
list(struct ctl *c)
{
	static struct ats_ipc_msg m;	/* 64 KiB */
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	struct ats_slice answer;
	int rc = brain_connect(c, false, &fd, &err);

	if (rc == -ATS_E_NOENT)
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_GATEWAYS, NULL, NULL, &m, &err);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	answer = (struct ats_slice){ m.s[0], strlen(m.s[0]) };
	if (ats_json_scan(answer.p, answer.n, NULL) < 0)
		rc = ctl_fail_code(CTL_FAIL, ats_err_name(ATS_E_PROTO),
		    "gateway: brain's answer is not JSON");
	else if (!c->json && strcmp(answer.p, "{\"gateways\":[]}") == 0)
		(void)printf("no gateway is configured\n");
	else
		out_result(c, answer.p, answer.n);
	ats_ipc_done(&m);
	return rc;
}

int
cmd_gateway(struct ctl *c, int argc, char **argv)
{
	struct calling a = { 0 };
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &a.ask.session },
		{ "workspace", 'w', CTL_OPT_STR, &a.ask.workspace },
		{ "timeout", 0, CTL_OPT_MS, &a.timeout_ms },
	};
	int code, n = ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code);

	if (n < 0)
		return code;
	if (strcmp(argv[1], "ls") == 0)
		return n == 1 ? list(c) : ctl_fail(CTL_USAGE, "gateway ls: takes no name");
	if (strcmp(argv[1], "call") != 0)
		return ctl_fail(CTL_USAGE, "gateway %s: unknown; usage: atsctl gateway %s", argv[1],
		    c->command->usage);
	if (n != 3)
		return ctl_fail(CTL_NOT_RUN, "gateway call: name and arguments are missing; atsctl "
		    "gateway call GATEWAY__TOOL JSON");
	/* A tool of the sandbox would run, too, and not be what was meant. */
	if (strstr(argv[2], "__") == NULL)
		return ctl_fail(CTL_NOT_RUN,
		    "gateway call: %s: no tool of a gateway, whose names are "
		    "GATEWAY__TOOL; atsctl gateway ls shows the gateways",
		    argv[2]);
	return calling_run(c, &a, argv[2], argv[3]);
}
