/* SPDX-License-Identifier: Apache-2.0
 *
 * Socket activation. Runs once in ats-brain before anything is forked; the environment is the
 * service manager's. */
#include "brain/vault/systemd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

/* Whether $LISTEN_FDNAMES calls the descriptor with this index "engine". */
static bool
is_engine(long index)
{
	const char *name = getenv("LISTEN_FDNAMES");
	size_t n;

	if (name == NULL)
		return false;
	for (; index > 0; index--) {
		name = strchr(name, ':');
		if (name++ == NULL)
			return false;
	}
	n = strcspn(name, ":");
	return n == 6 && memcmp(name, "engine", n) == 0;
}

static int
take(int fd, struct systemd_sockets *s)
{
	int type = option(fd, SO_TYPE);
	int *place = type == SOCK_STREAM ? &s->door : type != SOCK_SEQPACKET ? NULL :
	    is_engine(fd - FIRST_FD) ? &s->engine : &s->listener;

	if (place == NULL || *place >= 0 || option(fd, SO_DOMAIN) != AF_UNIX ||
	    option(fd, SO_ACCEPTCONN) != 1 || ats_fd_cloexec(fd, true) < 0 ||
	    ats_fd_nonblock(fd, true) < 0)
		return -ATS_E_INVAL;
	*place = fd;
	return 0;
}

int
systemd_sockets(struct systemd_sockets *ret, struct ats_err *err)
{
	struct systemd_sockets s = { .given = true, .door = -1, .listener = -1, .engine = -1 };
	long n = number("LISTEN_FDS");
	int rc = 0;

	*ret = (struct systemd_sockets){ .door = -1, .listener = -1, .engine = -1 };
	if (n <= 0 || number("LISTEN_PID") != (long)getpid())
		return 0;
	if (n > SYSTEMD_SOCKETS_MAX)
		rc = -ATS_E_INVAL;
	for (int fd = FIRST_FD; rc == 0 && fd < FIRST_FD + n; fd++)
		rc = take(fd, &s);
	if (rc < 0 || s.door < 0 || s.listener < 0)
		return ats_err_set(err, ATS_E_INVAL, "socket activation: expected the sockets of "
		    "ats-brain.socket, a stream and a sequential-packet one, and perhaps that of "
		    "ats-engine.socket, by the name engine");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret = s;
	return 0;
}
