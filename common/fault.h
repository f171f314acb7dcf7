/* SPDX-License-Identifier: Apache-2.0
 *
 * Fault points. In a build without ATS_FAULT they are nothing. With it the environment
 * decides, e.g.
 *   ATS_FAULT=alloc:7,in:ats-front,short_read:0.3,short_write:0.3,eintr:0.1,seed:42
 *   alloc:N           the N-th allocation of a process fails (from 1), and no other: malloc,
 *                     calloc, realloc, aligned_alloc, strdup and strndup of every object that
 *                     is linked in
 *   alloc_each:P      each allocation fails with probability P
 *   trace:1           and its stack is printed, in a sanitizer build
 *   short_read:P, short_write:P, eintr:P   probabilities
 *   seed:N            of all of them; the one in use is printed, so that a run can be repeated
 *   kill_worker:N     front kills the N-th worker right after it was handed a call
 *   drop_after:F:N    the engine drops a link after the N-th frame F (wire name; 0: any)
 *   quiet:1           the seed is not printed: stderr of the programs is under test
 *   in:NAME           only in processes of that name (ats_fault_process), which count from
 *                     there; without it in all, from their start
 * "alloc fired" on stderr tells that the N-th allocation was reached. */
#ifndef ATS_COMMON_FAULT_H
#define ATS_COMMON_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef ATS_FAULT

/* This process is from now on that one; name is borrowed for ever. */
void ats_fault_process(const char *name);
/* No fault and no counting until it is called with false: for a library that is known not to
 * survive them, where something else stands for it. */
void ats_fault_pause(bool pause);
/* The n-th allocation from here on fails, silently; 0: none. For tests in one process. */
void ats_fault_alloc(unsigned n);
/* n, or at random less (never 0 when n is not). Call before read/recv and write/send. */
size_t ats_fault_read(size_t n);
size_t ats_fault_write(size_t n);
/* True when this system call shall fail with EINTR (errno is set). */
bool ats_fault_eintr(void);
/* An environment for a child: what steers faults and sanitizers, nothing else. */
const char *const *ats_fault_env(void);
/* True for the N-th call. */
bool ats_fault_kill_worker(void);
/* True for the N-th call with the frame that the setting names. */
bool ats_fault_drop_after(const char *frame);

#else

static inline void
ats_fault_process(const char *name)
{
	(void)name;
}

static inline void
ats_fault_pause(bool pause)
{
	(void)pause;
}

static inline void
ats_fault_alloc(unsigned n)
{
	(void)n;
}

static inline size_t
ats_fault_read(size_t n)
{
	return n;
}

static inline size_t
ats_fault_write(size_t n)
{
	return n;
}

static inline bool
ats_fault_eintr(void)
{
	return false;
}

static inline const char *const *
ats_fault_env(void)
{
	static const char *const none[] = { NULL };

	return none;
}

static inline bool
ats_fault_kill_worker(void)
{
	return false;
}

static inline bool
ats_fault_drop_after(const char *frame)
{
	(void)frame;
	return false;
}

#endif

/* Kept as names of their own: a reader sees that the answer is checked. */
static inline void *
ats_malloc(size_t n)
{
	return malloc(n);
}

/* n bytes that read(2) fills, to be freed as others. They begin at a multiple of 64, since several
 * processors (Zen 3 and 4) copy at a fifth of their speed to 1 to 31 bytes past the place in its
 * page that the source has: the kernel's pages begin at 0, and what malloc maps at 16. */
static inline void *
ats_malloc_read(size_t n)
{
	return n > SIZE_MAX - 64 ? NULL : aligned_alloc(64, (n + 63) & ~(size_t)63);
}

static inline void *
ats_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

static inline void *
ats_realloc(void *p, size_t n)
{
	return realloc(p, n);
}

static inline char *
ats_strdup(const char *s)
{
	return strdup(s);
}

#endif
