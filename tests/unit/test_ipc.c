/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed messages: shapes, senders, cut and padded datagrams at every byte. */
#include <sys/socket.h>
#include <unistd.h>

#include "common/ipc.h"
#include "tests/lib/unit.h"

static const struct ats_ipc_row rows[] = {
	{ 1, "both", "sus", 1, 0 },
	{ 2, "empty", "", 2, 0 },
	{ 3, "fds", "u", 1 | 2, 2 },
};
#define N ATS_ARRAY_LEN(rows)

static int pair[2];

static void
open_it(void)
{
	ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET | SOCK_NONBLOCK, pair), 0);
}

static void
close_it(void)
{
	close(pair[0]);
	close(pair[1]);
}

START_TEST(send_and_recv_keep_every_value)
{
	static struct ats_ipc_msg m, r;

	open_it();
	m = (struct ats_ipc_msg){ .type = 1, .seq = 0xdeadbeef,
		.s = { "one", NULL, "" }, .u = { 0, UINT64_MAX - 1 } };
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), 0);
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 1, &r), 1);
	ck_assert_uint_eq(r.type, 1);
	ck_assert_uint_eq(r.seq, 0xdeadbeef);
	ck_assert_uint_eq(r.n, 3);
	ck_assert_str_eq(r.s[0], "one");
	ck_assert_uint_eq(r.u[1], UINT64_MAX - 1);
	ck_assert_str_eq(r.s[2], "");
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 1, &r), -ATS_E_AGAIN);
	ats_ipc_done(&r);
	close(pair[0]);
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 1, &r), 0);
	close(pair[1]);
}
END_TEST

START_TEST(recv_refuses_the_wrong_sender_and_unknown_types)
{
	static struct ats_ipc_msg m, r;

	open_it();
	m.type = 2;
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), 0);
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 1 | 4, &r), -ATS_E_PROTO);
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), 0);
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 2, &r), 1);
	m.type = 9;
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), -ATS_E_PROTO);
	m.type = 1;			/* strings missing */
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), -ATS_E_PROTO);
	close_it();
}
END_TEST

START_TEST(recv_refuses_every_cut_and_every_extra_byte)
{
	/* type 1, seq 1, "ab", 7, "c" */
	static const char good[] = "\0\1" "\0\0\0\1" "\0\0\0\2" "ab\0"
	    "\0\0\0\0\0\0\0\7" "\0\0\0\1" "c";
	static struct ats_ipc_msg r;
	char bytes[sizeof(good) + 1] = { 0 };

	open_it();
	memcpy(bytes, good, sizeof(good));
	for (size_t n = 1; n <= sizeof(bytes); n++) {
		ck_assert_int_eq(ats_fd_send(pair[0], bytes, n, NULL, 0), (ssize_t)n);
		ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 1, &r),
		    n == sizeof(good) ? 1 : -ATS_E_PROTO);
	}
	close_it();
}
END_TEST

START_TEST(recv_survives_every_changed_byte)
{
	static const char good[] = "\0\1" "\0\0\0\1" "\0\0\0\2" "ab\0"
	    "\0\0\0\0\0\0\0\7" "\0\0\0\1" "c";
	static struct ats_ipc_msg r;
	char bytes[sizeof(good)];

	open_it();
	for (size_t at = 0; at < sizeof(good); at++)
		for (unsigned v = 0; v < 256; v += 5) {
			int rc;

			memcpy(bytes, good, sizeof(good));
			bytes[at] = (char)v;
			ck_assert_int_eq(ats_fd_send(pair[0], bytes, sizeof(bytes), NULL, 0),
			    (ssize_t)sizeof(bytes));
			rc = ats_ipc_recv(pair[1], rows, N, 1, &r);
			ck_assert(rc == 1 || rc == -ATS_E_PROTO);
			if (rc == 1)
				ck_assert_uint_eq(strlen(r.s[0]), 2);
		}
	close_it();
}
END_TEST

START_TEST(recv_takes_only_the_rows_descriptors)
{
	static struct ats_ipc_msg m, r;
	char bytes[6] = { 0, 2 };
	int zero = 0;

	open_it();
	m = (struct ats_ipc_msg){ .type = 3, .fds = { 0, 1 }, .nfds = 2 };
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), 0);
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 2, &r), 1);
	ck_assert_uint_eq(r.nfds, 2);
	close(r.fds[0]);
	r.fds[0] = -1;
	ats_ipc_done(&r);
	ck_assert_int_eq(r.fds[1], -1);
	m.nfds = 3;
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), -ATS_E_PROTO);
	ck_assert_int_eq(ats_fd_send(pair[0], bytes, 6, &zero, 1), 6);
	ck_assert_int_eq(ats_ipc_recv(pair[1], rows, N, 2, &r), -ATS_E_PROTO);
	close_it();
}
END_TEST

START_TEST(send_refuses_what_does_not_fit_a_datagram)
{
	static struct ats_ipc_msg m;
	static char big[ATS_IPC_MAX + 1];

	open_it();
	memset(big, 'x', ATS_IPC_MAX);
	m = (struct ats_ipc_msg){ .type = 1, .s = { big, NULL, "" } };
	ck_assert_int_eq(ats_ipc_send(pair[0], rows, N, &m), -ATS_E_PROTO);
	close_it();
}
END_TEST

ATS_UNIT_MAIN("ipc", send_and_recv_keep_every_value,
    recv_refuses_the_wrong_sender_and_unknown_types,
    recv_refuses_every_cut_and_every_extra_byte, recv_survives_every_changed_byte,
    recv_takes_only_the_rows_descriptors, send_refuses_what_does_not_fit_a_datagram)
