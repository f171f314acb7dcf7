/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tool's name means at the doors, whichever kind of tool it is. */
#ifndef ATS_ENGINE_TOOLSET_H
#define ATS_ENGINE_TOOLSET_H

#include "brain/engine/call_ask.h"

/* Fills ask->tool or ask->gateway by the name (or alias). False: no tool is called so. */
bool toolset_find(struct engine *e, const char *name, struct call_ask *ask);
/* Appends the JSON array of tools/list. */
ATS_NODISCARD int toolset_write(struct engine *e, struct ats_buf *out);

#endif
