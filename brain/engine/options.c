/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of ats-engine; ats-brain or a service manager controls it. */
#include "brain/engine/options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/options.h"

static const char usage[] =
    "usage: ats-engine --vault-fd N --door-fd N\n"
    "       ats-engine --connect PATH --state DIR\n"
    "Started by ats-brain, or by a service manager. -V prints the version.\n";

void
options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "vault-fd", required_argument, NULL, 'v' },
		{ "door-fd", required_argument, NULL, 'd' },
		{ "connect", required_argument, NULL, 'c' },
		{ "state", required_argument, NULL, 's' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	*o = (struct options){ .vault_fd = -1, .door_fd = -1 };
	while ((opt = getopt_long(argc, argv, "Vh", longs, NULL)) != -1) {
		switch (opt) {
		case 'v':
			o->vault_fd = ats_options_fd(optarg);
			break;
		case 'd':
			o->door_fd = ats_options_fd(optarg);
			break;
		case 'c':
			o->connect = optarg;
			break;
		case 's':
			o->state = optarg;
			break;
		case 'V':
			ats_options_say("ats-engine " ATS_VERSION "\n");
		case 'h':
			ats_options_say(usage);
		default:
			(void)fputs(usage, stderr);
			exit(2);
		}
	}
}

static bool
is_socket(int fd)
{
	struct stat st;

	return fd >= 3 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

void
options_check(const struct options *o)
{
	if ((o->connect != NULL) != (o->state != NULL) ||
	    (o->state != NULL && o->state[0] != '/') ||
	    (o->connect != NULL && (o->vault_fd >= 0 || o->door_fd >= 0))) {
		(void)fputs(usage, stderr);
		ats_fatal("--connect and an absolute --state go together, without descriptors");
	}
	if (o->connect == NULL && (!is_socket(o->vault_fd) || !is_socket(o->door_fd))) {
		(void)fputs(usage, stderr);
		ats_fatal("not two sockets; ats-brain starts this program");
	}
}
