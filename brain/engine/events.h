/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens (kinds of events.def), told to the clients that subscribed, each about its own uid
 * only; the newest are kept for who subscribes again. */
#ifndef ATS_ENGINE_EVENTS_H
#define ATS_ENGINE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define EVENTS_KEPT 1024u
#define EVENTS_TEXT 224u	/* bytes of a text that is kept and told, with its NUL */
#define EVENTS_FOR_ALL UINT64_MAX	/* as uid: of no user's own */

struct client;
struct engine;
struct session;

struct events *events_new(struct engine *e);	/* owned; NULL without memory */
void events_free(struct events *v);
size_t events_subscribers(const struct events *v);
/* session: what concerns it alone, its sandbox included; NULL: all of the client's uid. after: a
 * seq that the client has seen; what is kept and newer is told first, and how many are not kept.
 * 0: from now on. Numbers of an engine before this one are older than all of this one. */
void events_subscribe(struct client *c, const struct session *session, uint64_t after);
void events_unsubscribe(struct client *c);
/* The client has read all: it hears how many it missed. */
void events_drained(struct client *c);
/* kind is a literal. session, sandbox and text may be NULL, call 0; a longer text is cut. A
 * subscriber that does not read loses events and is told how many. */
void events_emit(struct engine *e, uint64_t uid, const char *kind, const char *session,
    const char *sandbox, uint64_t call, const char *text);

#endif
