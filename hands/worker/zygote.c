/* SPDX-License-Identifier: Apache-2.0
 *
 * The fork server. Runs as role-zygote; its only peer is front (fixed structs). It
 * confines itself first, builds ruleset and filter once, and allocates nothing that its
 * children would have to copy. The children announce themselves to front on the same
 * socket, when they are ready; so the zygote never waits for one. */
#include "hands/worker/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/tree.h"
#include "hands/confine/budget_disk.h"
#include "hands/confine/view.h"
#include "hands/init/roles.h"
#include "hands/match/ignore.h"
#include "hands/worker/job.h"
#include "hands/worker/monitor.h"
#include "hands/worker/warm.h"
#include "hands/worker/worker.h"

struct slot {
	uint64_t serial;	/* 0: free */
	pid_t pid;
	int pidfd;
};
struct zygote {
	struct box box;
	struct confine confine;
	struct zygote_child child;
	uint64_t next_serial;
	unsigned live;
	int signals;
	bool subreaper;
	bool box_ends;	/* a call left what the guard cannot undo */
	struct slot slots[ZYGOTE_WORKERS_MAX];
};

static void
say(const struct zygote_msg *m)
{
	/* A front that is gone is noticed by the loop. */
	if (ats_fd_send(ZYGOTE_FD_FRONT, m, sizeof *m, NULL, 0) < 0)
		return;
}

static void
say_failed(int status, const char *step)
{
	struct zygote_msg m = { .what = ZYGOTE_FAILED, .status = status };

	(void)snprintf(m.step, sizeof m.step, "%.190s", step);
	say(&m);
}

int
zygote_announce(const struct zygote_child *z, const int *fds, size_t nfds)
{
	struct zygote_msg m = { .what = ZYGOTE_WORKER, .count = 1, .serial = z->serial };
	ssize_t n = ats_fd_send(ZYGOTE_FD_FRONT, &m, sizeof m, fds, nfds);

	/* Too many descriptors of this user are under way (unix(7), ETOOMANYREFS): front must not
	 * wait for what does not come. */
	if (n < 0)
		say_failed(ATS_E_FULL, "announce: the descriptors could not be passed on");
	(void)close(ZYGOTE_FD_FRONT);
	return n < 0 ? (int)n : 0;
}

void
zygote_fail(const struct ats_err *err)
{
	ats_log(
	    ATS_LOG_ERROR, "a worker could not be confined", "step=\"%s\"", err->text);
	say_failed(err->code, err->text);
	_exit(CONFINE_EXIT);
}

static struct slot *
find(struct zygote *z, uint64_t serial)
{
	for (size_t i = 0; i < ZYGOTE_WORKERS_MAX; i++)
		if (z->slots[i].serial == serial)
			return &z->slots[i];
	return NULL;
}

static void __attribute__((noreturn))
run_child(struct zygote *z)
{
	static const char *const names[] = { "worker-read", "worker-write", "monitor" };

	ats_fault_process(names[z->confine.profile]);
	if (z->confine.profile == ATS_PROFILE_SHELL)
		monitor_main(&z->child);
	worker_main(&z->child);
}

static void
fork_one(struct zygote *z, uint32_t flags)
{
	unsigned long how = CLONE_PIDFD | SIGCHLD;
	struct slot *s = find(z, 0);
	int pidfd = -1;
	pid_t pid;

	if (s == NULL) {
		say_failed(ATS_E_FULL, "zygote: too many workers live");
		return;
	}
	if (z->confine.profile == ATS_PROFILE_SHELL && box_has_namespaces(&z->box))
		how |= CLONE_NEWPID | CLONE_NEWNS;
	z->child.serial = ++z->next_serial;
	z->child.flags = flags;
	z->child.slot = (unsigned)(s - z->slots);
	pid = (pid_t)syscall(SYS_clone, how, NULL, &pidfd, NULL, NULL);
	if (pid == 0)
		run_child(z);
	if (pid < 0) {
		say_failed(ATS_E_SYS, errno == EAGAIN ? "clone: process limit" : "clone");
		return;
	}
	*s = (struct slot){ z->child.serial, pid, pidfd };
	z->live++;
}

/* Without a pid namespace a monitor that was killed leaves its call's processes to us. */
static void
end_orphans(const struct zygote *z)
{
	pid_t keep[ZYGOTE_WORKERS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < ZYGOTE_WORKERS_MAX; i++)
		if (z->slots[i].serial != 0)
			keep[n++] = z->slots[i].pid;
	tree_end_orphans(keep, n);
}

static void
on_child_end(struct zygote *z, pid_t pid, int status)
{
	struct zygote_msg m = { .what = ZYGOTE_GONE, .status = status };

	for (size_t i = 0; i < ZYGOTE_WORKERS_MAX; i++) {
		struct slot *s = &z->slots[i];

		if (s->serial == 0 || s->pid != pid)
			continue;
		m.serial = s->serial;
		ats_fd_close(&s->pidfd);
		s->serial = 0;
		z->live--;
		if (z->subreaper && status != 0)
			end_orphans(z);
		if (z->child.guard != NULL && !guard_forget(z->child.guard, (unsigned)i))
			z->box_ends = true;
		say(&m);
		return;
	}
}

static void
reap(struct zygote *z)
{
	struct signalfd_siginfo si[8];
	int status;
	pid_t pid;

	while (read(z->signals, si, sizeof si) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		on_child_end(z, pid, status);
}

static void
kill_one(struct zygote *z, uint64_t serial)
{
	struct slot *s = serial != 0 ? find(z, serial) : NULL;
	struct zygote_msg gone = { .what = ZYGOTE_GONE, .serial = serial };

	if (s == NULL) {
		say(&gone);	/* reaped already */
		return;
	}
	(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

/* False: front is gone. */
static bool
on_front(struct zygote *z)
{
	struct zygote_msg m;
	int rc = order_zygote(ZYGOTE_FD_FRONT, &m);

	if (rc <= 0)
		return rc == 0;
	if (m.what == ZYGOTE_WANT)
		for (uint32_t i = 0; i < m.count && i < ZYGOTE_WORKERS_MAX; i++)
			fork_one(z, m.flags);
	else
		kill_one(z, m.serial);
	return true;
}

static void
loop(struct zygote *z)
{
	struct guard *guard = z->child.guard;
	int wait;
	struct pollfd p[3] = { { .fd = ZYGOTE_FD_FRONT, .events = POLLIN },
		{ .fd = z->signals, .events = POLLIN },
		{ .fd = guard != NULL ? guard_fd(guard) : -1, .events = POLLIN } };

	for (;;) {
		wait = guard != NULL ? guard_wait(guard) : -1;
		switch (poll(p, ATS_ARRAY_LEN(p), wait)) {
		case 0: guard_idle(guard, ZYGOTE_FD_FRONT); continue;
		case -1:
			if (errno != EINTR)
				return;
			continue;
		default: break;
		}
		/* Before the call that made a name is forgotten. */
		if (guard != NULL && (p[1].revents | p[2].revents) != 0)
			guard_turn(guard);
		if (p[1].revents != 0)
			reap(z);
		if (z->box_ends)
			return;
		if (p[0].revents != 0 && !on_front(z))
			return;
	}
}

/* ---- start ----------------------------------------------------------------------- */
static int
profile_parse(const char *name, enum ats_profile *ret)
{
	static const char *const names[] = { [ATS_PROFILE_READ] = "read",
		[ATS_PROFILE_WRITE] = "write", [ATS_PROFILE_SHELL] = "shell" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum ats_profile)i;
			return 0;
		}
	return -ATS_E_INVAL;
}

static int
open_roots(struct zygote *z, struct ats_err *err)
{
	const char *const paths[] = { z->box.workspace, z->box.tmp, z->box.home,
		z->box.spill };

	for (size_t i = 0; i < ATS_ARRAY_LEN(paths); i++)
		z->child.roots[i] = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
	return z->child.roots[0] < 0
		   ? ats_err_sys(err, "roots: %s is out of reach of uid %u",
			 z->box.workspace, z->box.worker_uid)
		   : 0;
}

static int
start_guard(struct zygote *z, struct ats_err *err)
{
	const struct protect_from from = { .workspace = z->box.workspace,
		.home = box_has_namespaces(&z->box) ? NULL : z->box.home,
		.git_dir = z->box.git_dir[0] != '\0' ? z->box.git_dir : NULL,
		.config_is_open = (z->box.facts & BOX_GIT_CONFIG) != 0 };

	_Static_assert(ZYGOTE_WORKERS_MAX <= GUARD_CALLS_MAX, "a number for each worker");
	z->child.guard = guard_new(&from, box_has_namespaces(&z->box) ? view_protect : NULL, err);
	if (z->child.guard == NULL)
		return ats_err_wrap(err, "guard");
	if (!guard_is_whole(z->child.guard))
		z->box.facts |= BOX_SCAN_PART;
	if (!guard_is_watched(z->child.guard))
		z->box.facts |= BOX_UNWATCHED;
	if (!guard_has_contents(z->child.guard))
		z->box.facts |= BOX_KEEP_PART;
	return 0;
}

/* Above what shells' children fill; -1 when init had none to give. */
static int
take_counter(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH) != 0)
		ats_fd_close(&fd);
	else
		(void)!ats_fd_raise(&fd, CONFINE_FD_MIN);
	return fd;
}

/* So that what a monitor opens lies above the numbers that its shell's child fills at once, without
 * being moved there one by one. */
static void
fill_low(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd = null;

	while (fd >= 0 && fd < CONFINE_FD_MIN)
		fd = fcntl(null, F_DUPFD_CLOEXEC, 0);
	ats_fd_close(&fd);
}

static int
start(struct zygote *z, enum ats_profile profile, struct ats_err *err)
{
	bool shell = profile == ATS_PROFILE_SHELL;
	sigset_t chld;
	int rc;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	z->signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (z->signals < 0)
		return ats_err_sys(err, "signalfd");
	if (!box_has_namespaces(&z->box) && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return ats_err_sys(err, "pdeathsig");
	z->subreaper = shell && !box_has_namespaces(&z->box);
	if (z->subreaper && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return ats_err_sys(err, "subreaper");
	rc = confine_prepare(&z->confine, &z->box, profile, err);
	if (rc == 0)
		rc = confine_apply(&z->confine,
		    shell ? CONFINE_SHELL_ZYGOTE : CONFINE_FILE_ZYGOTE, err);
	if (rc < 0)
		return rc;
	z->child.confine = &z->confine;
	z->child.box = &z->box;
	z->child.has_bash = access("/bin/bash", X_OK) == 0;
	if (shell) {
		z->child.oom = take_counter(ZYGOTE_FD_OOM);
		z->child.forks = take_counter(ZYGOTE_FD_FORKS);
		z->child.disk = budget_disk_new(&z->box);
	}
	if (!shell)
		rc = open_roots(z, err);
	else
		rc = start_guard(z, err);
	if (rc == 0 && shell)
		rc = own_place_open(&z->child.sockets, &z->box, err);
	if (shell)
		fill_low();
	warm_settle();
	return rc;
}

/* What tools see of their monitor in ps is its name, not its arguments. */
static void
hide_arguments(int argc, char **argv)
{
	char *begin = argv[1], *end = argv[argc - 1] + strlen(argv[argc - 1]);

	if (end > begin)
		memset(begin, 0, (size_t)(end - begin));
}

/* argv is cleared later. False: not as many as it says, or no memory. */
static bool
read_env(struct zygote_child *c, int n, char **words)
{
	unsigned long want = n > 0 ? strtoul(words[0], NULL, 10) : ULONG_MAX;
	const char **env;

	if (want >= (unsigned)n)
		return false;
	env = calloc(want + 1, sizeof *env);
	for (size_t i = 0; env != NULL && i < want; i++)
		if ((env[i] = strdup(words[1 + i])) == NULL)
			return false;
	c->env = env;
	c->nenv = want;
	return env != NULL;
}

/* One rule an argument. */
static int
read_deny(struct zygote *z, int n, char **rules)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	int rc = 0;

	ats_buf_init(&text, 256u << 10);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = ats_buf_addf(&text, "%s\n", rules[i]);
	if (rc < 0 || n == 0)
		return rc;
	z->box.deny = ignore_parse(text.data, text.len);
	return z->box.deny != NULL ? 0 : -ATS_E_NOMEM;
}

int
zygote_main(int argc, char **argv)
{
	static struct zygote z;
	static const char *const procs[] = { "zygote-read", "zygote-write",
		"zygote-shell" };
	enum ats_profile profile;
	struct ats_err err = { 0 };

	if (argc < 7 || profile_parse(argv[1], &profile) < 0 ||
	    box_from_word(&z.box, argv[2]) < 0 ||
	    strlen(argv[3]) >= sizeof z.box.workspace ||
	    strlen(argv[4]) >= sizeof z.box.git_dir ||
	    strlen(argv[5]) >= sizeof z.box.hands) {
		say_failed(ATS_E_INVAL, "zygote: bad arguments");
		return CONFINE_EXIT;
	}
	ats_log_init(procs[profile], ATS_LOG_INFO, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, procs[profile], 0, 0, 0);
	(void)snprintf(z.box.workspace, sizeof z.box.workspace, "%s", argv[3]);
	(void)snprintf(z.box.git_dir, sizeof z.box.git_dir, "%s", argv[4]);
	(void)snprintf(z.box.hands, sizeof z.box.hands, "%s", argv[5]);
	if (!read_env(&z.child, argc - 6, argv + 6) ||
	    read_deny(&z, argc - 7 - (int)z.child.nenv, argv + 7 + z.child.nenv) < 0) {
		say_failed(ATS_E_NOMEM, "zygote: environment, rules of what is hidden");
		return CONFINE_EXIT;
	}
	hide_arguments(argc, argv);
	memset(z.child.roots, 0xff, sizeof z.child.roots);
	if (start(&z, profile, &err) < 0)
		zygote_fail(&err);
	loop(&z);
	return z.box_ends ? ZYGOTE_EXIT_STAYS : 0;
}
