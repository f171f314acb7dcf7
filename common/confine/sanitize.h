/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sanitizers' runtimes need and the walls refuse: the one place that makes them
 * lower, and only in a build with ATS_SANITIZE (make VARIANT=asan), which is never shipped.
 *   LeakSanitizer looks through a clone that ptraces us (dumpable) and lists /proc/self/task;
 *   the shadow memory is far above any RLIMIT_DATA;
 *   AddressSanitizer reads /proc/self and asks for limits when it reports.
 * Everything else - uids, capabilities, namespaces, the view, Landlock, the other calls of
 * every filter - stays as it is. */
#ifndef ATS_COMMON_CONFINE_SANITIZE_H
#define ATS_COMMON_CONFINE_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef ATS_SANITIZE
#define ATS_SANITIZED true
#else
#define ATS_SANITIZED false
#endif

/* System calls that a filter does not refuse in such a build. */
static const char *const ats_sanitize_calls[] = {
	"ptrace", "clone", "wait4", "open", "access", "readlink", "stat", "lstat", "getppid",
	"prctl", "prlimit64", "getrlimit", "dup2", "pipe", "mmap", "mprotect", "kill", "gettid",
	"tgkill", "sched_yield", "clock_nanosleep", "nanosleep", "getcwd", "uname", "getrusage",
};

static inline bool
ats_sanitize_needs(const char *call)
{
	size_t i;

	for (i = 0; ATS_SANITIZED && call != NULL &&
	    i < sizeof(ats_sanitize_calls) / sizeof(ats_sanitize_calls[0]); i++)
		if (strcmp(call, ats_sanitize_calls[i]) == 0)
			return true;
	return false;
}

#endif
