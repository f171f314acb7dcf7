/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that a service manager starts, as a user of its own, instead of brain's spawner. */
#ifndef ATS_ENGINE_SERVICE_H
#define ATS_ENGINE_SERVICE_H

#include "common/err.h"
#include "common/notify.h"

struct engine;
struct event;
struct event_base;

/* Connects to the vault at path and waits for the door, giving signs of life meanwhile. Both
 * descriptors are owned. -ATS_E_SYS: nobody listens; -ATS_E_EOF: refused, by --engine-user. */
ATS_NODISCARD int service_connect(const char *path, const struct ats_notify *n, int *ret_vault,
    int *ret_door, struct ats_err *err);
/* The state directory that the manager made for this user, instead of the vault's. */
ATS_NODISCARD int service_state(struct engine *e, const char *dir, struct ats_err *err);
/* Says that we are ready, and from now on from the loop that we live; n is borrowed. Returns owned
 * (event_free); NULL: out of memory. */
struct event *service_alive(struct event_base *base, struct ats_notify *n);

#endif
