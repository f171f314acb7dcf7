/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ends of a wire of each kind over a socketpair, for unit tests. */
#ifndef ATS_TESTS_LIB_WIRE_PAIR_H
#define ATS_TESTS_LIB_WIRE_PAIR_H

#include <sys/socket.h>

#include "common/fd.h"
#include "common/tls.h"
#include "common/wire.h"
#include "tests/lib/unit.h"

static const unsigned char seed[ATS_TLS_SEED] = "the seed of a test, 32 bytes....";
static const enum ats_addr_kind kinds[] = { ATS_ADDR_UNIX, ATS_ADDR_TCP, ATS_ADDR_TLS,
	ATS_ADDR_WS, ATS_ADDR_WSS };

struct pair {
	struct ats_tls *tls[2];		/* client, server */
	struct ats_wire *w[2];
};

static inline void
tls_pair(struct pair *p)
{
	unsigned char pin[ATS_TLS_PIN];
	struct ats_tls_plan client = { .pin = pin }, server = { .server = true, .seed = seed };

	ck_assert_int_eq(ats_tls_seed_pin(seed, pin, NULL), 0);
	ck_assert_int_eq(ats_tls_new(&client, &p->tls[0], NULL), 0);
	ck_assert_int_eq(ats_tls_new(&server, &p->tls[1], NULL), 0);
}

static inline struct ats_wire *
wire_over(int fd, enum ats_addr_kind kind, bool server, const char *host, struct ats_tls *tls)
{
	struct ats_wire_plan plan = { .kind = kind, .server = server, .host = host,
		.path = "/link", .tls = tls };
	struct ats_err err = { .text = "" };
	struct ats_wire *w = NULL;

	ck_assert_msg(ats_wire_new(fd, &plan, &w, &err) == 0, "%s", err.text);
	return w;
}

static inline void
open_pair(struct pair *p, enum ats_addr_kind kind)
{
	int fds[2];

	memset(p, 0, sizeof(*p));
	if (kind == ATS_ADDR_TLS || kind == ATS_ADDR_WSS)
		tls_pair(p);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	p->w[0] = wire_over(fds[0], kind, false, "box.example", p->tls[0]);
	p->w[1] = wire_over(fds[1], kind, true, NULL, p->tls[1]);
}

static inline void
close_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		ats_wire_free(p->w[i]);
		ats_tls_free(p->tls[i]);
	}
}

#endif
