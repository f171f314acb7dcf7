/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of workers. Runs in zygotes when they are set up, and in workers and monitors before they
 * announce themselves. What a fork costs is the pages that the child touches: each is a fault
 * and a copy, which is more than all else that a small job does. */
#include "hands/worker/warm.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define STACK_BYTES (24u << 10)
#define ROOM_BYTES (24u << 10)		/* what a small job takes from malloc(3) */
#define HOLE_MAX (64u << 10)
#define SMALL_MAX 1032u			/* up to it malloc(3) has a list for each size */
#define SMALL_STEP 16u
#define SMALL_MIN 24u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uintptr_t room;	/* where it begins; 0 none */

static uintptr_t
page_of(uintptr_t p)
{
	return p & ~(uintptr_t)(PAGE - 1);
}

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer's malloc(3) has no such lists, and what is kept for good it calls a leak. */
void
warm_settle(void)
{
}
#else
/* Takes all pieces of this size that are free below end, and one above. */
static void *
fill_holes(size_t size, uintptr_t end)
{
	void *p;

	do
		p = malloc(size);
	while (p != NULL && (uintptr_t)p < end);
	return p;
}

void
warm_settle(void)
{
	uintptr_t end;
	void *p;

	(void)malloc_trim(0);	/* nothing is free at the end: what comes from there is new */
	end = page_of((uintptr_t)sbrk(0) - 1);
	for (size_t n = HOLE_MAX; n > SMALL_MAX; n /= 2)
		free(fill_holes(n, end));
	/* One that is given back would be on its list again. */
	for (size_t n = SMALL_MAX; n >= SMALL_MIN; n -= SMALL_STEP)
		(void)!fill_holes(n, end);
	p = malloc(2 * (size_t)ROOM_BYTES);
	room = (uintptr_t)p;
	free(p);
}
#endif

static void __attribute__((noinline))
touch_stack(void)
{
	volatile char bytes[STACK_BYTES];

	for (size_t i = 0; i < sizeof bytes; i += PAGE)
		bytes[i] = 0;
}

void
warm_bytes(void *p, size_t n)
{
	volatile char *end = (char *)p + n;

	for (volatile char *at = p; at < end; at += PAGE)
		*at = *at;
	end[-1] = end[-1];
}

void
warm_stack(void)
{
	uintptr_t end = page_of((uintptr_t)__builtin_frame_address(0));

	if (madvise((void *)(end - STACK_BYTES), STACK_BYTES, MADV_POPULATE_WRITE) < 0)
		touch_stack();
}

/* Where there is no room yet, or not so much of it, this does less or nothing. */
static void
warm_heap(void)
{
	if (room != 0)
		(void)madvise((void *)page_of(room), ROOM_BYTES, MADV_POPULATE_WRITE);
}

void
warm_memory(void)
{
	warm_stack();
	warm_heap();
}
