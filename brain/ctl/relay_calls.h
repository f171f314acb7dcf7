/* SPDX-License-Identifier: Apache-2.0
 *
 * What a relay directory's requests ask of the door, and what the door's answers are there. No
 * input and output here. Process: atsctl relay; a sandbox controls requests, and through tools
 * of gateways somebody else the texts of answers. */
#ifndef ATS_CTL_RELAY_CALLS_H
#define ATS_CTL_RELAY_CALLS_H

#include "brain/ctl/brain.h"
#include "proto/relaydir.h"
#include "proto/specs.h"

#define RELAY_CALL_MS 660000u	/* an approval's time and a minute; timeoutMs of each tool */
#define RELAY_IDS 32768u	/* ids that are remembered, at least, twice as many at most */

/* The gateways' tools of a result of tools/list, and nothing else of it. *ret is owned
 * (ats_specs_done). Those that do not fit in number are left out. */
ATS_NODISCARD int relay_tools(struct ats_slice result, struct ats_specs *ret,
    struct ats_err *err);
/* Appends the parameters of ats/tool.call with this call id. A tool that is not in tools, so one
 * of the sandbox, too, is refused. err holds no byte of text. */
ATS_NODISCARD int relay_params(const struct ats_specs *tools, struct ats_slice text,
    const char *call_id, struct ats_buf *out, struct ats_err *err);
/* Appends the response to what the door answered: a result of ats/tool.call or an error. What is
 * not done, or failed, is an error, and never empty. maybe: it was sent before, unanswered. */
ATS_NODISCARD int relay_response(const struct door_msg *m, bool maybe, struct ats_buf *out);

/* Ids that were used: an id is good for one request. */
struct relay_ids {
	struct ats_map *young, *old;	/* owned */
};
ATS_NODISCARD int relay_ids_init(struct relay_ids *ids);	/* -ATS_E_NOMEM */
void relay_ids_done(struct relay_ids *ids);
/* 0 and it is used from now on; -ATS_E_EXISTS, -ATS_E_NOMEM. */
ATS_NODISCARD int relay_ids_use(struct relay_ids *ids, const char *id);

#endif
