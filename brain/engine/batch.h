/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of a JSON-RPC batch (JSON-RPC 2.0, section 6; MCP 2025-03-26 alone has them): they
 * are collected and leave as one array when the last of its requests is answered. */
#ifndef ATS_ENGINE_BATCH_H
#define ATS_ENGINE_BATCH_H

#include <sys/queue.h>

#include "common/buf.h"

#define BATCH_REQUESTS_MAX 1024u	/* that wait for answers, of one client */

struct client;
struct batch;
TAILQ_HEAD(batch_list, batch);

/* Opens a batch: answers that the client gets until batch_close belong to it, and so do those
 * of requests that were named by batch_expect, whenever they come. -ATS_E_FULL, -ATS_E_NOMEM. */
ATS_NODISCARD int batch_open(struct client *c);
/* A request of the open batch will be answered; id is copied. */
ATS_NODISCARD int batch_expect(struct client *c, struct ats_slice id);
void batch_close(struct client *c);
/* The bytes of c->out from mark on are the answer (one line) to id, p == NULL for null. Takes
 * them away if they belong to a batch, and writes that batch if it is whole now. */
void batch_answered(struct client *c, struct ats_slice id, size_t mark);
/* A request will not be answered: it was cancelled. */
void batch_skip(struct client *c, struct ats_slice id);
void batch_drop_all(struct client *c);

#endif
