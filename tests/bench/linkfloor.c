/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor of an echo through a link: what comes on stdin goes over a wire of that kind to a
 * second process, which sends it back, and out on stdout. Nothing is in it but the hand-over;
 * each process blocks where it waits.
 * usage: linkfloor unix|tcp|tls|wss SIZE [leaf]
 * SIZE: bytes of one message. leaf: a third process behind the second, over pipes, echoes, as
 * a command behind ats-hands does. */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "common/dial.h"
#include "common/fd.h"
#include "common/tls.h"
#include "common/wire.h"
#include "tests/bench/bench.h"

#define HEAD 20u		/* of a frame; WebSocket wants its length in front */
#define SIZE_MAX_BYTES (1u << 16)

static const unsigned char seed[ATS_TLS_SEED] = "a seed known to everybody.";
static struct ats_err err;

static void
check(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "linkfloor: %s: %s\n", what, err.text);
	exit(1);
}

static struct ats_wire *
open_wire(int fd, const struct ats_addr *a, bool server)
{
	unsigned char pin[ATS_TLS_PIN];
	struct ats_tls_plan tls = { .server = server, .seed = server ? seed : NULL,
		.pin = server ? NULL : pin };
	struct ats_wire_plan plan = { .kind = a->kind, .server = server, .host = a->host,
		.port = a->port, .path = a->path };
	struct ats_wire *w;

	if (ats_addr_has_tls(a)) {
		check(ats_tls_seed_pin(seed, pin, &err), "pin");
		check(ats_tls_new(&tls, &plan.tls, &err), "TLS");
	}
	check(ats_wire_new(fd, &plan, &w, &err), "wire");
	check(ats_fd_nonblock(ats_wire_fd(w), false), "blocking");
	return w;
}

static bool
recv_all(struct ats_wire *w, char *p, size_t n)
{
	while (n > 0) {
		ssize_t got = ats_wire_recv(w, p, n);

		if (got == -ATS_E_AGAIN)	/* a handshake's part, a record without data */
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static void
send_all(struct ats_wire *w, char *p, size_t n)
{
	while (n > 0) {
		struct iovec iov = { p, n };
		ssize_t put = ats_wire_send(w, &iov, 1, false);

		if (put == -ATS_E_AGAIN)
			continue;
		if (put < 0)
			exit(1);
		p += put;
		n -= (size_t)put;
	}
	while (ats_wire_flush(w) == -ATS_E_AGAIN)
		;
}

static bool
read_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t got = read(fd, p, n);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

/* A child that echoes; its ends in ret. */
static void
start_leaf(int ret[2])
{
	static char b[SIZE_MAX_BYTES];
	int in[2], out[2];
	ssize_t n;

	if (pipe(in) != 0 || pipe(out) != 0)
		bench_die("pipe");
	if (fork() == 0) {
		close(in[1]);
		while ((n = read(in[0], b, sizeof(b))) > 0)
			bench_write_all(out[1], b, (size_t)n);
		_exit(0);
	}
	close(in[0]);
	close(out[1]);
	ret[0] = out[0];
	ret[1] = in[1];
}

static void
far_end(struct ats_wire *w, size_t size, bool leaf)
{
	static char b[SIZE_MAX_BYTES];
	int ends[2] = { -1, -1 };

	if (leaf)
		start_leaf(ends);
	while (recv_all(w, b, HEAD + size)) {
		if (leaf) {
			bench_write_all(ends[1], b + HEAD, size);
			if (!read_all(ends[0], b + HEAD, size))
				break;
		}
		send_all(w, b, HEAD + size);
	}
	exit(0);
}

static void
near_end(struct ats_wire *w, size_t size)
{
	static char b[SIZE_MAX_BYTES];
	uint32_t n = (uint32_t)(HEAD + size);

	while (read_all(0, b + HEAD, size)) {
		for (int i = 0; i < 4; i++)
			b[i] = (char)(n >> (24 - 8 * i));
		send_all(w, b, n);
		if (!recv_all(w, b, n))
			break;
		bench_write_all(1, b + HEAD, size);
	}
	exit(0);
}

/* Both ends, connected; ret[1] is the far one's, which accepts. */
static void
connect_pair(const struct ats_addr *a, int ret[2])
{
	struct ats_addr to = *a;
	unsigned port;
	int at;

	if (a->kind == ATS_ADDR_UNIX) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) != 0)
			bench_die("socketpair");
		return;
	}
	check(ats_dial_listen(a, &at, &port, &err), "listen");
	to.port = (uint16_t)port;
	check(ats_dial(&to, 5000, &ret[0], &err), "connect");
	ret[1] = accept4(at, NULL, NULL, SOCK_CLOEXEC);
	if (ret[1] < 0)
		bench_die("accept");
	ats_dial_tune(ret[1]);
	close(at);
}

int
main(int argc, char **argv)
{
	char text[64];
	struct ats_addr a;
	size_t size = argc > 2 ? (size_t)atoi(argv[2]) : 0;
	int ends[2];

	if (size < 1 || size > SIZE_MAX_BYTES - HEAD)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(argv[1], "unix") == 0)
		snprintf(text, sizeof(text), "unix:/x");
	else
		snprintf(text, sizeof(text), "%s://127.0.0.1:0%s", argv[1],
		    argv[1][0] == 'w' ? "/x" : "");
	check(ats_addr_parse(text, &a, &err), text);
	connect_pair(&a, ends);
	if (fork() == 0) {
		close(ends[0]);
		close(0);
		close(1);
		far_end(open_wire(ends[1], &a, true), size, argc > 3);
	}
	close(ends[1]);
	near_end(open_wire(ends[0], &a, false), size);
	return 0;
}
