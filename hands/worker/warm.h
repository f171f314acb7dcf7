/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's memory, made its own before the job comes. */
#ifndef ATS_HANDS_WORKER_WARM_H
#define ATS_HANDS_WORKER_WARM_H

#include <stddef.h>

/* Of a buffer of which an ordinary job needs the beginning: that lies in one page, wherever the
 * linker puts it. */
#define WARM_PAGES __attribute__((aligned(4096)))

/* For a zygote, when it is set up: what it has freed lies all over its heap, in lists that a
 * child's malloc(3) would walk, write to and take from, a page to copy for each. Takes it out of
 * use for good; children find room in one place, at the end. Without memory it does less. */
void warm_settle(void);
/* After a fork each page that is written costs a fault of its own. Makes the pages that an
 * ordinary job writes (24 KiB of that room, 24 KiB of stack below the caller) the process's own
 * in two calls, madvise(2) MADV_POPULATE_WRITE, Linux 5.14; an older kernel has the stack touched
 * page by page. Never fails: what is not warm is slower. */
void warm_memory(void);
/* The same of the stack alone, and of n bytes at p. */
void warm_stack(void);
void warm_bytes(void *p, size_t n);

#endif
