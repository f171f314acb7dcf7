/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of hooks, and the names of decisions. Runs wherever hooks are known of. */
#include "proto/hooks.h"

#include <string.h>

const struct ats_hook_event_row ats_hook_event_rows[ATS_HOOK_EVENTS] = {
#define HOOK_EVENT(name, number, wire, matched, doc) [number] = { wire, matched, doc },
#include "proto/hooks.def"
#undef HOOK_EVENT
};

bool
ats_hook_event_find(const char *name, size_t n, enum ats_hook_event *ret)
{
	for (unsigned i = 0; i < ATS_HOOK_EVENTS; i++)
		if (strlen(ats_hook_event_rows[i].name) == n &&
		    memcmp(ats_hook_event_rows[i].name, name, n) == 0) {
			*ret = (enum ats_hook_event)i;
			return true;
		}
	return false;
}

const char *
ats_hook_decision_name(enum ats_hook_decision d)
{
	static const char *const names[] = { [ATS_HOOK_NONE] = "none", [ATS_HOOK_ALLOW] = "allow",
		[ATS_HOOK_ASK] = "ask", [ATS_HOOK_DENY] = "deny" };

	return names[d];
}
