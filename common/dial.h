/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting and listening by an address. Blocking: for a process of its own that the caller
 * forks for it, so that neither slow names nor slow peers stop a loop. Names are looked up
 * by libevent's evdns (resolv.conf, hosts), since a static glibc has no NSS. */
#ifndef ATS_COMMON_DIAL_H
#define ATS_COMMON_DIAL_H

#include <stddef.h>

#include "common/addr.h"
#include "common/proxy.h"

/* Tries the addresses of the name in turn. Returns a connected, non-blocking socket, tuned by
 * ats_dial_tune, in *ret_fd. -ATS_E_NOENT (no such name), -ATS_E_TIMEOUT, -ATS_E_SYS. */
ATS_NODISCARD int ats_dial(const struct ats_addr *a, unsigned timeout_ms, int *ret_fd,
    struct ats_err *err);
/* The same by an HTTP proxy, where that serves the address (via may be NULL): then the name is the
 * proxy's to look up, and errors of ats_proxy_ask come as well. */
ATS_NODISCARD int ats_dial_via(const struct ats_addr *a, const struct ats_proxy *via,
    unsigned timeout_ms, int *ret_fd, struct ats_err *err);
/* Literal addresses and localhost only. *ret_port: the one taken. Non-blocking, SO_REUSEADDR. */
ATS_NODISCARD int ats_dial_listen(const struct ats_addr *a, int *ret_fd, unsigned *ret_port,
    struct ats_err *err);
/* TCP_NODELAY, keepalive and TCP_USER_TIMEOUT, so that a peer that vanished is noticed below the
 * heartbeat, too. Sockets that are not TCP are left alone. */
void ats_dial_tune(int fd);

#endif
