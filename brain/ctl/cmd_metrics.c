/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl metrics. Process: atsctl. */
#include "brain/ctl/query.h"

int
cmd_metrics(struct ctl *c, int argc, char **argv)
{
	int code;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	return query(c, "ats/metrics", NULL, "text");
}
