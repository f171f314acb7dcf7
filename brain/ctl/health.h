/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a running brain is not as it should be, from what the vault and the engine say of
 * themselves. Process: atsctl. */
#ifndef ATS_CTL_HEALTH_H
#define ATS_CTL_HEALTH_H

#include "brain/ctl/brain.h"

/* Asks a running brain, never starting one: vault.sock, then the door. m is to be released by
 * ats_ipc_done and d by door_close, whatever comes. -ATS_E_NOENT: none runs. */
ATS_NODISCARD int health_ask(struct ctl *c, struct ats_ipc_msg *m, struct door *d,
    struct door_msg *status, struct ats_err *err);
/* What the vault said, "{}" if it is no JSON. Valid as long as m. */
struct ats_slice health_vault(const struct ats_ipc_msg *m);
/* Adds an object for each thing that is configured, or was asked for, and is not there: name,
 * state, why, remedy, all strings. Returns how many. */
size_t health_write(struct ats_json_w *w, struct ats_slice vault, struct ats_slice engine);
/* Whether the engine says so itself, or a sandbox is in a state that is not well, which may
 * pass. */
bool health_is_degraded(struct ats_slice engine);

#endif
