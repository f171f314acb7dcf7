/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's memory, made its own before the job comes. */
#ifndef ATS_HANDS_WORKER_WARM_H
#define ATS_HANDS_WORKER_WARM_H

/* After a fork each page that is written costs a fault of its own. Makes the pages that an
 * ordinary job writes (the heap as it is, 48 KiB of stack below the caller) the process's own
 * in two calls, madvise(2) MADV_POPULATE_WRITE, Linux 5.14; an older kernel has them touched
 * one by one. Never fails: what is not warm is slower. */
void warm_memory(void);

#endif
