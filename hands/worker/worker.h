/* SPDX-License-Identifier: Apache-2.0
 *
 * A read or write worker: warmed up, then one job, one result, end. */
#ifndef ATS_HANDS_WORKER_WORKER_H
#define ATS_HANDS_WORKER_WORKER_H

#include "hands/worker/zygote.h"

void worker_main(const struct zygote_child *z) __attribute__((noreturn));

#endif
