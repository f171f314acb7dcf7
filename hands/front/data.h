/* SPDX-License-Identifier: Apache-2.0
 *
 * The raw bytes that a tool gives: its worker's pipe goes to the link as stdout, under
 * credit, and the result follows. */
#ifndef ATS_HANDS_FRONT_DATA_H
#define ATS_HANDS_FRONT_DATA_H

#include "hands/front/calls.h"

struct data;

/* Returns owned or NULL. */
struct data *data_new(struct call *c, uint64_t window);
void data_free(struct data *d);		/* NULL is fine */
/* The worker's pipe (taken). false: it is none, or a second. */
bool data_open(struct data *d, int fd);
/* The worker's result (checked): kept until the pipe is empty, then the call is answered. c may
 * be gone after it. */
void data_result(struct data *d, const char *json, size_t json_len, const char *payload,
    size_t n);
ATS_NODISCARD int data_credit(struct data *d, uint64_t bytes);

#endif
