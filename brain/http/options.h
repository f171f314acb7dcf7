/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HTTP_OPTIONS_H
#define ATS_HTTP_OPTIONS_H

#include <stdint.h>

#include "brain/http/limits.h"
#include "common/addr.h"
#include "common/path.h"

struct options {
	struct ats_addr listen[HTTP_LISTENERS];
	unsigned nlisten;		/* 1 or more */
	int vault_fd;			/* where brain waits to hear that it listens, or -1 */
	const char *brain_version;	/* of the brain that started it, or NULL */
	const char *token_file;
	char workspace[ATS_PATH_MAX];	/* without links, and one that brain takes */
	const char *metrics_token_file;	/* NULL: no /metrics */
	char vault[ATS_PATH_MAX + 16], door[ATS_PATH_MAX + 16];	/* brain's sockets */
	const char *hosts[HTTP_NAMES], *origins[HTTP_NAMES];
	unsigned nhosts, norigins;
	uint64_t body_max;		/* bytes */
	/* Seconds that a client may take: for a head from its first byte, for a body, and for
	 * taking something of what is written. */
	unsigned head_s, body_s, write_s;
};
/* Prints and exits for --help, --version and mistakes. */
void options_parse(int argc, char **argv, struct options *ret);

#endif
