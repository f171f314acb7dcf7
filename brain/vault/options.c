/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of ats-brain. Runs before everything else; the user controls it. */
#include "brain/vault/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/options.h"

static const char usage[] =
    "usage: ats-brain [--foreground] [-n] [--config FILE] [--runtime DIR] [--state DIR]\n"
    "                 [--ready-fd N] [--system] [--engine-user USER]\n"
    "\n"
    "The host side: registers workspaces, starts engine and sandboxes, answers on\n"
    "RUNTIME/brain.sock. `atsctl` starts one when it is needed.\n"
    "\n"
    "  --foreground     stay in the foreground (it always does; for service managers)\n"
    "  -n               check the configuration and exit\n"
    "  --config FILE    instead of ~/.config/ats/brain.json\n"
    "  --runtime DIR    sockets, instead of $XDG_RUNTIME_DIR/ats\n"
    "  --state DIR      journal, logs, sandboxes, instead of ~/.local/state/ats\n"
    "  --system         for all users that the sockets let in: /run/ats, /var/lib/ats and\n"
    "                   /etc/ats/brain.json; sandboxes are elsewhere, never started here\n"
    "  --engine-user USER  ats-engine is started by a service manager as USER, and comes to\n"
    "                   RUNTIME/engine.sock\n"
    "  --ready-fd N     write \"ready\" there when calls can come, else why not\n"
    "  -h, --help  -V, --version\n";

static void __attribute__((noreturn))
misused(const char *what)
{
	(void)fprintf(stderr, "%sats-brain: %s\n%s", ats_log_mark(ATS_LOG_ERROR), what, usage);
	exit(2);
}

static int
parse_fd(const char *text)
{
	int fd = ats_options_fd(text);

	if (fd < 0)
		misused("--ready-fd: not an open descriptor");
	return fd;
}

void
options_parse(int argc, char **argv, struct options *ret)
{
	static const struct option longs[] = {
		{ "foreground", no_argument, NULL, 'f' },
		{ "config", required_argument, NULL, 'c' },
		{ "runtime", required_argument, NULL, 'r' },
		{ "state", required_argument, NULL, 's' },
		{ "ready-fd", required_argument, NULL, 'y' },
		{ "system", no_argument, NULL, 'S' },
		{ "engine-user", required_argument, NULL, 'e' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*ret = (struct options){ .ready_fd = -1 };
	while ((c = getopt_long(argc, argv, "nhV", longs, NULL)) != -1) {
		if (c == 'f')
			ret->foreground = true;
		else if (c == 'n')
			ret->check_only = true;
		else if (c == 'c')
			ret->config = optarg;
		else if (c == 'r')
			ret->runtime = optarg;
		else if (c == 's')
			ret->state = optarg;
		else if (c == 'y')
			ret->ready_fd = parse_fd(optarg);
		else if (c == 'S')
			ret->system = true;
		else if (c == 'e')
			ret->engine_user = optarg;
		else if (c == 'h')
			ats_options_say(usage);
		else if (c == 'V')
			ats_options_say("ats-brain " ATS_VERSION "\n");
		else {		/* getopt has said what is wrong */
			(void)fputs("ats-brain: see ats-brain --help\n", stderr);
			exit(2);
		}
	}
	if (optind < argc)
		misused("no arguments are expected");
}
