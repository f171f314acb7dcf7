/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher. Its input: argv, the inherited descriptors, signals. */
#include "hands/init/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/secret.h"
#include "hands/confine/cgroup.h"
#include "hands/confine/ns.h"
#include "hands/init/accept.h"
#include "hands/init/command.h"
#include "hands/init/dialer.h"
#include "hands/init/goodbye.h"
#include "hands/init/key_wait.h"
#include "hands/init/mounts.h"
#include "hands/init/newest.h"
#include "hands/init/places.h"
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

static int
open_self(struct ats_err *err)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	if (fd < 0)	/* an image without /proc */
		fd = open((const char *)getauxval(AT_EXECFN), O_PATH | O_CLOEXEC);
	return fd < 0 ? ats_err_sys(err, "open of this program") : fd;
}

/* How many situations min_level allows to be tried. What is hidden can be kept from shells by
 * mounts only. */
static size_t
situations(const struct hands_options *o)
{
	if (o->ndeny > 0)
		return 1;
	if (o->min_level == OPTIONS_NONE)
		return 3;
	return o->min_level >= (geteuid() == 0 ? OPTIONS_UID : OPTIONS_LANDLOCK) ? 2 : 1;
}

/* What a situation asks of Landlock. Without namespaces it is the wall for files, from ABI 3
 * (truncate); where workers have our uid for signals, too, from ABI 6. With the host's network
 * so are abstract sockets, which are names of the network namespace; without namespaces the
 * filter has no Unix sockets. */
static int
check_landlock(const struct hands_options *o, enum box_situation s, struct ats_err *err)
{
	int abi = ats_landlock_abi(), least = s == BOX_LANDLOCK ? 6 : s == BOX_UID ? 3 : 0;
	bool net = o->net_host && (s == BOX_ROOT || s == BOX_USER);

	if (abi >= (net ? 6 : least))
		return 0;
	return ats_err_set(err, ATS_E_UNAVAILABLE, "landlock: this kernel has ABI %d%s, %s "
	    "needs %d; remedy: boot Linux %s or newer, with landlock in lsm=%s", abi,
	    abi == 0 ? " (none)" : "", net ? "net=host" :
	    s == BOX_UID ? "uid+landlock" : "landlock", net ? 6 : least,
	    net || least == 6 ? "6.12" : "6.2", net ? ", or leave the network off" : "");
}

int
launcher_try(const struct hands_options *o, enum box_situation s, bool probe, int link,
    int listen, const struct keys *keys, struct cgroups *groups, struct launched *ret,
    struct ats_err *err)
{
	struct init_plan plan = { .options = o,
		.groups = groups,
		.probe = probe,
		.link = link,
		.listen = listen,
		.keys = keys,
		.key = -1,
		.relay = -1,
		.workspace = -1,
		.idmap_ws = -1,
		.early_front = !probe && situations(o) == 1 };
	int status[2] = { -1, -1 }, sock[2] = { -1, -1 }, rc = check_landlock(o, s, err);
	pid_t pid = -1;

	if (rc == 0)
		rc = places_prepare(&plan, s, err);
	plan.exe = open_self(err);
	if (rc == 0 && keys != NULL)
		rc = keys_pass(keys, &plan.key, err);
	if (rc == 0 && (plan.exe < 0 || ats_fd_pipe(status, 0) < 0))
		rc = plan.exe < 0 ? plan.exe : ats_err_sys(err, "pipe");
	if (rc == 0 && ats_fd_socketpair(SOCK_SEQPACKET, sock) < 0)
		rc = ats_err_sys(err, "socketpair");
	plan.status = status[1];
	plan.launcher = sock[1];
	if (rc == 0) {
		pid = cgroups_fork(groups, ns_flags(s, o->net_host));
		if (pid == 0) {
			(void)close(sock[0]);
			init_main(&plan);
		}
		if (pid < 0)
			rc = ns_flags(s, o->net_host) != 0 && errno != EAGAIN &&
			    errno != ENOMEM ? ns_explain(s, errno, err) :
			    ats_err_sys(err, "fork");
	}
	ats_fd_close(&status[1]);
	ats_fd_close(&sock[1]);
	ats_fd_close(&plan.key);
	if (rc == 0 && ats_fd_read_all(status[0], &ret->status, sizeof ret->status) < 0)
		rc = ats_err_set(err, ATS_E_SYS, "init ended before it said why");
	else if (rc == 0 && !ret->status.ok)
		rc = ats_err_set(err, ret->status.err.code, "%s", ret->status.err.text);
	if (pid > 0 && (rc < 0 || probe))
		(void)waitpid(pid, NULL, 0);
	ats_fd_close(&status[0]);
	ats_fd_close(&plan.exe);
	ats_fd_close(&plan.relay);
	ats_fd_close(&plan.workspace);
	ats_fd_close(&plan.idmap_ws);
	if (rc < 0 || probe)
		ats_fd_close(&sock[0]);
	if (rc == 0) {
		ret->init = pid;
		ret->sock = sock[0];
		ret->box = plan.box;
	}
	return rc;
}

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
	size_t n = situations(l->o);
	struct ats_err err = { 0 };
	struct budget budget = l->o->budget;

	budget_complete(&budget, l->o->small);
	cgroups_make(&l->groups, &budget);
	for (size_t i = 0; i < n && (i == 0 || err.code == ATS_E_UNAVAILABLE); i++) {
		if (launcher_try(l->o, s[i], false, l->link, l->listen, &l->keys,
			&l->groups, &l->box, &err) == 0) {
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
	mounts_complete();
	if (own.state_dir == NULL) {
		if (scratch_make("ats-hands", made, sizeof(made), &l.lock, &err) < 0)
			ats_fatal("%s", err.text);
		own.state_dir = made;
	}
	if (wait_signals(&l.signals, &err) < 0 || (rc = take_key(&l, &own, &err)) < 0 ||
	    (rc == 0 && take_peer(&l, &err) < 0))
		ats_fatal("%s", err.text);
	if (rc > 0) {
		if (made[0] != '\0')
			scratch_remove(made);
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
