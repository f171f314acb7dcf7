/* SPDX-License-Identifier: Apache-2.0
 *
 * The last events of a session's streams, for a client that lost its connection and says the last
 * one that it had (Last-Event-ID). Pure. An id is STREAM-NUMBER in hexadecimal digits. */
#ifndef ATS_HTTP_EVENTS_H
#define ATS_HTTP_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brain/http/limits.h"
#include "common/err.h"

#define EVENTS_ID 34			/* of an id, with its NUL */

struct kept;
TAILQ_HEAD(kept_list, kept);
struct events {
	struct kept_list list;
	size_t n, bytes;
};

void events_init(struct events *e);
void events_done(struct events *e);
void events_id(uint64_t stream, uint64_t number, char ret[EVENTS_ID]);
/* -ATS_E_INVAL */
ATS_NODISCARD int events_id_read(const char *id, uint64_t *ret_stream, uint64_t *ret_number);
/* Keeps a copy, if there is memory for it. */
void events_keep(struct events *e, uint64_t stream, uint64_t number, const char *data, size_t n);
/* The oldest. False: there is none. */
bool events_forget(struct events *e);
/* Whether something of the stream is kept. */
bool events_have(const struct events *e, uint64_t stream);
/* Calls back for each of the stream that came after number, in order. */
void events_after(const struct events *e, uint64_t stream, uint64_t number,
    void (*one)(void *ctx, uint64_t number, const char *data, size_t n), void *ctx);

#endif
