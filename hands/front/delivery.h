/* SPDX-License-Identifier: Apache-2.0
 *
 * Tools of the host as files in the box, which programs there find by their environment:
 * tools.json with their specs, and mcp.json, an MCP configuration that names the shim. */
#ifndef ATS_HANDS_FRONT_DELIVERY_H
#define ATS_HANDS_FRONT_DELIVERY_H

#include "common/buf.h"

struct ats_specs;
struct delivery;
struct front;

/* Takes the directory, -1 for none. relay: whether there is a socket in it. What an earlier front
 * left there is removed. Returns owned or NULL (no memory). */
struct delivery *delivery_new(struct front *f, int dir, bool relay);
void delivery_free(struct delivery *d);		/* NULL is fine */
/* Both files are as these specs from here on, or are gone without any. A failure is logged, and
 * told by delivery_gap. */
void delivery_put(struct delivery *d, const struct ats_specs *specs);
/* The same where specs came that cannot be read. */
void delivery_refuse(struct delivery *d, const char *why);
/* Why tools that there are cannot be used in the box, for the next result: once for each time that
 * it came up. NULL when it was told, they can, or there are none. */
const char *delivery_gap(struct delivery *d);
/* Appends K=V strings, each with its NUL, for a command of that session (NULL: of none); nothing
 * without tools. d may be NULL. */
ATS_NODISCARD int delivery_env(const struct delivery *d, const char *session,
    struct ats_buf *out);

#endif
