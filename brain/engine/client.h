/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the door: one connection. */
#ifndef ATS_ENGINE_CLIENT_H
#define ATS_ENGINE_CLIENT_H

#include "brain/engine/door.h"

/* Takes fd; NULL without memory (fd is closed). Reading starts. */
struct client *client_new(struct engine *e, int fd, uint64_t uid, int pid);
void client_free(struct client *c);
/* Fills c->asker. */
void client_asker_init(struct client *c);
/* Writes what the socket takes. */
void client_write(struct client *c);
/* In the door: to be written, or freed, at the end of the turn. */
void door_dirty(struct door *d, struct client *c);
void door_bury(struct door *d, struct client *c);

#endif
