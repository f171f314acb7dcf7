/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl inspect. Process: atsctl. */
#include "brain/ctl/query.h"

int
cmd_inspect(struct ctl *c, int argc, char **argv)
{
	int code;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	return query(c, "ats/inspect", argv[1], NULL);
}
