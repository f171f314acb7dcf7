/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_VAULT_OPTIONS_H
#define ATS_VAULT_OPTIONS_H

#include <stdbool.h>

struct options {
	bool foreground, check_only, system;
	const char *config, *runtime, *state;	/* into argv, or NULL */
	const char *engine_user;		/* into argv, or NULL: the spawner starts it */
	int ready_fd;				/* -1 */
};
/* Prints and exits for --help, --version and mistakes. */
void options_parse(int argc, char **argv, struct options *ret);

#endif
