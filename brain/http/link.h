/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to brain's door with a session attached: asked for at vault.sock, made again when
 * it is lost. Lines in, lines out. */
#ifndef ATS_HTTP_LINK_H
#define ATS_HTTP_LINK_H

#include "brain/http/http.h"
#include "common/buf.h"

#define LINK_KEY_MAX 96			/* of a session's key */

struct link;
struct link_ops {
	/* It is there, again or for the first time: what is still open must be sent. */
	void (*up)(void *ctx);
	/* One line, without its newline. */
	void (*line)(void *ctx, struct ats_slice line);
	/* It cannot be had: the last callback. known: brain knows of no such session. */
	void (*failed)(void *ctx, bool known, const char *why);
};
/* key: the session's at brain, unique for the workspace; registers it, or, with known, finds it
 * only. Owned; NULL without memory. */
struct link *link_new(struct http *h, const char *key, bool known, const struct link_ops *ops,
    void *ctx);
/* close: the session at brain ends, too. Not from within its callbacks. */
void link_free(struct link *l, bool close);
bool link_is_up(const struct link *l);
/* Appends the newline. Only while it is up; else nothing happens: up() comes. */
void link_send(struct link *l, const char *line, size_t n);

#endif
