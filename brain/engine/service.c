/* SPDX-License-Identifier: Apache-2.0
 *
 * Started by a service manager. Runs in the engine before it is confined; what is at the path is
 * the vault's, or the manager's own socket that starts the vault. */
#include "brain/engine/service.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "brain/engine/engine.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/path.h"
#include "proto/brain.h"

/* A brain that is not there yet is started by the connection, or soon. */
static int
wait_for(int fd, const struct ats_notify *n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc;

	do {
		rc = poll(&p, 1, n->watchdog_ms > 0 ? (int)n->watchdog_ms : -1);
		if (rc == 0)
			ats_notify_say(n, "WATCHDOG=1\n");
	} while (rc == 0 || (rc < 0 && errno == EINTR));
	return rc < 0 ? -ATS_E_SYS : 0;
}

static int
take_door(int fd, const struct ats_notify *n, struct ats_ipc_msg *m, int *ret_door,
    struct ats_err *err)
{
	int rc = wait_for(fd, n);

	if (rc == 0)
		rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT, m);
	if (rc == 0)
		return ats_err_set(err, ATS_E_EOF,
		    "brain does not take us: see --engine-user and its log");
	if (rc != 1 || m->type != ATS_MSG_DOOR || m->nfds != 1)
		return ats_err_set(err, ATS_E_PROTO, "the vault's first message is not the door");
	*ret_door = ats_steal_fd(&m->fds[0]);
	return 0;
}

int
service_connect(const char *path, const struct ats_notify *n, int *ret_vault, int *ret_door,
    struct ats_err *err)
{
	struct ats_ipc_msg *m = calloc(1, sizeof(*m));
	int fd ATS_CLEANUP_FD = -1;
	int rc = m == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") :
	    ats_fd_unix_connect(path, SOCK_SEQPACKET, &fd, err);

	if (rc == 0) {
		rc = take_door(fd, n, m, ret_door, err);
		ats_ipc_done(m);
	}
	free(m);
	if (rc == 0)
		*ret_vault = ats_steal_fd(&fd);
	return rc;
}

int
service_state(struct engine *e, const char *dir, struct ats_err *err)
{
	if (strlen(dir) >= sizeof(e->state_dir) - 64)
		return ats_err_set(err, ATS_E_TOOBIG, "--state: the path is too long");
	(void)snprintf(e->state_dir, sizeof(e->state_dir), "%s", dir);
	return ats_places_make(dir, err);
}

static void
on_alive(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ats_notify_say(arg, "WATCHDOG=1\n");
}

struct event *
service_alive(struct event_base *base, struct ats_notify *n)
{
	struct event *ev = event_new(base, -1, EV_PERSIST, on_alive, n);
	struct timeval each = ats_timeval_ms(n->watchdog_ms);

	if (ev == NULL)
		return NULL;
	ats_notify_say(n, "READY=1\n");
	if (n->watchdog_ms > 0 && event_add(ev, &each) < 0) {
		event_free(ev);
		return NULL;
	}
	return ev;
}
