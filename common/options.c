/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in every program, first; who starts it controls the text. */
#include "common/options.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void
ats_options_say(const char *text)
{
	exit(fputs(text, stdout) < 0 || fflush(stdout) != 0);
}

int
ats_options_fd(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < 0 || n > INT_MAX || fcntl((int)n, F_GETFD) < 0)
		return -1;
	return (int)n;
}

void
ats_options_standard_fds(int flags)
{
	int fd;

	do
		fd = open("/dev/null", flags | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}
