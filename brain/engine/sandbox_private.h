/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the table of sandboxes (sandboxes.c) and the life of each (sandbox.c). */
#ifndef ATS_ENGINE_SANDBOX_PRIVATE_H
#define ATS_ENGINE_SANDBOX_PRIVATE_H

#include <event2/util.h>

#include "brain/engine/sandbox.h"

/* Takes it out of the table and frees it: nobody may hold it. */
void sandboxes_drop(struct sandboxes *t, struct sandbox *box);
/* Callbacks of libevent, arg is the sandbox: box->timer, of the state that it is in, and
 * box->retry, there may be room in its channel again. */
void sandbox_on_timer(evutil_socket_t fd, short what, void *arg);
void sandbox_on_retry(evutil_socket_t fd, short what, void *arg);

#endif
