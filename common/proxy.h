/* SPDX-License-Identifier: Apache-2.0
 *
 * An HTTP proxy on the way to a peer (CONNECT, RFC 9110, 9.3.6): which one, and asking it. It
 * hears the peer's host and port, and its own user name and password where it wants them; what
 * passes afterwards is the link, whose TLS and proof end at the peer. */
#ifndef ATS_COMMON_PROXY_H
#define ATS_COMMON_PROXY_H

#include <stdint.h>

#include "common/addr.h"

#define ATS_PROXY_USER_MAX 255u	/* USER:PASSWORD, without its %HH */
#define ATS_PROXY_HEAD_MAX 8192u	/* of what a proxy answers */

struct ats_proxy {
	struct ats_addr at;	/* its text is without user and password; port 0: no proxy */
	char auth[(ATS_PROXY_USER_MAX + 2) / 3 * 4 + 1];	/* USER:PASSWORD in base64, or "" */
};

/* What a person wrote: "http://[USER:PASSWORD@]HOST:PORT", "file:/PATH" of a file with that line,
 * which its owner (we, or root) alone can read, "none" or "". -ATS_E_INVAL, -ATS_E_TOOBIG or what
 * the system says; the text never has a part of a URL. */
ATS_NODISCARD int ats_proxy_read(const char *text, struct ats_proxy *ret, struct ats_err *err);
/* What a program of this machine would use for https://: HTTPS_PROXY or https_proxy of the
 * environment, where NO_PROXY or no_proxy does not name the host. Errors as above. */
ATS_NODISCARD int ats_proxy_of_environment(const struct ats_addr *to, struct ats_proxy *ret,
    struct ats_err *err);
/* Whether a NO_PROXY names the host of an address: "*", or, after commas or blanks, a name with
 * all below it (a dot before it or none), an IP address, or a network as 10.0.0.0/8; each may have
 * a port. */
bool ats_proxy_is_exempt(const char *no_proxy, const struct ats_addr *to);
/* Whether to connect by it: there is one, and the address is not of this machine. */
bool ats_proxy_serves(const struct ats_proxy *p, const struct ats_addr *to);
/* Asks the proxy at the other end of fd (non-blocking) for a way to the peer, until the time of
 * ats_clock_us. What comes after its answer is left in fd: it is the peer's. -ATS_E_TIMEOUT,
 * -ATS_E_PERM (it wants another user name or password), -ATS_E_TOOBIG, -ATS_E_PROTO, -ATS_E_EOF,
 * -ATS_E_SYS; the text has nothing that it sent but the status. */
ATS_NODISCARD int ats_proxy_ask(int fd, const struct ats_proxy *p, const struct ats_addr *to,
    uint64_t until_us, struct ats_err *err);

#endif
