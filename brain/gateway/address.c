/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of addresses. Runs in ats-gateway for each address that is to be connected to: the names
 * are resolved by servers of somebody else. */
#include "brain/gateway/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

/* Columns: network, length of its prefix, class. The first row that fits counts. */
static const struct {
	uint32_t net;
	unsigned bits;
	enum address_class class;
} nets4[] = {
	{ V4(0, 0, 0, 0), 8, ADDRESS_NEVER },
	{ V4(10, 0, 0, 0), 8, ADDRESS_PRIVATE },
	{ V4(100, 64, 0, 0), 10, ADDRESS_PRIVATE },	/* shared, RFC 6598 */
	{ V4(127, 0, 0, 0), 8, ADDRESS_PRIVATE },
	{ V4(169, 254, 0, 0), 16, ADDRESS_LINK },
	{ V4(172, 16, 0, 0), 12, ADDRESS_PRIVATE },
	{ V4(192, 0, 0, 0), 24, ADDRESS_NEVER },	/* protocol assignments */
	{ V4(192, 0, 2, 0), 24, ADDRESS_NEVER },
	{ V4(192, 88, 99, 0), 24, ADDRESS_NEVER },	/* 6to4 relays, gone */
	{ V4(192, 168, 0, 0), 16, ADDRESS_PRIVATE },
	{ V4(198, 18, 0, 0), 15, ADDRESS_PRIVATE },	/* measurements of one's own net */
	{ V4(198, 51, 100, 0), 24, ADDRESS_NEVER },
	{ V4(203, 0, 113, 0), 24, ADDRESS_NEVER },
	{ V4(224, 0, 0, 0), 3, ADDRESS_NEVER },		/* multicast, reserved, broadcast */
};

static enum address_class
classify4(uint32_t a)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(nets4); i++)
		if ((a ^ nets4[i].net) >> (32 - nets4[i].bits) == 0)
			return nets4[i].class;
	return ADDRESS_PUBLIC;
}

static bool
begins(const unsigned char *a, const char *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, prefix, whole) != 0)
		return false;
	return rest == 0 || ((a[whole] ^ (unsigned char)prefix[whole]) >> (8 - rest)) == 0;
}

static enum address_class
inner(const unsigned char *a)
{
	return classify4(V4(a[0], a[1], a[2], a[3]));
}

static enum address_class
classify6(const unsigned char *a)
{
	static const char zeros[16] = { 0 };

	if (begins(a, zeros, 120) && a[15] == 1)
		return ADDRESS_PRIVATE;			/* ::1 */
	if (begins(a, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 96))
		return inner(a + 12);
	if (begins(a, zeros, 96))			/* ::, and compatible ones */
		return a[12] == 0 ? ADDRESS_NEVER : inner(a + 12);
	if (begins(a, "\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 96))
		return inner(a + 12);			/* NAT64 */
	if (begins(a, "\xfe\x80", 10))
		return ADDRESS_LINK;
	if (begins(a, "\xfd\x00\x0e\xc2", 32))
		return ADDRESS_LINK;			/* a cloud's, though it is none */
	if (begins(a, "\xfc", 7) || begins(a, "\xfe\xc0", 10))
		return ADDRESS_PRIVATE;
	if (begins(a, "\x20\x02", 16))
		return inner(a + 2);			/* 6to4 */
	if (begins(a, "\x20\x01\x0d\xb8", 32) || begins(a, "\x3f\xff\x00", 20) ||
	    begins(a, "\x20\x01\x00", 23))
		return ADDRESS_NEVER;
	return begins(a, "\x20", 3) ? ADDRESS_PUBLIC : ADDRESS_NEVER;
}

enum address_class
address_classify(const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (len >= sizeof(in) && sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		return classify4(ntohl(in.sin_addr.s_addr));
	}
	if (len >= sizeof(in6) && sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		return classify6(in6.sin6_addr.s6_addr);
	}
	return ADDRESS_NEVER;
}

static bool
is_address(const char *host, const struct sockaddr *sa)
{
	unsigned char want[16];
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET && inet_pton(AF_INET, host, want) == 1) {
		memcpy(&in, sa, sizeof(in));
		return memcmp(want, &in.sin_addr, 4) == 0;
	}
	if (sa->sa_family == AF_INET6 && inet_pton(AF_INET6, host, want) == 1) {
		memcpy(&in6, sa, sizeof(in6));
		return memcmp(want, &in6.sin6_addr, 16) == 0;
	}
	return false;
}

bool
address_is_allowed(const struct sockaddr *sa, socklen_t len, const char *host,
    bool allow_private)
{
	switch (address_classify(sa, len)) {
	case ADDRESS_PUBLIC:
		return true;
	case ADDRESS_PRIVATE:
		return allow_private;
	case ADDRESS_LINK:
		return allow_private && is_address(host, sa);
	case ADDRESS_NEVER:
		break;
	}
	return false;
}
