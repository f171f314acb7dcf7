/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether calls are forwarded at all, and which. Process: an agent runtime; the tool's name is
 * a model's. */
#include <stdlib.h>

#include "brain/client/ats.h"
#include "proto/tools.h"

int ats_on;

int
ats_init(void)
{
	const char *url = getenv("REMOTE_TOOLS_URL");

	ats_on = url != NULL && url[0] != '\0';
	return ats_on;
}

int
ats_serves(const char *tool)
{
	return tool != NULL && ats_tool_find(tool) != NULL;
}

void
ats_free(void *p)
{
	free(p);
}
