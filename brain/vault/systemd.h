/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets that systemd hands to a service (sd_listen_fds(3)); common/notify.h has the other
 * direction. The protocol is a few lines; libsystemd is not linked for it. */
#ifndef ATS_VAULT_SYSTEMD_H
#define ATS_VAULT_SYSTEMD_H

#include <stdbool.h>

#include "common/err.h"

#define SYSTEMD_SOCKETS_MAX 3

struct systemd_sockets {
	bool given;			/* they are the manager's, and stay when we end */
	int door, listener;		/* brain.sock, vault.sock */
	int engine;			/* where an engine of the manager comes in, or -1 */
};
/* Takes the listening Unix sockets of ats-brain.socket, told apart by their type (stream:
 * brain.sock, sequential packets: vault.sock), and that of ats-engine.socket, which is named
 * "engine"; forgets the variables. All are -1 when systemd passed none. -ATS_E_INVAL: others were
 * passed. */
ATS_NODISCARD int systemd_sockets(struct systemd_sockets *ret, struct ats_err *err);

#endif
