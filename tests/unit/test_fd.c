/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors: passing, sockets, small files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/options.h"
#include "tests/lib/unit.h"

static char dir[] = "/tmp/ats-test-fd-XXXXXX";

static const char *
in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool
is_cloexec(int fd)
{
	return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

START_TEST(send_and_recv_pass_descriptors)
{
	int pair[2], pipe_fds[2], got[ATS_FD_PASS_MAX];
	char buf[16];
	size_t n;

	ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET | SOCK_NONBLOCK, pair), 0);
	ck_assert_int_eq(ats_fd_pipe(pipe_fds, 0), 0);
	ck_assert(is_cloexec(pair[0]) && is_cloexec(pipe_fds[0]));
	ck_assert_int_eq(ats_fd_recv(pair[1], buf, sizeof(buf), got, 2, &n), -ATS_E_AGAIN);
	ck_assert_int_eq(ats_fd_send(pair[0], "hi", 2, pipe_fds, 2), 2);
	ck_assert_int_eq(ats_fd_recv(pair[1], buf, sizeof(buf), got, 2, &n), 2);
	ck_assert_uint_eq(n, 2);
	ck_assert(is_cloexec(got[0]) && is_cloexec(got[1]));
	ck_assert_int_eq(ats_fd_write_all(got[1], "xyz", 3), 0);
	ck_assert_int_eq(ats_fd_read_all(pipe_fds[0], buf, 3), 0);
	for (int i = 0; i < 2; i++) {
		close(got[i]);
		close(pipe_fds[i]);
	}
	close(pair[0]);
	ck_assert_int_eq(ats_fd_recv(pair[1], buf, sizeof(buf), got, 2, &n), 0);
	ck_assert_int_eq(ats_fd_send(pair[1], "hi", 2, NULL, 0), -ATS_E_EOF);
	close(pair[1]);
}
END_TEST

START_TEST(recv_refuses_and_closes_more_than_asked_for)
{
	int pair[2], got[ATS_FD_PASS_MAX];
	int fds[ATS_FD_PASS_MAX] = { 0, 0, 0, 0, 0, 0, 0, 0 };
	char buf[16];
	size_t n;

	ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET, pair), 0);
	ck_assert_int_eq(ats_fd_send(pair[0], "hi", 2, fds, 3), 2);
	ck_assert_int_eq(ats_fd_recv(pair[1], buf, sizeof(buf), got, 2, &n), -ATS_E_PROTO);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(ats_fd_send(pair[0], "hi", 2, fds, 1), 2);
	ck_assert_int_eq(ats_fd_recv(pair[1], buf, sizeof(buf), got, 0, &n), -ATS_E_PROTO);
	/* a datagram that does not fit */
	ck_assert_int_eq(ats_fd_send(pair[0], "0123456789abcdefg", 17, fds, 1), 17);
	ck_assert_int_eq(ats_fd_recv(pair[1], buf, sizeof(buf), got, 8, &n), -ATS_E_PROTO);
	ck_assert_int_lt(ats_fd_send(pair[0], "hi", 2, fds, ATS_FD_PASS_MAX + 1), 0);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

/* The kernel tells of a reset before it gives what came ahead of it. */
START_TEST(recv_gives_what_a_peer_said_that_has_not_read_all)
{
	static const int types[] = { SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM };

	for (size_t i = 0; i < ATS_ARRAY_LEN(types); i++) {
		int pair[2], got[1], other = STDERR_FILENO;
		char bytes[8] = "";
		size_t nfds = 0;

		ck_assert_int_eq(ats_fd_socketpair(types[i], pair), 0);
		ck_assert_int_eq(ats_fd_nonblock(pair[0], true), 0);
		ck_assert_int_eq(ats_fd_send(pair[0], "unread", 6, NULL, 0), 6);
		ck_assert_int_eq(ats_fd_send(pair[1], "last", 4, &other, 1), 4);
		close(pair[1]);
		ck_assert_int_eq(ats_fd_recv(pair[0], bytes, 8, got, 1, &nfds), 4);
		ck_assert_str_eq(bytes, "last");
		ck_assert_uint_eq(nfds, 1);
		close(got[0]);
		if (types[i] != SOCK_DGRAM)
			ck_assert_int_le(ats_fd_recv(pair[0], bytes, 8, got, 1, &nfds), 0);
		close(pair[0]);
	}
}
END_TEST

START_TEST(unix_listen_replaces_a_stale_socket_only)
{
	struct ats_err err = { 0 };
	int fd, again, c;
	struct stat st;
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(ats_fd_unix_listen(in_dir("s"), SOCK_STREAM, 0600, &fd, &err), 0);
	ck_assert_int_eq(stat(in_dir("s"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	close(fd);
	ck_assert_int_eq(ats_fd_unix_connect(in_dir("s"), SOCK_STREAM, &c, &err), -ATS_E_SYS);
	ck_assert_int_eq(ats_fd_unix_listen(in_dir("s"), SOCK_STREAM, 0660, &again, &err), 0);
	ck_assert_int_eq(ats_fd_unix_connect(in_dir("s"), SOCK_STREAM, &c, &err), 0);
	close(c);
	close(again);
	f = fopen(in_dir("file"), "w");
	fclose(f);
	ck_assert_int_eq(ats_fd_unix_listen(in_dir("file"), SOCK_STREAM, 0600, &fd, &err),
	    -ATS_E_EXISTS);
	ck_assert_int_eq(ats_fd_unix_connect(in_dir("none"), SOCK_STREAM, &c, &err),
	    -ATS_E_NOENT);
	unlink(in_dir("s"));
	unlink(in_dir("file"));
	rmdir(dir);
}
END_TEST

START_TEST(unix_address_too_long_is_an_error)
{
	struct ats_err err = { 0 };
	char path[200];
	int fd;

	memset(path, 'a', sizeof(path));
	path[108] = '\0';
	ck_assert_int_eq(ats_fd_unix_listen(path, SOCK_STREAM, 0600, &fd, &err),
	    -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_fd_unix_connect("", SOCK_STREAM, &fd, &err), -ATS_E_TOOBIG);
}
END_TEST

START_TEST(slurp_reads_small_regular_files_only)
{
	static char big[10000];
	struct ats_err err = { 0 };
	char *text = NULL;
	size_t n;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	memset(big, 'q', sizeof(big));
	fd = open(in_dir("f"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(ats_fd_write_all(fd, big, sizeof(big)), 0);
	close(fd);
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, in_dir("f"), 10000, &text, &n, &err), 0);
	ck_assert_uint_eq(n, 10000);
	ck_assert_uint_eq(strlen(text), 10000);
	free(text);
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, in_dir("f"), 9999, &text, &n, &err),
	    -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, dir, 99, &text, &n, &err), -ATS_E_NOTFILE);
	ck_assert_int_eq(mkfifo(in_dir("p"), 0600), 0);
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, in_dir("p"), 99, &text, &n, &err),
	    -ATS_E_NOTFILE);
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, in_dir("no"), 99, &text, &n, &err),
	    -ATS_E_NOENT);
	unlink(in_dir("f"));
	unlink(in_dir("p"));
	rmdir(dir);
}
END_TEST

START_TEST(peer_tells_who_connected)
{
	uid_t uid;
	gid_t gid;
	pid_t pid;
	int pair[2];

	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	ck_assert_int_eq(ats_fd_peer(pair[0], &uid, &gid, &pid), 0);
	ck_assert_uint_eq(uid, getuid());
	ck_assert_int_eq(pid, getpid());
	ck_assert_int_eq(ats_fd_nonblock(pair[0], true), 0);
	ck_assert(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(ats_fd_nonblock(pair[0], false), 0);
	ck_assert(!(fcntl(pair[0], F_GETFL) & O_NONBLOCK));
	close(pair[0]);
	close(pair[1]);
}
END_TEST

START_TEST(raise_moves_what_lies_below)
{
	int fd = open("/", O_PATH | O_CLOEXEC), low = fd, high;

	ck_assert_int_eq(ats_fd_raise(&fd, 100), 0);
	ck_assert_int_ge(fd, 100);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_lt(fcntl(low, F_GETFD), 0);
	high = fd;
	ck_assert_int_eq(ats_fd_raise(&fd, 100), 0);
	ck_assert_int_eq(fd, high);
	close(fd);
	ck_assert_int_eq(ats_fd_raise(&fd, 200), -ATS_E_SYS);
	ck_assert_int_eq(fd, -1);
}
END_TEST

START_TEST(widen_takes_more_and_never_less)
{
	int pipe_fds[2], pair[2], before = 0, after = 0;
	socklen_t n = sizeof(before);

	ck_assert_int_eq(ats_fd_pipe(pipe_fds, 0), 0);
	before = fcntl(pipe_fds[1], F_GETPIPE_SZ);
	ats_fd_widen(pipe_fds[1]);
	after = fcntl(pipe_fds[1], F_GETPIPE_SZ);
	ck_assert_int_gt(after, before);
	if (fcntl(pipe_fds[1], F_SETPIPE_SZ, 2 * after) > 0) {
		ats_fd_widen(pipe_fds[1]);
		ck_assert_int_eq(fcntl(pipe_fds[1], F_GETPIPE_SZ), 2 * after);
	}
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	ck_assert_int_eq(getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &before, &n), 0);
	ats_fd_widen(pair[0]);
	ck_assert_int_eq(getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &after, &n), 0);
	ck_assert_int_ge(after, before);
	for (int i = 0; i < 2; i++) {
		close(pipe_fds[i]);
		close(pair[i]);
	}
}
END_TEST

START_TEST(memory_is_read_from_its_begin)
{
	int fd = ats_fd_memory("test", "bytes", 5);
	char text[8];

	ck_assert_int_ge(fd, 3);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 5);
	ck_assert_mem_eq(text, "bytes", 5);
	close(fd);
}
END_TEST

START_TEST(an_option_names_an_open_descriptor)
{
	static const char *const wrong[] = { "", " ", "x", "1x", "-1", "4294967297",
		"99999999999999999999", "900" };
	char text[20];
	int fds[2];

	ck_assert_int_eq(ats_fd_pipe(fds, 0), 0);
	(void)snprintf(text, sizeof(text), "%d", fds[1]);
	ck_assert_int_eq(ats_options_fd(text), fds[1]);
	close(fds[0]);
	close(fds[1]);
	ck_assert_int_eq(ats_options_fd(text), -1);
	for (size_t i = 0; i < ATS_ARRAY_LEN(wrong); i++)
		ck_assert_int_eq(ats_options_fd(wrong[i]), -1);
}
END_TEST

ATS_UNIT_MAIN("fd", send_and_recv_pass_descriptors,
    recv_refuses_and_closes_more_than_asked_for,
    recv_gives_what_a_peer_said_that_has_not_read_all, unix_listen_replaces_a_stale_socket_only,
    unix_address_too_long_is_an_error, slurp_reads_small_regular_files_only,
    peer_tells_who_connected, raise_moves_what_lies_below, widen_takes_more_and_never_less,
    memory_is_read_from_its_begin, an_option_names_an_open_descriptor)
