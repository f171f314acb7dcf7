/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens, told to the clients that subscribed, each about its own uid only. */
#ifndef ATS_ENGINE_EVENTS_H
#define ATS_ENGINE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct client;
struct engine;

struct events *events_new(struct engine *e);
void events_free(struct events *v);
size_t events_subscribers(const struct events *v);
void events_subscribe(struct client *c);
void events_unsubscribe(struct client *c);
/* session, sandbox and text may be NULL, call 0. Costs one test when nobody listens. A
 * subscriber that does not read loses events and is told how many. */
void events_emit(struct engine *e, uint64_t uid, const char *kind, const char *session,
    const char *sandbox, uint64_t call, const char *text);

#endif
