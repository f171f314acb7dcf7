/* SPDX-License-Identifier: Apache-2.0
 *
 * stdout of the shim: whole lines of JSON, written here and nowhere else. */
#ifndef ATS_HANDS_SHIM_OUT_H
#define ATS_HANDS_SHIM_OUT_H

#include "common/buf.h"

#define OUT_MAX (64u << 20)	/* queued for a client that does not read */
#define OUT_FULL (1u << 20)	/* from there on the client is not read */

struct out;
struct shim;

/* fd is borrowed and made non-blocking. Returns owned or NULL. */
struct out *out_new(struct shim *s, int fd);
void out_free(struct out *o);
/* One line, without its end and without a line break in it. Ends the shim when the client is
 * gone, or what waits for it is too much. */
void out_line(struct out *o, const char *line, size_t n);
/* Whether the client should be read. */
bool out_has_room(const struct out *o);
/* Waits, not longer than that, until everything has left. */
void out_flush(struct out *o, int ms);

#endif
