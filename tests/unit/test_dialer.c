/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that connects: what it hands over, what it holds, and how it ends. */
#include "brain/vault/dialer.h"
#include "common/fd.h"
#include "tests/lib/unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "00112233445566778899aabbccddeeff"

static const struct ats_places places = { .runtime = "/nonexistent" };
static struct children kids;
static struct ats_proxy via;	/* none, where a test sets none */
static struct ats_err err;
static int link_fd = -1;

/* A listener of 127.0.0.1 whose queue has room for one, and its address. */
static int
listener(struct ats_addr *ret)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[64];

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, n), 0);
	ck_assert_int_eq(listen(fd, 0), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", ntohs(sa.sin_port));
	ck_assert_int_eq(ats_addr_parse(text, ret, &err), 0);
	return fd;
}

/* What comes after it does not connect: the kernel drops it. */
#define FILLING 4
static void
fill(const struct ats_addr *a, int ret_fds[FILLING])
{
	for (int i = 0; i < FILLING; i++) {
		struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(a->port),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		ret_fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)!connect(ret_fds[i], (struct sockaddr *)&sa, sizeof(sa));
	}
}

static void
start(const struct ats_addr *a)
{
	children_init(&kids, &places);
	err = (struct ats_err){ 0 };
	ck_assert_msg(dialer_start(&kids, ID, a, &via, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(kids.n, 1);
}

static int
result(void)
{
	struct child *c = children_find(&kids, ID);
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
	int status, rc;

	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	ck_assert(children_wait(c, &status));
	rc = dialer_result(c, status, &link_fd, &err);
	children_forget(&kids, c);
	ck_assert_uint_eq(kids.n, 0);
	return rc;
}

START_TEST(dialer_hands_over_what_it_connected)
{
	struct ats_addr a;
	int at = listener(&a), peer;
	char c;

	start(&a);
	ck_assert_msg(result() == 0, "%s", err.text);
	peer = accept(at, NULL, NULL);
	ck_assert_int_eq(write(peer, "x", 1), 1);
	ck_assert_int_eq(fcntl(link_fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(poll(&(struct pollfd){ .fd = link_fd, .events = POLLIN }, 1, 5000), 1);
	ck_assert_int_eq(read(link_fd, &c, 1), 1);
	(void)close(peer);
	(void)close(at);
	ats_fd_close(&link_fd);
}
END_TEST

START_TEST(dialer_says_why_not)
{
	struct ats_addr a;
	int at = listener(&a);

	(void)close(at);
	start(&a);
	ck_assert_int_lt(result(), 0);
	ck_assert_msg(strstr(err.text, "refused") != NULL, "%s", err.text);
	ck_assert_int_eq(link_fd, -1);
}
END_TEST

/* Confined it still reads what the look-up of names needs, and says of whom it knows nothing. */
START_TEST(dialer_looks_up_names)
{
	struct ats_addr a, b;
	int at = listener(&a);
	char text[64];

	(void)snprintf(text, sizeof(text), "tcp://localhost:%u", a.port);
	ck_assert_int_eq(ats_addr_parse(text, &b, &err), 0);
	start(&b);
	ck_assert_msg(result() == 0, "%s", err.text);
	ats_fd_close(&link_fd);
	(void)close(at);
}
END_TEST

/* Confined to the port of the proxy it reaches that, has it connect by name, and hands over what
 * the peer has said behind the proxy's answer. */
START_TEST(dialer_asks_a_proxy)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\n\r\nx";
	struct ats_addr a, far;
	int at = listener(&a), peer;
	char url[64], text[200] = "";

	(void)snprintf(url, sizeof(url), "http://u:p@127.0.0.1:%u/", a.port);
	ck_assert_int_eq(ats_proxy_read(url, &via, &err), 0);
	ck_assert_int_eq(ats_addr_parse("wss://far.example:443/ats", &far, &err), 0);
	start(&far);
	peer = accept(at, NULL, NULL);
	ck_assert_int_gt(read(peer, text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n"
	    "Proxy-Authorization: Basic dTpw\r\n\r\n");
	ck_assert_int_eq(write(peer, answer, sizeof(answer) - 1), sizeof(answer) - 1);
	ck_assert_msg(result() == 0, "%s", err.text);
	ck_assert_int_eq(read(link_fd, text, sizeof(text)), 1);
	ck_assert_int_eq(text[0], 'x');
	ats_fd_close(&link_fd);
	(void)close(peer);
	(void)close(at);
	start(&far);
	ck_assert_int_lt(result(), 0);
	ck_assert_msg(strstr(err.text, "the proxy: 127.0.0.1 port") != NULL, "%s", err.text);
}
END_TEST

static unsigned
open_files(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (d == NULL)
		return 0;	/* another's, undumpable */
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.';
	(void)closedir(d);
	return n;
}

/* Stderr, the socket to us, the one that connects, and what the look-up of names needs. */
START_TEST(dialer_that_hangs_holds_nothing_and_is_ended)
{
	struct ats_addr a;
	int at = listener(&a), filling[FILLING], many[40];

	fill(&a, filling);
	for (size_t i = 0; i < ATS_ARRAY_LEN(many); i++)
		many[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	start(&a);
	ck_assert_int_eq(dialer_start(&kids, ID, &a, &via, &err), -ATS_E_EXISTS);
	ck_assert_int_eq(poll(&(struct pollfd){ .fd = kids.first->pidfd, .events = POLLIN }, 1,
		100), 0);
	ck_assert_uint_lt(open_files(kids.first->pid), 10);
	children_signal(kids.first, SIGKILL);
	ck_assert_int_eq(result(), -ATS_E_CANCELLED);
	for (size_t i = 0; i < ATS_ARRAY_LEN(many); i++)
		(void)close(many[i]);
	for (size_t i = 0; i < FILLING; i++)
		(void)close(filling[i]);
	(void)close(at);
}
END_TEST

/* It reads what name servers send, so it may be anybody's: what it leaves is looked at. */
static int
judged(const void *said, size_t n, int fd)
{
	struct child *c;
	int pair[2], rc;

	children_init(&kids, &places);
	ck_assert_int_eq(children_new(&kids, ID, &c, &err), 0);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET, pair), 0);
	c->dial = pair[0];
	if (n > 0)
		ck_assert_int_eq(ats_fd_send(pair[1], said, n, &fd, fd >= 0 ? 1 : 0), (ssize_t)n);
	(void)close(pair[1]);
	rc = dialer_result(c, 0, &link_fd, &err);
	children_add(&kids, c);
	children_forget(&kids, c);
	return rc;
}

START_TEST(dialer_is_not_believed)
{
	struct {
		int32_t code;
		char text[500];
	} r = { 0 };
	int pair[2], udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	ck_assert_int_lt(judged(NULL, 0, -1), 0);
	ck_assert_int_lt(judged(&r, 7, -1), 0);
	ck_assert_int_lt(judged(&r, sizeof(r), -1), 0);
	ck_assert_int_lt(judged(&r, sizeof(r), pair[0]), 0);	/* not of a network */
	ck_assert_int_lt(judged(&r, sizeof(r), udp), 0);
	r.code = ATS_E_PERM;					/* not its to say */
	memset(r.text, '\x1b', sizeof(r.text));
	ck_assert_int_eq(judged(&r, sizeof(r), -1), -ATS_E_SYS);
	ck_assert_ptr_null(strchr(err.text, '\x1b'));
	ck_assert_int_eq(link_fd, -1);
	(void)close(pair[0]);
	(void)close(pair[1]);
	(void)close(udp);
}
END_TEST

ATS_UNIT_MAIN("dialer", dialer_hands_over_what_it_connected, dialer_says_why_not,
    dialer_looks_up_names, dialer_asks_a_proxy, dialer_that_hangs_holds_nothing_and_is_ended,
    dialer_is_not_believed)
