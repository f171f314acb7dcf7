/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that a service manager starts as a user of its own, so that neither the vault nor the
 * spawner needs the right to become that user. It comes to RUNTIME/engine.sock and is handed the
 * door; the connection is its link. Runs in the vault. Who comes may be anybody: the kernel says
 * which user it is, and only that of --engine-user is taken, one at a time. It is not ours to
 * signal: one that is to end loses its link, and the manager's watchdog ends one that hangs. */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/vault.h"
#include "common/fd.h"
#include "proto/brain.h"

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;

	(void)fd;
	(void)what;
	if (!v->stopping)
		vault_die(v, "no ats-engine came to engine.sock; see systemctl status ats-engine");
}

static void
on_gone(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	vault_engine_exited(arg, 0, 0);
}

/* Hands over the door; what is sent after it is the same as to an engine of the spawner. */
static int
adopt(struct vault *v, int fd, pid_t pid, struct ats_err *err)
{
	int rc = ats_brain_send(fd, ATS_MSG_DOOR, 0, &v->door, 1);

	if (rc < 0) {
		(void)close(fd);
		return ats_err_set(err, -rc, "the engine does not take the door");
	}
	rc = engine_attach(v, fd, err);
	if (rc == 0)
		v->engine.pid = pid;
	return rc;
}

static void
on_come(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;
	struct ats_err err = { 0 };
	uid_t uid = 0;
	pid_t pid = 0;
	int got = accept4((int)fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (got < 0)
		return;
	if (v->engine.fd >= 0 || v->stopping || ats_fd_peer(got, &uid, NULL, &pid) < 0 ||
	    uid != v->outside.uid) {
		ats_log(ATS_LOG_WARN, "engine refused", "uid=%lu pid=%d", (unsigned long)uid,
		    (int)pid);
		(void)close(got);
		return;
	}
	if (adopt(v, got, pid, &err) < 0) {
		ats_log(ATS_LOG_WARN, "engine refused", "why=\"%s\"", err.text);
		return;
	}
	(void)event_del(v->outside.come);
	(void)event_del(v->outside.late);
	engine_sync(v);
}

int
outside_open(struct vault *v, int listener, uid_t uid, struct ats_err *err)
{
	v->outside.listener = listener;
	v->outside.uid = uid;
	if (listener < 0)
		return 0;
	v->outside.come = event_new(v->base, listener, EV_READ | EV_PERSIST, on_come, v);
	v->outside.late = evtimer_new(v->base, on_late, v);
	v->outside.gone = evtimer_new(v->base, on_gone, v);
	return v->outside.come == NULL || v->outside.late == NULL || v->outside.gone == NULL ?
	    ats_err_set(err, ATS_E_NOMEM, "engine.sock: out of memory") : 0;
}

int
outside_wait(struct vault *v, struct ats_err *err)
{
	struct timeval late = { VAULT_ENGINE_COMES_S, 0 };

	return event_add(v->outside.come, NULL) < 0 || event_add(v->outside.late, &late) < 0 ?
	    ats_err_set(err, ATS_E_NOMEM, "engine.sock: out of memory") : 0;
}

void
outside_lost(struct vault *v)
{
	event_active(v->outside.gone, EV_TIMEOUT, 0);
}

void
outside_free(struct vault *v)
{
	struct event **const all[] = { &v->outside.come, &v->outside.late, &v->outside.gone };

	for (size_t i = 0; i < ATS_ARRAY_LEN(all); i++)
		if (*all[i] != NULL)
			event_free(*all[i]);
	ats_fd_close(&v->outside.listener);
}
