/* SPDX-License-Identifier: Apache-2.0
 *
 * Readiness and signs of life. Opened by ats-brain and ats-engine before they are confined; the
 * environment is the service manager's. */
#include "common/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"

#define LEAST_MS 10			/* a loop that does nothing else serves nobody */

/* The number that a variable holds in whole, or 0; the variable is forgotten. */
static uint64_t
take_number(const char *name)
{
	const char *text = getenv(name);
	unsigned long long n = 0;
	char *end;

	if (text != NULL && *text >= '0' && *text <= '9') {
		n = strtoull(text, &end, 10);
		if (*end != '\0')
			n = 0;
	}
	(void)unsetenv(name);
	return n;
}

static int
connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = path != NULL ? strlen(path) : 0;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	int fd;

	if (len < 2 || len >= sizeof(a.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(a.sun_path, path, len);
	if (path[0] == '@')		/* the abstract namespace */
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, size) < 0)
		ats_fd_close(&fd);
	return fd;
}

void
ats_notify_open(struct ats_notify *ret)
{
	uint64_t us = take_number("WATCHDOG_USEC"), pid = take_number("WATCHDOG_PID");

	ret->fd = connect_to(getenv("NOTIFY_SOCKET"));
	(void)unsetenv("NOTIFY_SOCKET");
	ret->watchdog_ms = 0;
	if (ret->fd < 0 || us == 0 || (pid != 0 && pid != (uint64_t)getpid()))
		return;
	ret->watchdog_ms = us / 2000;
	if (ret->watchdog_ms < LEAST_MS)
		ret->watchdog_ms = LEAST_MS;
}

void
ats_notify_say(const struct ats_notify *n, const char *line)
{
	if (n->fd >= 0)
		(void)!ats_fd_send(n->fd, line, strlen(line), NULL, 0);
}

void
ats_notify_close(struct ats_notify *n)
{
	ats_fd_close(&n->fd);
}
