/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls of the 32-bit table. A kernel may be built or booted without them
 * (ia32_emulation=off): the trap then ends the process by SIGSEGV before any filter is asked,
 * and nothing can be said of what a filter would have answered. */
#ifndef ATS_TESTS_LIB_INT80_H
#define ATS_TESTS_LIB_INT80_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The call's result. Where there is no such table at all the process dies as by a filter. */
static inline long
int80_call(long nr)
{
#ifdef __x86_64__
	long rc = nr;

	__asm__ volatile("int $0x80" : "+a"(rc) : "b"(0), "c"(0), "d"(0) : "memory");
	return rc;
#else
	(void)nr;
	return raise(SIGSYS);
#endif
}

/* Asked once, of a child without a filter; says so when there is none. */
static inline bool
int80_is_there(void)
{
	static int known = -1;
	int status = 0;
	pid_t pid;

	if (known >= 0)
		return known == 1;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		_exit(int80_call(20 /* getpid */) > 0 ? 0 : 1);
	}
	known = pid > 0 && waitpid(pid, &status, 0) == pid &&
	    !(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	if (known == 0)
		(void)fprintf(stderr, "#: this kernel has no 32-bit system calls: what the "
		    "filters answer to them was not asked\n");
	return known == 1;
}

#endif
