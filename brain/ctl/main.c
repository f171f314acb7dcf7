/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl: the command line client. Options, places, then one command of commands.def. It
 * runs as the user; what it reads from brain is shown, never obeyed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/ctl.h"
#include "common/confine/limits.h"
#include "common/log.h"
#include "common/options.h"

/* What was printed must have arrived; a reader that left is no failure of ours. */
static int
flush_stdout(int code)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) != 0)
		return 128 + SIGPIPE;
	return code != CTL_OK ? code : ctl_fail(CTL_FAIL, "stdout: %s", strerror(errno));
}

int
main(int argc, char **argv)
{
	struct ctl c = { 0 };
	struct ats_err err = { 0 };
	int at;

	/* What is written to a closed one is an error all the same. */
	ats_options_standard_fds(O_RDONLY);
	ats_log_init("atsctl", ATS_LOG_WARN, STDERR_FILENO);
	(void)signal(SIGPIPE, SIG_IGN);
	ats_limits_raise_files();	/* exec passes descriptors */
	at = ctl_global_options(&c, argc, argv, &err);
	if (c.json || (at < 0 && ctl_asks_json(argc, argv, 1)))
		ctl_fail_as_json();
	if (at < 0)
		return ctl_fail(CTL_USAGE, "%s; see atsctl --help", err.text);
	if (at == 0)
		return flush_stdout(CTL_OK);
	c.command = ctl_find_command(argv[at]);
	if (c.command == NULL && ctl_asks_json(argc, argv, at))
		ctl_fail_as_json();
	if (c.command == NULL)
		return ctl_fail(
		    CTL_USAGE, "%s: unknown command; see atsctl --help", argv[at]);
	return flush_stdout(c.command->run(&c, argc - at, argv + at));
}
