/* SPDX-License-Identifier: Apache-2.0
 *
 * Socket activation and readiness. Runs once in ats-brain before anything is forked; the
 * environment is the service manager's. */
#include "brain/vault/systemd.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"

#define FIRST_FD 3

/* The number that a variable holds in whole, or -1. */
static long
number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (text == NULL || *text == '\0')
		return -1;
	n = strtol(text, &end, 10);
	return *end == '\0' ? n : -1;
}

static int
option(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) == 0 ? value : -1;
}

static int
take(int fd, int *door, int *listener)
{
	int type = option(fd, SO_TYPE);
	int *place = type == SOCK_STREAM ? door : type == SOCK_SEQPACKET ? listener : NULL;

	if (place == NULL || *place >= 0 || option(fd, SO_DOMAIN) != AF_UNIX ||
	    option(fd, SO_ACCEPTCONN) != 1 || ats_fd_cloexec(fd, true) < 0 ||
	    ats_fd_nonblock(fd, true) < 0)
		return -ATS_E_INVAL;
	*place = fd;
	return 0;
}

int
systemd_sockets(bool *ret_given, int *ret_door, int *ret_listener, struct ats_err *err)
{
	long n = number("LISTEN_FDS");
	int door = -1, listener = -1;

	*ret_given = false;
	if (n <= 0 || number("LISTEN_PID") != (long)getpid())
		return 0;
	for (int fd = FIRST_FD; fd < FIRST_FD + n; fd++)
		if (n != 2 || take(fd, &door, &listener) < 0)
			return ats_err_set(err, ATS_E_INVAL, "socket activation: expected the two "
			    "sockets of ats-brain.socket, a stream and a sequential-packet one");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret_given = true;
	*ret_door = door;
	*ret_listener = listener;
	return 0;
}

int
systemd_notify_open(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path != NULL ? strlen(path) : 0;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	int fd;

	if (len < 2 || len >= sizeof(a.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(a.sun_path, path, len);
	if (path[0] == '@')		/* the abstract namespace */
		a.sun_path[0] = '\0';
	(void)unsetenv("NOTIFY_SOCKET");
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, size) < 0)
		ats_fd_close(&fd);
	return fd;
}
