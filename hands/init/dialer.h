/* SPDX-License-Identifier: Apache-2.0
 *
 * --connect: the process that connects to brain. The box has no network and front opens no
 * socket; so this one, outside, does it when front asks, and passes what it has connected on.
 * It reads and writes no byte of it; an HTTP proxy on the way it asks for one. */
#ifndef ATS_HANDS_INIT_DIALER_H
#define ATS_HANDS_INIT_DIALER_H

#include <sys/types.h>

#include "common/proxy.h"

#define DIALER_FIRST_MS 100u	/* pause after a failure, or a link that ended soon */
#define DIALER_LAST_MS 5000u	/* each doubles it, up to this */
#define DIALER_UP_MS 10000u	/* a link that held so long begins anew */
#define DIALER_KNOWN_MS 400u	/* at most, after a link on which brain was attached */
#define DIALER_TIMEOUT_MS 10000u

/* Forks and confines it; via may have no proxy. *ret_front, owned, is what front asks on and takes
 * connections from; when that has no other end any more, it ends. */
ATS_NODISCARD int dialer_start(const struct ats_addr *a, const struct ats_proxy *via,
    pid_t *ret_pid, int *ret_front, struct ats_err *err);

#endif
