/* SPDX-License-Identifier: Apache-2.0
 *
 * One try to make a box. Runs in the launcher; what it hears is init's, before anything of a tool
 * was there. */
#include "hands/init/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/fd.h"
#include "hands/confine/cgroup.h"
#include "hands/confine/ns.h"
#include "hands/init/places.h"

static int
open_self(struct ats_err *err)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	if (fd < 0)	/* an image without /proc */
		fd = open((const char *)getauxval(AT_EXECFN), O_PATH | O_CLOEXEC);
	return fd < 0 ? ats_err_sys(err, "open of this program") : fd;
}

size_t
launch_situations(const struct hands_options *o)
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

/* What init needs from here: places, this program, the key, pipes and sockets. */
static int
prepare(struct init_plan *plan, const struct launch *l, int status[2], int sock[2],
    struct ats_err *err)
{
	int rc = check_landlock(l->options, l->situation, err);

	if (rc == 0)
		rc = places_prepare(plan, l->situation, err);
	if (rc == 0)
		rc = plan->exe = open_self(err);
	if (rc >= 0 && l->keys != NULL)
		rc = keys_pass(l->keys, &plan->key, err);
	if (rc >= 0 && ats_fd_pipe(status, 0) < 0)
		rc = ats_err_sys(err, "pipe");
	if (rc >= 0 && ats_fd_socketpair(SOCK_SEQPACKET, sock) < 0)
		rc = ats_err_sys(err, "socketpair");
	plan->status = status[1];
	plan->launcher = sock[1];
	return rc < 0 ? rc : 0;
}

/* status, sock: our ends, by which init knows that we are gone if it does not have them. */
static int
start_init(const struct init_plan *plan, const struct launch *l, int status, int sock,
    pid_t *ret_pid, struct ats_err *err)
{
	unsigned long flags = ns_flags(l->situation, l->options->net_host);
	pid_t pid = cgroups_fork(l->groups, flags);

	if (pid == 0) {
		(void)close(status);
		(void)close(sock);
		init_main(plan);
	}
	if (pid < 0)
		return flags != 0 && errno != EAGAIN && errno != ENOMEM ?
		    ns_explain(l->situation, errno, err) : ats_err_sys(err, "fork");
	*ret_pid = pid;
	return 0;
}

/* init's word, which is its last one if the box does not stand. */
static int
hear(int fd, struct init_status *ret, struct ats_err *err)
{
	if (ats_fd_read_all(fd, ret, sizeof *ret) < 0)
		return ats_err_set(err, ATS_E_SYS, "init ended before it said why");
	return ret->ok ? 0 : ats_err_set(err, ret->err.code, "%s", ret->err.text);
}

int
launch_try(const struct launch *l, struct launched *ret, struct ats_err *err)
{
	struct init_plan plan = { .options = l->options,
		.groups = l->groups,
		.probe = l->probe,
		.link = l->link,
		.listen = l->listen,
		.keys = l->keys,
		.exe = -1,
		.key = -1,
		.relay = -1,
		.workspace = -1,
		.idmap_ws = -1,
		.early_front = !l->probe && launch_situations(l->options) == 1 };
	int status[2] = { -1, -1 }, sock[2] = { -1, -1 };
	int rc = prepare(&plan, l, status, sock, err);
	pid_t pid = -1;

	if (rc == 0)
		rc = start_init(&plan, l, status[0], sock[0], &pid, err);
	ats_fd_close(&status[1]);
	ats_fd_close(&sock[1]);
	ats_fd_close(&plan.key);
	if (rc == 0)
		rc = hear(status[0], &ret->status, err);
	if (pid > 0 && (rc < 0 || l->probe))
		(void)waitpid(pid, NULL, 0);
	ats_fd_close(&status[0]);
	ats_fd_close(&plan.exe);
	ats_fd_close(&plan.relay);
	ats_fd_close(&plan.workspace);
	ats_fd_close(&plan.idmap_ws);
	if (rc < 0 || l->probe)
		ats_fd_close(&sock[0]);
	if (rc < 0)
		return rc;
	ret->init = pid;
	ret->sock = sock[0];
	ret->box = plan.box;
	return 0;
}
