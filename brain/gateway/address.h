/* SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses a gateway may connect to. Pure. */
#ifndef ATS_GATEWAY_ADDRESS_H
#define ATS_GATEWAY_ADDRESS_H

#include <sys/socket.h>

#include "common/err.h"

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_PRIVATE,	/* loopback and the networks of organisations */
	ADDRESS_LINK,		/* link-local: where clouds tell machines their credentials */
	ADDRESS_NEVER		/* unspecified, multicast, broadcast, reserved, for documents */
};
/* By the IANA registries of special-purpose addresses. An IPv4 address inside an IPv6 one (mapped,
 * compatible, NAT64, 6to4) is looked at as such. What is unknown is never. */
enum address_class address_classify(const struct sockaddr *sa, socklen_t len);
/* host is the one of the configuration; private ones pass by allow_private, those of a link only
 * where the configuration has just that address, too. */
bool address_is_allowed(const struct sockaddr *sa, socklen_t len, const char *host,
    bool allow_private);

#endif
