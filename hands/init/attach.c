/* SPDX-License-Identifier: Apache-2.0
 *
 * attach. A process of its own, beside the daemon; bytes of both sides are carried, never
 * looked at. It is confined as front is before the first of them. */
#include "hands/init/attach.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#include "common/confine/caps.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/apply.h"
#include "hands/init/relay.h"

#define EXIT_USAGE 2

static const char usage[] =
    "usage: ats-hands attach [--socket PATH]\n\n"
    "Carries bytes between stdin and stdout and the socket of an ats-hands of this machine\n"
    "(--listen unix:PATH), by default " ATTACH_SOCKET ".\n";

/* -1: go on; else the exit status. */
static int
parse(int argc, char **argv, const char **ret_path)
{
	static const struct option longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*ret_path = ATTACH_SOCKET;
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 's')
			*ret_path = optarg;
		else if (c == 'h')
			return fputs(usage, stdout) == EOF;
		else
			return EXIT_USAGE;	/* getopt has said what is wrong */
	}
	if (optind == argc)
		return -1;
	(void)fprintf(stderr, "ats-hands: attach: no arguments are expected\n");
	return EXIT_USAGE;
}

static int
carry(struct relay *r)
{
	struct pollfd p[RELAY_POLLS];

	while (r->sock >= 0) {
		relay_poll(r, p);
		if (poll(p, RELAY_POLLS, -1) >= 0)
			relay_turn(r, p);
		else if (errno != EINTR)
			return 1;
	}
	return 0;
}

int
attach_main(int argc, char **argv)
{
	static struct relay r;		/* its buffers are no stack's */
	struct ats_err err = { 0 };
	const char *path;
	int fd = -1, rc = parse(argc, argv, &path);

	if (rc >= 0)
		return rc;
	ats_log_init("attach", ATS_LOG_WARN, STDERR_FILENO);
	(void)signal(SIGPIPE, SIG_IGN);
	if (ats_fd_unix_connect(path, SOCK_STREAM, &fd, &err) < 0) {
		(void)fprintf(stderr, "ats-hands: attach: %s; is \"ats-hands --listen unix:%s\" "
		    "running here?\n", err.text, path);
		return 1;
	}
	/* front has no_new_privs from init; without it a user cannot drop what is not held. */
	if (relay_start(&r, fd, &err) < 0 || ats_caps_no_new_privs(&err) < 0 ||
	    confine_front(-1, -1, &err) < 0) {
		(void)fprintf(stderr, "ats-hands: attach: %s\n", err.text);
		return CONFINE_EXIT;
	}
	return carry(&r);
}
