/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting over a network without waiting for it: by a process of its own, one for each
 * try, which looks up the name, connects, by an HTTP proxy where there is one, hands over the
 * socket and ends. */
#ifndef ATS_VAULT_DIALER_H
#define ATS_VAULT_DIALER_H

#include "brain/vault/children.h"
#include "common/proxy.h"

#define DIALER_MS 10000		/* for the name and all its addresses together */

/* Forks it, as the child id (so that there is one for a sandbox at a time, and KILL and STOP
 * reach it). a and via (which may have no proxy) are borrowed. It holds nothing of ours but its
 * end of a socket. */
ATS_NODISCARD int dialer_start(struct children *k, const char *id, const struct ats_addr *a,
    const struct ats_proxy *via, struct ats_err *err);
/* After it was waited for: the connected socket (owned), or why there is none. What it says is
 * taken for a stranger's, since it reads what name servers send. */
ATS_NODISCARD int dialer_result(struct child *c, int status, int *ret_fd, struct ats_err *err);

#endif
