/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher. Its input: argv, the inherited descriptors, signals. */
#include "hands/init/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/confine/limits.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/secret.h"
#include "hands/confine/cgroup.h"
#include "hands/init/accept.h"
#include "hands/init/command.h"
#include "hands/init/dialer.h"
#include "hands/init/goodbye.h"
#include "hands/init/key_wait.h"
#include "hands/init/launch.h"
#include "hands/init/mounts.h"
#include "hands/init/newest.h"
#include "hands/init/relay.h"
#include "hands/init/scratch.h"
#include "hands/init/wait.h"

#define EXIT_UNCONFINED 125	/* nothing was run */

struct launcher {
	const struct hands_options *o;
	pid_t dialer;
	struct launched box;
	struct newest newest;
	bool namespaced;
	int signals, link, listen;
	int lock;			/* of a state directory of our own making */
	struct relay relay;
	struct acceptor acceptor;
	struct cgroups groups;
	struct keys keys;	/* until the box stands */
};

/* Why there is no box: the last frame to a peer that waits for its hello. */
static void
say_why(const struct launcher *l, const struct ats_err *why)
{
	goodbye_say(l->relay.sock >= 0 ? STDOUT_FILENO : l->link, why);
}

/* From the strongest to what min_level allows; says why for each that is not reached. Only what
 * this machine cannot do leads on to a weaker one: any other failure may pass, and tools may have
 * brought it about (a workspace exchanged, memory or processes used up). */
static int
start_box(struct launcher *l)
{
	const enum box_situation root[] = { BOX_ROOT, BOX_UID, BOX_NONE };
	const enum box_situation user[] = { BOX_USER, BOX_LANDLOCK, BOX_NONE };
	const enum box_situation *s = geteuid() == 0 ? root : user;
	size_t n = launch_situations(l->o);
	struct ats_err err = { 0 };
	struct budget budget = l->o->budget;
	struct launch try = { .options = l->o,
		.link = l->link,
		.listen = l->listen,
		.keys = &l->keys,
		.groups = &l->groups };

	budget_complete(&budget, l->o->small);
	cgroups_make(&l->groups, &budget);
	for (size_t i = 0; i < n && (i == 0 || err.code == ATS_E_UNAVAILABLE); i++) {
		try.situation = s[i];
		if (launch_try(&try, &l->box, &err) == 0) {
			l->newest.init = l->box.sock;
			l->newest.box = &l->box.box;
			l->namespaced = s[i] == BOX_ROOT || s[i] == BOX_USER;
			return 0;
		}
		ats_log(i + 1 < n ? ATS_LOG_WARN : ATS_LOG_ERROR, err.text, "code=%s",
		    ats_err_name(err.code));
	}
	if (err.code == ATS_E_UNAVAILABLE)
		ats_log(ATS_LOG_ERROR,
		    "confinement_unavailable: min_level is not reached; "
		    "ats-hands --probe lists what is missing",
		    NULL);
	say_why(l, &err);
	return -err.code;
}

/* ---- start ----------------------------------------------------------------------- */
/* stdin and stdout: one socket is the link itself, two pipes are relayed. */
static int
take_stdio(struct launcher *l, struct ats_err *err)
{
	struct stat in, out;
	int pair[2], type = 0;
	socklen_t n = sizeof type;

	if (fstat(0, &in) < 0 || fstat(1, &out) < 0)
		return ats_err_sys(err, "stdio");
	if (in.st_ino == out.st_ino && S_ISSOCK(in.st_mode) &&
	    getsockopt(0, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM) {
		l->link = fcntl(0, F_DUPFD_CLOEXEC, 3);
		return l->link < 0 ? ats_err_sys(err, "stdin") : 0;
	}
	if (ats_fd_socketpair(SOCK_STREAM, pair) < 0)
		return ats_err_sys(err, "socketpair");
	l->link = pair[1];
	return relay_start(&l->relay, pair[0], err);
}

/* The copy that has the proxy's password is the dialer's: it is forked before the box is. */
static int
start_dialer(struct launcher *l, struct ats_err *err)
{
	const struct hands_options *o = l->o;
	struct ats_proxy via;
	int rc = o->proxy != NULL ? ats_proxy_read(o->proxy, &via, err) :
	    ats_proxy_of_environment(&o->connect, &via, err);

	if (rc < 0)
		return o->proxy != NULL ? ats_err_wrap(err, "--proxy") :
		    ats_err_wrap(err, "with --proxy none it is not used");
	if (ats_proxy_serves(&via, &o->connect))
		ats_log(ATS_LOG_INFO, "connects by a proxy", "proxy=%s:%u", via.at.host,
		    (unsigned)via.at.port);
	rc = dialer_start(&o->connect, &via, &l->dialer, &l->listen, err);
	ats_secret_wipe(&via, sizeof(via));
	return rc;
}

static int
take_peer(struct launcher *l, struct ats_err *err)
{
	const struct hands_options *o = l->o;
	int rc = 0;

	l->link = o->link_fd;
	l->listen = o->listen_fd;
	if (o->link_fd >= 0 && ats_fd_cloexec(o->link_fd, true) < 0)
		return ats_err_set(
		    err, ATS_E_INVAL, "--link-fd %d is not open", o->link_fd);
	if (o->listen_fd >= 0 && ats_fd_cloexec(o->listen_fd, true) < 0)
		return ats_err_set(err, ATS_E_INVAL, "--listen-fd %d is not open",
		    o->listen_fd);
	/* Started by the spawner: its end is ours. */
	if (o->link_fd >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return ats_err_sys(err, "pdeathsig");
	if (o->listens)
		rc = accept_start(&l->acceptor, &o->listen, o->allow_uids, o->nallow_uids,
		    &l->listen, err);
	else if (o->connects)
		rc = start_dialer(l, err);
	return rc == 0 && o->stdio ? take_stdio(l, err) : rc;
}

/* The box runs: what is ours now is to wait. */
static int
run(struct launcher *l)
{
	struct wait w = { .signals = l->signals, .box = l->box.init, .dialer = l->dialer,
		.namespaced = l->namespaced, .relay = &l->relay, .acceptor = &l->acceptor,
		.newest = &l->newest };
	struct ats_err err = { 0 };

	ats_fd_close(&l->link);
	ats_fd_close(&l->listen);
	if (ats_caps_undumpable(&err) < 0)
		ats_fatal("%s", err.text);
	if (l->o->cmd != NULL && (w.command = command_start(l->o->cmd, l->o->stdio)) < 0)
		ats_fatal("fork: %s", strerror(errno));
	return wait_for_end(&w);
}

/* The key, when it may come, and the workspace that comes with it. 1: asked to end before. */
static int
take_key(struct launcher *l, struct hands_options *own, struct ats_err *err)
{
	int rc = own->key_wait_s == 0 ? 0 :
	    key_wait(own->key_file, own->key_wait_s, l->signals, err);

	if (rc == 0)
		rc = keys_read(own, &l->keys, err);
	if (rc == 0 && l->keys.workspace[0] != '\0') {
		rc = key_workspace(own->workspace, l->keys.workspace, err);
		own->workspace = l->keys.workspace;
	}
	return rc;
}

int
launcher_run(const struct hands_options *o)
{
	static struct launcher l;
	struct hands_options own = *o;
	char made[64] = "";
	struct ats_err err = { 0 };
	int code, rc;

	newest_find(&l.newest);
	l.o = &own;
	l.signals = l.link = l.listen = l.relay.sock = l.lock = -1;
	l.acceptor.listen = l.acceptor.to = -1;
	ats_log_init("launcher", ATS_LOG_INFO, STDERR_FILENO);
	ats_limits_raise_files();
	mounts_complete();
	if (own.state_dir == NULL) {
		if (scratch_make("ats-hands", made, sizeof(made), &l.lock, &err) < 0)
			ats_fatal("%s", err.text);
		own.state_dir = made;
	}
	rc = wait_signals(&l.signals, &err) < 0 ? -1 : take_key(&l, &own, &err);
	if (rc == 0 && take_peer(&l, &err) < 0)
		rc = -1;
	if (rc != 0) {
		if (made[0] != '\0')
			scratch_remove(made);
		if (rc < 0)
			ats_fatal("%s", err.text);
		return 0;
	}
	if (o->key_wait_s == 0)		/* else who starts us again needs it, too */
		keys_remove(&l.keys);
	if (l.keys.key.secret != NULL)
		own.sandbox = l.keys.key.sandbox;
	rc = start_box(&l);
	keys_done(&l.keys);
	if (rc < 0) {
		cgroups_end(&l.groups);
		if (made[0] != '\0')
			scratch_remove(made);
		return rc == -ATS_E_CONFINE || rc == -ATS_E_UNAVAILABLE ? EXIT_UNCONFINED : 1;
	}
	code = run(&l);
	cgroups_end(&l.groups);
	accept_end(&l.acceptor);
	if (o->listens && o->listen.kind == ATS_ADDR_UNIX)
		(void)unlink(o->listen.path);
	if (made[0] != '\0')
		scratch_remove(made);
	return code;
}
