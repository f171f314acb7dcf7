/* SPDX-License-Identifier: Apache-2.0
 *
 * /metrics: the counters of ats-http and, from brain's door, those of the engine, as text for
 * Prometheus. Only with --metrics-token-file. */
#ifndef ATS_HTTP_METRICS_H
#define ATS_HTTP_METRICS_H

#include "brain/http/conn.h"

#define METRICS_WAITING_MAX 8u		/* requests at a time; one more is answered 503 */

struct metrics;

struct metrics *metrics_new(struct http *h);	/* NULL without memory */
void metrics_free(struct metrics *m);		/* NULL is fine */
/* Answers c, now or when the engine has said its part, within METRICS_WAIT_S. */
void metrics_request(struct metrics *m, struct conn *c);
/* An answer of this status leaves. */
void metrics_answered(struct http *h, int status);

#endif
