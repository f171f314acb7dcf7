/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting and listening by an address, on loopback. */
#include "common/dial.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/unit.h"

static struct ats_addr
addr(const char *before, unsigned port)
{
	struct ats_addr a;
	char text[128];

	snprintf(text, sizeof(text), "%s%u", before, port);
	ck_assert_int_eq(ats_addr_parse(text, &a, NULL), 0);
	return a;
}

static int
option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static int
accept_one(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 5000), 1);
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void
is_tuned(int fd)
{
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert_int_eq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 15);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

START_TEST(dial_reaches_who_listens_and_both_ends_are_tuned)
{
	static const char *const rows[] = { "tcp://127.0.0.1:", "tls://localhost:",
		"ws://127.0.0.1:" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_addr a = addr(rows[i], 0);
		int listener, fd, other;
		unsigned port = 0;

		ck_assert_int_eq(ats_dial_listen(&a, &listener, &port, NULL), 0);
		ck_assert_uint_ne(port, 0);
		a = addr(rows[i], port);
		ck_assert_int_eq(ats_dial(&a, 5000, &fd, NULL), 0);
		other = accept_one(listener);
		ck_assert_int_ge(other, 0);
		is_tuned(fd);
		is_tuned(other);
		close(other);
		close(fd);
		close(listener);
	}
}
END_TEST

START_TEST(dial_of_nobody_says_where_and_why)
{
	struct ats_addr a = addr("tcp://127.0.0.1:", 0);
	struct ats_err err;
	int listener, fd;
	unsigned port;

	ck_assert_int_eq(ats_dial_listen(&a, &listener, &port, NULL), 0);
	close(listener);
	ck_assert_int_eq(ats_dial(&a, 5000, &fd, &err), -ATS_E_INVAL);
	a = addr("tcp://127.0.0.1:", port);
	ck_assert_int_eq(ats_dial(&a, 5000, &fd, &err), -ATS_E_SYS);
	ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1 port"));
	ck_assert_ptr_nonnull(strstr(err.text, "refused"));
	a = addr("tcp://localhost:", port);
	ck_assert_int_eq(ats_dial(&a, 5000, &fd, &err), -ATS_E_SYS);
	a = addr("unix:/nowhere/at/all.", 1);
	ck_assert_int_eq(ats_dial(&a, 5000, &fd, &err), -ATS_E_NOENT);
}
END_TEST

/* A listener whose queue is full lets the next one wait. */
START_TEST(dial_without_an_answer_ends_in_time)
{
	struct ats_addr a = addr("tcp://127.0.0.1:", 0);
	int listener, fds[64], rc = 0;
	struct ats_err err;
	unsigned port, n = 0;

	ck_assert_int_eq(ats_dial_listen(&a, &listener, &port, NULL), 0);
	ck_assert_int_eq(listen(listener, 0), 0);
	a = addr("tcp://127.0.0.1:", port);
	while (rc == 0 && n < ATS_ARRAY_LEN(fds)) {
		rc = ats_dial(&a, 150, &fds[n], &err);
		n += rc == 0;
	}
	ck_assert_int_eq(rc, -ATS_E_TIMEOUT);
	ck_assert_ptr_nonnull(strstr(err.text, "in time"));
	while (n > 0)
		close(fds[--n]);
	close(listener);
}
END_TEST

START_TEST(listen_takes_no_name_and_no_port_twice)
{
	struct ats_addr a = addr("tcp://box.example:", 7000);
	struct ats_err err;
	int listener, second;
	unsigned port, other;

	ck_assert_int_eq(ats_dial_listen(&a, &listener, &port, &err), -ATS_E_INVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "IP address"));
	a = addr("tcp://127.0.0.1:", 0);
	ck_assert_int_eq(ats_dial_listen(&a, &listener, &port, NULL), 0);
	a = addr("tcp://127.0.0.1:", port);
	ck_assert_int_eq(ats_dial_listen(&a, &second, &other, &err), -ATS_E_SYS);
	ck_assert_ptr_nonnull(strstr(err.text, "in use"));
	close(listener);
}
END_TEST

START_TEST(tune_leaves_other_sockets_alone)
{
	int fds[2];

	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	ats_dial_tune(fds[0]);
	ck_assert_int_eq(option(fds[0], SOL_SOCKET, SO_KEEPALIVE), 0);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

ATS_UNIT_MAIN("dial", dial_reaches_who_listens_and_both_ends_are_tuned,
    dial_of_nobody_says_where_and_why, dial_without_an_answer_ends_in_time,
    listen_takes_no_name_and_no_port_twice, tune_leaves_other_sockets_alone)
