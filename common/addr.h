/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of links, one grammar for sandbox.url, REMOTE_TOOLS_URL and ats-hands'
 * --listen and --connect: unix:/PATH, tcp://H:P, tls://H:P, ws://H:P/PATH, wss://H:P/PATH.
 * H is a name, an IPv4 address or a bracketed IPv6 address (RFC 3986, 3.2.2). */
#ifndef ATS_COMMON_ADDR_H
#define ATS_COMMON_ADDR_H

#include <stdint.h>

#include "common/err.h"

#define ATS_ADDR_MAX 512	/* of the text, with the NUL */

enum ats_addr_kind { ATS_ADDR_UNIX, ATS_ADDR_TCP, ATS_ADDR_TLS, ATS_ADDR_WS, ATS_ADDR_WSS };
struct ats_addr {
	enum ats_addr_kind kind;
	char text[ATS_ADDR_MAX];	/* as it was given; printable */
	char host[254];			/* without brackets; "" for unix */
	uint16_t port;			/* 0: whichever is free, for listening only */
	char path[ATS_ADDR_MAX];	/* of the socket, or of the WebSocket request; "" else */
};

/* -ATS_E_INVAL with a text that says what is expected. */
ATS_NODISCARD int ats_addr_parse(const char *text, struct ats_addr *ret,
    struct ats_err *err);
/* One to listen at for those of this machine: ADDRESS:PORT of loopback (a number, or localhost,
 * which is 127.0.0.1), or unix:/PATH. kind is TCP or UNIX, host a number. */
ATS_NODISCARD int ats_addr_parse_own(const char *text, struct ats_addr *ret,
    struct ats_err *err);
/* TLS or WSS; WS or WSS. */
bool ats_addr_has_tls(const struct ats_addr *a);
bool ats_addr_has_ws(const struct ats_addr *a);
/* Whoever reads the wire is of this machine: unix, 127.0.0.0/8, ::1, "localhost". */
bool ats_addr_is_local(const struct ats_addr *a);

#endif
