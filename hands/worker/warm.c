/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefaulting. Runs in file workers before they announce themselves. */
#include "hands/worker/warm.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define STACK_BYTES (48u << 10)
#define HEAP_MAX (1u << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uintptr_t
page_of(const void *p)
{
	return (uintptr_t)p & ~(uintptr_t)(PAGE - 1);
}

static void __attribute__((noinline))
touch_stack(void)
{
	volatile char room[STACK_BYTES];

	for (size_t i = 0; i < sizeof room; i += PAGE)
		room[i] = 0;
}

static void
warm_stack(void)
{
	uintptr_t end = page_of(__builtin_frame_address(0));

	if (madvise((void *)(end - STACK_BYTES), STACK_BYTES, MADV_POPULATE_WRITE) < 0)
		touch_stack();
}

/* In a static program the thread's control block is the first thing that came by brk(2), and
 * what malloc(3) gave to the zygote follows it. Elsewhere it is not: then nothing is done. */
static void
warm_heap(void)
{
	uintptr_t begin = page_of(__builtin_thread_pointer());
	uintptr_t end = page_of(sbrk(0));

	if (begin < end && end - begin <= HEAP_MAX)
		(void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}

void
warm_memory(void)
{
	warm_stack();
	warm_heap();
}
