/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the engine has anything to do. Runs in the engine. */
#include "brain/engine/engine.h"

#include "brain/engine/call.h"
#include "brain/engine/calls.h"
#include "brain/engine/door.h"
#include "brain/engine/sessions.h"
#include "brain/engine/vault_link.h"

void
engine_idle_check(struct engine *e)
{
	struct call *c;
	size_t pos = 0;
	bool idle;

	idle = e->door != NULL && door_count(e->door) == 0 && sessions_shells(e->sessions) == 0;
	while (idle && (c = calls_each(e->calls, &pos)) != NULL)
		idle = c->state == CALL_RESUMED || c->uncommitted;
	if (idle == e->idle)
		return;
	e->idle = idle;
	vault_link_idle(e, idle);
}
