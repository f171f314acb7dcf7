/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl call: one tool call, or its checks alone. Process: atsctl. */
#include "brain/ctl/calling.h"

int
cmd_call(struct ctl *c, int argc, char **argv)
{
	struct calling a = { 0 };
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &a.ask.session },
		{ "workspace", 'w', CTL_OPT_STR, &a.ask.workspace },
		{ "timeout", 0, CTL_OPT_MS, &a.timeout_ms },
		{ "validate", 0, CTL_OPT_FLAG, &a.validate },
		{ "data", 0, CTL_OPT_STR, &a.data_file },
	};
	int code;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	return calling_run(c, &a, argv[1], argv[2]);
}
