/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting what a shell call runs: a bash that waits, a cold one, or a program. The child
 * shares its working directory with the monitor until it ends (CLONE_FS), so that the
 * monitor's own cwd is where the shell is. */
#ifndef ATS_HANDS_WORKER_SHELL_H
#define ATS_HANDS_WORKER_SHELL_H

#include "common/tree.h"
#include "hands/confine/own_sockets.h"
#include "hands/worker/zygote.h"

struct shell_plan {
	const char *const *argv; /* looked up in PATH of env when it has no slash */
	const char *const *env;
	int in, out, err;		/* in -1: /dev/null */
	int command, fields, apart;	/* become fd 3, 4 and 5, or command is -1 */
	int tty;			/* a terminal that becomes 0, 1, 2, or -1 */
};
#define SHELL_FD_COMMAND 3
#define SHELL_FD_FIELDS 4
#define SHELL_FD_APART 5	/* stderr, should it not go where stdout goes */
#define SHELL_FD_STATUS 6	/* until exec */
/* Of a shell that was started with an ender but never ran, and of the ender: wait(2) finds them by
 * pid and __WALL only. The monitor has it blocked. */
#define SHELL_EXIT_SIGNAL SIGUSR1

/* Forks, confines (CONFINE_SHELL), execs. Returns when the program runs: an error here
 * means that no byte of it did. A program that is not there is no error: the child says
 * so on its stderr and exits 127, as a shell does. tree gets the ender and sockets what asks for
 * them, where there are such. */
ATS_NODISCARD int shell_start(const struct zygote_child *z, const struct shell_plan *p,
    struct tree *tree, struct own_sockets *sockets, pid_t *ret_pid, struct ats_err *err);

/* The waiting bash, in the monitor's working directory, its stderr where its stdout goes. Of p it
 * takes out, fields, apart and command: the read end of the pipe that will bring a NUL when its
 * fields are in the file. */
ATS_NODISCARD int shell_start_ready(const struct zygote_child *z, const struct shell_plan *p,
    struct tree *tree, struct own_sockets *sockets, pid_t *ret_pid, struct ats_err *err);

/* Environment: ours, then the job's strings, which win. Returns the number, at most max -
 * 1, NULL-terminated; store holds the strings that depend on the box. */
#define SHELL_ENV_MAX 160
struct shell_env {
	const char *v[SHELL_ENV_MAX];
	char pwd[4096 + 8], home[4096 + 8], tmp[4096 + 8];
};
void shell_env_make(struct shell_env *e, const struct box *b, const char *cwd,
    const char *const *job, size_t njob);

#endif
