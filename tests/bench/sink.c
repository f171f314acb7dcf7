/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads everything a command prints (or stdin, without arguments) and throws it away, through
 * a pipe of 1 MiB. usage: sink [PROGRAM ARG ...]. Exits with the command's status. */
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"

int
main(int argc, char **argv)
{
	static char b[1 << 20];
	int p[2] = { 0, -1 }, status = 0;
	pid_t pid = -1;

	if (argc > 1) {
		if (pipe(p) != 0)
			bench_die("pipe");
		(void)fcntl(p[0], F_SETPIPE_SZ, 1 << 20);
		pid = fork();
		if (pid == 0) {
			dup2(p[1], 1);
			close(p[0]);
			close(p[1]);
			execvp(argv[1], argv + 1);
			_exit(127);
		}
		close(p[1]);
	}
	while (read(p[0], b, sizeof(b)) > 0)
		;
	if (pid > 0)
		waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
