/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for a person, told to the one who made them. Process: atsctl; events are the
 * engine's, so that an id is looked at before it is printed. */
#include "brain/ctl/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/digest.h"

void
waits_watch(struct ctl_session *s)
{
	uint64_t id;

	if (isatty(STDERR_FILENO))
		(void)!door_send(&s->door, "ats/events.subscribe", NULL, NULL, 0, &id, NULL);
}

void
waits_look(const struct ctl_session *s, const struct door_msg *m)
{
	struct ats_json_val v;
	char *id;

	if (m->method.p == NULL || m->params.p == NULL || !isatty(STDERR_FILENO) ||
	    !ats_json_member_is(m->params, "kind", "call.waiting") ||
	    !ats_json_member_is(m->params, "session", s->id) ||
	    !ats_json_get(m->params, "text", &v))
		return;
	id = ats_json_dup_str(&v);
	/* The terminal may be raw. */
	if (id != NULL && ats_id_valid(id))
		(void)fprintf(stderr, "atsctl: this waits for a person's approval; in another "
		    "terminal: atsctl approve %s\r\n", id);
	free(id);
}
