/* SPDX-License-Identifier: Apache-2.0
 *
 * What systemd hands to a service by its environment: sockets (sd_listen_fds(3)) and a place
 * to say that it is ready (sd_notify(3)). Both protocols are a few lines; libsystemd is not
 * linked for them. */
#ifndef ATS_VAULT_SYSTEMD_H
#define ATS_VAULT_SYSTEMD_H

#include <stdbool.h>

#include "common/err.h"

/* Takes the two listening Unix sockets of ats-brain.socket, told apart by their type (stream:
 * brain.sock, sequential packets: vault.sock), and forgets the variables. *ret_given is false,
 * and the rest untouched, when systemd passed none. -ATS_E_INVAL: others were passed. */
ATS_NODISCARD int systemd_sockets(bool *ret_given, int *ret_door, int *ret_listener,
    struct ats_err *err);
/* A datagram socket connected to $NOTIFY_SOCKET, to be written "READY=1\n"; -1 if none asks. */
int systemd_notify_open(void);

#endif
