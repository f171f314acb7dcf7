/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_ENGINE_OPTIONS_H
#define ATS_ENGINE_OPTIONS_H

struct options {
	int vault_fd, door_fd;
	const char *connect, *state;	/* into argv, or NULL */
};

/* Prints and exits for --help, --version and mistakes. */
void options_parse(int argc, char **argv, struct options *o);
/* Exits, with a line on the log, unless they say where the vault is in one of the two ways. */
void options_check(const struct options *o);

#endif
