/* SPDX-License-Identifier: Apache-2.0
 *
 * One end of a wire, for tests against other programs' TLS and WebSocket.
 *   wirepeer listen ADDRESS               prints "pin HEX" and "port N", echoes the frames
 *                                         of all who connect, and says how each ended
 *   wirepeer connect ADDRESS PIN|- N ...  sends a frame of each length, one after the other's
 *                                         echo, and says "echoed N frames", or why not */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/chan.h"
#include "common/dial.h"
#include "common/digest.h"
#include "common/tls.h"
#include "common/wire.h"

static const unsigned char seed[ATS_TLS_SEED] = "a seed known to everybody.";

struct peer {
	struct event_base *base;
	struct ats_addr addr;
	struct ats_tls *tls;
};
struct link {
	struct peer *p;
	struct ats_chan *c;
	char **sizes;			/* connect: what is still to be sent, or NULL */
	unsigned echoed;
};

static void
fail(const char *what, const char *why)
{
	printf("%s: %s\n", what, why);
	exit(1);
}

static void
send_next(struct link *l)
{
	static char body[ATS_FRAME_MAX];
	size_t n;
	int rc;

	if (*l->sizes == NULL) {
		printf("echoed %u frames\n", l->echoed);
		ats_chan_close(l->c, ATS_E_EOF, "done");
		return;
	}
	n = strtoul(*l->sizes++, NULL, 10) - ATS_FRAME_HEAD;
	memset(body, 'a' + (int)(l->echoed % 26), n);
	rc = ats_chan_send(l->c, 4, 1, l->echoed, body, 0, body, n);
	if (rc < 0 && rc != -ATS_E_EOF)		/* of that on_closed says why */
		fail("send", ats_err_text(rc));
}

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	(void)ctx;
	(void)h;
	(void)err;
	return 0;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	struct link *l = ctx;

	if (l->sizes == NULL)
		return ats_chan_send(l->c, f->head.type, f->head.kind, f->head.call, f->json,
		    f->head.json_len, f->payload, f->payload_n);
	for (size_t i = 0; i < f->payload_n; i++)
		if (f->payload[i] != 'a' + (char)(l->echoed % 26))
			return ats_err_set(err, ATS_E_PROTO, "another frame came back");
	if (f->head.call != l->echoed++ ||
	    f->payload_n != strtoul(l->sizes[-1], NULL, 10) - ATS_FRAME_HEAD)
		return ats_err_set(err, ATS_E_PROTO, "another frame came back");
	send_next(l);
	return 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct link *l = ctx;
	bool client = l->sizes != NULL;

	printf("closed %s: %s\n", ats_err_name(code), why);
	fflush(stdout);
	ats_chan_free(l->c);
	free(l);
	if (client)
		exit(0);
}

static const struct ats_chan_ops ops = { on_check, on_frame, NULL, on_closed };

static struct link *
open_link(struct peer *p, int fd, bool server, char **sizes)
{
	struct ats_wire_plan plan = { .kind = p->addr.kind, .server = server,
		.host = p->addr.host, .port = p->addr.port, .path = p->addr.path, .tls = p->tls };
	struct link *l = calloc(1, sizeof(*l));
	struct ats_err err;
	struct ats_wire *w;

	if (l == NULL || ats_wire_new(fd, &plan, &w, &err) < 0)
		fail("wire", l == NULL ? "out of memory" : err.text);
	l->p = p;
	l->sizes = sizes;
	l->c = ats_chan_new_wire(p->base, w, &ops, l);
	if (l->c == NULL)
		fail("channel", "out of memory");
	return l;
}

static void
on_accept(evutil_socket_t listener, short what, void *arg)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd >= 0)
		(void)open_link(arg, fd, true, NULL);
}

static void
make_tls(struct peer *p, bool server, const char *pin_hex)
{
	unsigned char pin[ATS_TLS_PIN];
	struct ats_tls_plan plan = { .server = server };
	char hex[2 * ATS_TLS_PIN + 1] = "-";
	struct ats_err err;

	if (server) {
		plan.seed = seed;
		if (ats_tls_seed_pin(seed, pin, &err) < 0)
			fail("pin", err.text);
		ats_hex(pin, sizeof(pin), hex);
		printf("pin %s\n", hex);
	} else if (ats_unhex(pin_hex, pin, sizeof(pin))) {
		plan.pin = pin;
	}
	if (ats_addr_has_tls(&p->addr) && ats_tls_new(&plan, &p->tls, &err) < 0)
		fail("tls", err.text);
}

int
main(int argc, char **argv)
{
	struct peer p = { .base = event_base_new() };
	struct ats_err err;
	bool server;
	unsigned port = 0;
	int fd;

	if (argc < 3 || (strcmp(argv[1], "connect") == 0 && argc < 4))
		fail("usage", "wirepeer listen ADDRESS | connect ADDRESS PIN|- N ...");
	server = strcmp(argv[1], "listen") == 0;
	if (ats_addr_parse(argv[2], &p.addr, &err) < 0)
		fail("address", err.text);
	make_tls(&p, server, argv[3]);
	if ((server ? ats_dial_listen(&p.addr, &fd, &port, &err) :
	    ats_dial(&p.addr, 10000, &fd, &err)) < 0)
		fail(argv[1], err.text);
	if (server) {
		printf("port %u\n", port);
		fflush(stdout);
		event_add(event_new(p.base, fd, EV_READ | EV_PERSIST, on_accept, &p), NULL);
	} else {
		send_next(open_link(&p, fd, false, argv + 4));
	}
	event_base_dispatch(p.base);
	return 1;
}
