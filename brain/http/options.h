/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HTTP_OPTIONS_H
#define ATS_HTTP_OPTIONS_H

#include <stdint.h>

#include "common/path.h"

#define OPTIONS_NAMES_MAX 16u		/* of --host, and of --origin */

struct options {
	char host[64];			/* to listen at: an address of loopback; "" for path */
	uint16_t port;			/* 0: whichever is free */
	const char *path;		/* of a Unix socket, or NULL */
	const char *token_file, *workspace;
	char vault[ATS_PATH_MAX + 16], door[ATS_PATH_MAX + 16];	/* brain's sockets */
	const char *hosts[OPTIONS_NAMES_MAX], *origins[OPTIONS_NAMES_MAX];
	unsigned nhosts, norigins;
	uint64_t body_max;		/* bytes */
};
/* Prints and exits for --help, --version and mistakes. */
void options_parse(int argc, char **argv, struct options *ret);

#endif
