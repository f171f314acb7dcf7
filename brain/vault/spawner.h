/* SPDX-License-Identifier: Apache-2.0
 *
 * The spawner: the one process of the host side that executes programs. Forked by the vault
 * before anything else, so that it holds nothing. Takes orders by proto/brain.def from its
 * socket; when that ends, it ends its children and itself. */
#ifndef ATS_VAULT_SPAWNER_H
#define ATS_VAULT_SPAWNER_H

#include <sys/types.h>

#include "brain/vault/config.h"
#include "brain/vault/lock.h"

#define SPAWNER_END_MS 2000	/* less than a new brain waits for the lock */

/* Forks it. conf is what the configuration says of sandbox.url and commands: the spawner has it
 * by the fork, so that no message can name a program. The locks stay open in it (a new brain
 * waits until all of the old one is gone), everything else but stderr is closed. *ret_fd is the
 * vault's end (SEQPACKET, O_NONBLOCK), *ret_pidfd a pidfd of it; both owned. */
ATS_NODISCARD int spawner_start(const struct ats_places *places,
    const struct config *conf, const struct locks *locks, pid_t *ret_pid, int *ret_pidfd,
    int *ret_fd, struct ats_err *err);
/* After the vault's end of the socket is closed: waits SPAWNER_END_MS for its end, then kills
 * it (a stopped one does not end by itself and would hold the lock), and reaps it. Bounded. */
void spawner_end(int pidfd);

#endif
