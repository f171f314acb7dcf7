/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks through sockets: the target listens, and tells who connects the secret. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "attack.h"

#define PROTO_MPTCP 262

struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
		struct sockaddr_un local;
	} u;
	socklen_t n;
};

static struct place
on_loopback(int family, const char *port)
{
	struct place a = { 0 };

	a.u.any.sa_family = (sa_family_t)family;
	a.n = family == AF_INET ? sizeof a.u.four : sizeof a.u.six;
	if (family == AF_INET) {
		a.u.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a.u.four.sin_port = htons((uint16_t)number(port));
	} else {
		a.u.six.sin6_addr = in6addr_loopback;
		a.u.six.sin6_port = htons((uint16_t)number(port));
	}
	return a;
}

static struct place
by_name(const char *name, bool abstract)
{
	struct place a = { .n = sizeof a.u.local };
	size_t room = sizeof a.u.local.sun_path - 1;

	a.u.local.sun_family = AF_UNIX;
	if (abstract)
		a.n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
		    (size_t)snprintf(a.u.local.sun_path + 1, room, "%s", name));
	else
		(void)snprintf(a.u.local.sun_path, room, "%s", name);
	return a;
}

/* Connects and prints what it is told. */
static void
reach(int family, int proto, struct place a, const char *what)
{
	int s = socket(family, SOCK_STREAM, proto);

	if (s < 0 || connect(s, &a.u.any, a.n) < 0) {
		REFUSED("%s: %s", what, strerror(errno));
		return;
	}
	print_from(s);
	(void)close(s);
}

/* The target writes down what arrives. */
static void
throw_at(int family, struct place a, const char *what)
{
	int s = socket(family, SOCK_DGRAM, 0);

	if (s < 0 || sendto(s, "THROWN", 6, 0, &a.u.any, a.n) < 0)
		REFUSED("%s: %s", what, strerror(errno));
}

void
attack_tcp4(void)
{
	reach(AF_INET, 0, on_loopback(AF_INET, "TCP4"), "TCP");
}

void
attack_tcp6(void)
{
	struct place mapped = on_loopback(AF_INET6, "TCP4");

	reach(AF_INET6, 0, on_loopback(AF_INET6, "TCP6"), "TCP on ::1");
	if (inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.u.six.sin6_addr) == 1)
		reach(AF_INET6, 0, mapped, "TCP on a mapped address");
}

void
attack_udp4(void)
{
	throw_at(AF_INET, on_loopback(AF_INET, "UDP4"), "UDP");
}

void
attack_udp6(void)
{
	throw_at(AF_INET6, on_loopback(AF_INET6, "UDP6"), "UDP on ::1");
}

/* A connection that no connect() makes. */
void
attack_fast_open(void)
{
	struct place a = on_loopback(AF_INET, "TCP4");
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (s < 0 || sendto(s, "THROWN", 6, MSG_FASTOPEN, &a.u.any, a.n) < 0)
		REFUSED("fast open: %s", strerror(errno));
	else
		print_from(s);
}

/* Not TCP, to those who only look at TCP; understood by a listener of TCP. */
void
attack_mptcp(void)
{
	reach(AF_INET, PROTO_MPTCP, on_loopback(AF_INET, "TCP4"), "MPTCP to TCP");
	reach(AF_INET, PROTO_MPTCP, on_loopback(AF_INET, "MPTCP"), "MPTCP");
}

void
attack_packet(void)
{
	must_not_reach(socket(AF_PACKET, SOCK_RAW, htons(3)), "packet");
	must_not_reach(socket(AF_PACKET, SOCK_DGRAM, htons(3)), "packet datagram");
	must_not_reach(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), "raw");
	must_not_reach(socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), "raw IPv6");
	must_not_reach(socket(44, SOCK_RAW, 0), "XDP");
}

/* Rare ones load modules. */
void
attack_families(void)
{
	static const struct { const char *name; int family, type, proto; } rare[] = {
		{ "alg", 38, SOCK_SEQPACKET, 0 }, { "netlink audit", AF_NETLINK, SOCK_RAW, 9 },
		{ "netlink netfilter", AF_NETLINK, SOCK_RAW, 12 },
		{ "netlink xfrm", AF_NETLINK, SOCK_RAW, 6 },
		{ "netlink uevent", AF_NETLINK, SOCK_RAW, 15 },
		{ "netlink sock_diag", AF_NETLINK, SOCK_RAW, 4 },
		{ "can", 29, SOCK_RAW, 1 }, { "tipc", 30, SOCK_SEQPACKET, 0 },
		{ "rds", 21, SOCK_SEQPACKET, 0 }, { "bluetooth", 31, SOCK_RAW, 1 },
		{ "x25", 9, SOCK_SEQPACKET, 0 }, { "smc", 43, SOCK_STREAM, 0 },
		{ "key", 15, SOCK_RAW, 2 }, { "ax25", 3, SOCK_DGRAM, 0 },
		{ "sctp", AF_INET, SOCK_STREAM, 132 }, { "dccp", AF_INET, 6, 33 },
		{ "udplite", AF_INET, SOCK_DGRAM, 136 }, { "qipcrtr", 42, SOCK_DGRAM, 0 },
		{ "phonet", 35, SOCK_DGRAM, 0 }, { "mctp", 45, SOCK_DGRAM, 0 } };

	for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
		must_not_reach(socket(rare[i].family, rare[i].type, rare[i].proto), rare[i].name);
}

void
attack_vsock(void)
{
	must_not_reach(socket(40, SOCK_STREAM, 0), "vsock");
	must_not_reach(socket(40, SOCK_DGRAM, 0), "vsock datagram");
	must_not_open("/dev/vsock", O_RDONLY);
}

void
attack_abstract(void)
{
	reach(AF_UNIX, 0, by_name(word("ABSTRACT"), true), "an abstract name");
}

void
attack_abstract_datagram(void)
{
	char name[108];

	(void)snprintf(name, sizeof name, "%s-d", word("ABSTRACT"));
	throw_at(AF_UNIX, by_name(name, true), "an abstract datagram");
}

void
attack_path_socket(void)
{
	reach(AF_UNIX, 0, by_name(outside("sock"), false), "a socket outside");
	throw_at(AF_UNIX, by_name(outside("dsock"), false), "a datagram socket outside");
}

void
attack_workspace_socket(void)
{
	reach(AF_UNIX, 0, by_name(".host.sock", false), "a host's socket in the workspace");
	throw_at(AF_UNIX, by_name(".host.dsock", false), "a host's datagram socket there");
}

/* One half of a pair forgets the other one and speaks to the host. */
void
attack_retarget(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct place in = by_name(".host.dsock", false), out = by_name(outside("dsock"), false);
	int p[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, p) < 0) {
		REFUSED("socketpair: %s", strerror(errno));
		return;
	}
	(void)connect(p[0], &none, sizeof none);
	(void)must_fail(sendto(p[0], "THROWN", 6, 0, &in.u.any, in.n), "into the workspace");
	(void)must_fail(sendto(p[0], "THROWN", 6, 0, &out.u.any, out.n), "to the outside");
}

/* All links of this namespace, by the netlink family that is allowed: none but lo. */
void
attack_routes(void)
{
	struct { uint32_t len; uint16_t type, flags; uint32_t seq, pid; uint8_t body[16]; } ask = {
		32, 18 /* RTM_GETLINK */, 0x301, 1, 0, { 0 } };
	char b[16384];
	int s = socket(AF_NETLINK, SOCK_RAW, 0), links = 0;
	ssize_t n;

	if (s < 0 || send(s, &ask, 32, 0) < 0) {
		REFUSED("netlink: %s", strerror(errno));
		return;
	}
	while ((n = recv(s, b, sizeof b, 0)) > 0) {
		uint32_t len;

		for (char *p = b; n >= 16; p += (len + 3) & ~3u, n -= (ssize_t)((len + 3) & ~3u)) {
			memcpy(&len, p, 4);
			if (len < 16 || p[4] == 3 /* done */) {
				n = -1;
				break;
			}
			links++;
		}
		if (n < 0)
			break;
	}
	if (links > 1)
		ESCAPED("%d interfaces are seen", links);
	else
		REFUSED("%d interface", links);
}

void
attack_ping(void)
{
	struct place a = on_loopback(AF_INET, "none");
	char echo[8] = { 8, 0, 0, 0, 0, 0, 0, 1 };
	int s = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);

	a.u.four.sin_addr.s_addr = htonl(0x08080808);
	if (s < 0 || sendto(s, echo, sizeof echo, 0, &a.u.any, a.n) < 0)
		REFUSED("ping: %s", strerror(errno));
	else
		ESCAPED("an echo request leaves");
}

/* ---- what must work ------------------------------------------------------------------- */
static void
talk_to_itself(int family, struct place a)
{
	int l = socket(family, SOCK_STREAM, 0), c = socket(family, SOCK_STREAM, 0), s;
	char b[4] = "";

	if (l < 0 || bind(l, &a.u.any, a.n) < 0 || listen(l, 1) < 0) {
		perror("listen");
		return;
	}
	if (family != AF_UNIX)
		(void)getsockname(l, &a.u.any, &a.n);
	if (connect(c, &a.u.any, a.n) < 0 || (s = accept(l, NULL, NULL)) < 0 ||
	    write(s, "ok", 2) != 2 || read(c, b, 2) != 2)
		perror("connect");
	else
		(void)puts("usable");
}

void
attack_own_loopback(void)
{
	talk_to_itself(AF_INET, on_loopback(AF_INET, "none"));
}

void
attack_own_socket(void)
{
	(void)unlink("own.sock");
	talk_to_itself(AF_UNIX, by_name("own.sock", false));
}
