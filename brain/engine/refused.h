/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that the engine refuses by itself, a rule on a tool of the sandbox or a hook having said
 * so: the vault, whose audit log it is, is told of each. */
#ifndef ATS_ENGINE_REFUSED_H
#define ATS_ENGINE_REFUSED_H

#include "brain/engine/call.h"

struct refusals;

struct refusals *refusals_new(void);	/* owned, or NULL */
void refusals_free(struct refusals *r);	/* NULL is fine */
/* Who refused c, and why in words (a rule's); before it is answered. A check of a call is none. */
void refused_note(const struct call *c, const char *why);
/* The vault's socket takes messages again. False: not all that is owed. */
bool refused_flush(struct engine *e);

#endif
