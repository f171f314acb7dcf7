/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a program with exactly the descriptors and the environment that are named.
 * Only the spawner, hands' init and the shell zygote call this. */
#ifndef ATS_COMMON_CHILD_H
#define ATS_COMMON_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

struct ats_child_fd {
	int from;	/* our descriptor, borrowed */
	int to;		/* its number in the child */
};
struct ats_child_limit {
	int what;			/* RLIMIT_CPU, ... */
	unsigned long long soft, hard;
};
struct ats_child {
	const char *path;		/* absolute */
	int exec_fd;			/* > 0 wins over path (execveat) */
	const char *const *argv;	/* NULL-terminated */
	const char *const *env;		/* NULL-terminated, the whole environment */
	const struct ats_child_fd *fds;	/* 0,1,2 default to /dev/null unless listed */
	size_t nfds;
	const char *cwd;		/* or NULL for "/" */
	int death_signal;		/* PR_SET_PDEATHSIG, 0 none */
	bool new_session;		/* setsid */
	/* The program runs below a process of ours, which is the one that is returned: it ends
	 * as the program does, after all that the program started was killed, also what has left
	 * its session. SIGTERM to it (for death_signal, too) ends all; SIGKILL only it and the
	 * program. */
	bool whole_tree;
	const struct ats_child_limit *limits;	/* of the program */
	size_t nlimits;
	/* Not a child of this process, so that it raises no SIGCHLD and no wait finds it: for a
	 * library in a process that is not ours. *ret_pid is 0; without ret_pidfd, death_signal. */
	bool quiet;
};
/* fork + exec; reports an exec failure through a CLOEXEC pipe, so that an error here means
 * that nothing runs. Returns the pid in *ret_pid and, if ret_pidfd is not NULL, a pidfd. */
ATS_NODISCARD int ats_child_start(const struct ats_child *c, pid_t *ret_pid, int *ret_pidfd,
    struct ats_err *err);
/* Every signal at its default; what is blocked stays so. */
void ats_child_default_signals(void);
/* For a child before exec: every signal at its default, none blocked. */
void ats_child_reset_signals(void);
/* The same, by three calls instead of 63, for a child of a process that began with the defaults
 * and has ignored none but SIGPIPE and SIGXFSZ since; handlers end with the exec. */
void ats_child_restore_signals(void);
/* close_range over everything from first on except the sorted list keep. */
void ats_child_close_others(int first, const int *keep, size_t nkeep);

#endif
