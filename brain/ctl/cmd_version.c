/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl version. Process: atsctl. */
#include "brain/ctl/ctl.h"

int
cmd_version(struct ctl *c, int argc, char **argv)
{
	int code;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	if (c->json)
		(void)printf("{\"version\":\"%s\"}\n", ATS_VERSION);
	else
		(void)printf("atsctl %s\n", ATS_VERSION);
	return CTL_OK;
}
