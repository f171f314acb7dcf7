/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a container's own program. Runs in the launcher; argv and environment are the
 * image's. */
#include "hands/init/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/confine/caps.h"
#include "common/log.h"
#include "hands/confine/apply.h"

static int
confine(struct ats_err *err)
{
	int rc = ats_caps_no_new_privs(err);

	return rc < 0 ? rc : filter_install(FILTER_BASE, err);
}

/* What is typed, Ctrl-C too, goes to the program. */
static void
take_terminal(void)
{
	bool foreground = tcgetpgrp(STDIN_FILENO) == getpgrp();

	(void)setpgid(0, 0);
	if (!foreground)
		return;
	(void)signal(SIGTTOU, SIG_IGN);		/* it would stop us for asking */
	(void)tcsetpgrp(STDIN_FILENO, getpgrp());
}

static int
place_stdio(bool is_link, struct ats_err *err)
{
	int null;

	if (!is_link)
		return 0;
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return ats_err_sys(err, "/dev/null");
	return 0;
}

static void __attribute__((noreturn))
run_child(char *const *argv, bool stdio_is_link)
{
	struct ats_err err = { 0 };
	int rc = place_stdio(stdio_is_link, &err);

	if (rc == 0 && close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		rc = ats_err_sys(&err, "close_range");
	if (rc == 0)
		rc = confine(&err);
	if (rc < 0) {
		ats_log(ATS_LOG_ERROR, "the command could not be confined", "step=\"%s\"",
		    err.text);
		_exit(CONFINE_EXIT);
	}
	take_terminal();
	ats_child_reset_signals();
	(void)execvp(argv[0], argv);
	rc = errno;
	(void)dprintf(STDERR_FILENO, "ats-hands: %s: %s\n", argv[0], strerror(rc));
	_exit(rc == ENOENT ? 127 : 126);
}

pid_t
command_start(char *const *argv, bool stdio_is_link)
{
	pid_t pid = fork();

	if (pid == 0)
		run_child(argv, stdio_is_link);
	return pid < 0 ? -ATS_E_SYS : pid;
}
