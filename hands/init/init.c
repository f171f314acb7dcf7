/* SPDX-License-Identifier: Apache-2.0
 *
 * First process of the box: builds it, has its roles started, and looks after them. Its input is
 * the launcher's plan, signals and the ends of its children. */
#include "hands/init/init_private.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/confine/caps.h"
#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/tree.h"
#include "hands/confine/apply.h"
#include "hands/confine/ns.h"
#include "hands/confine/view.h"
#include "hands/init/next.h"
#include "hands/init/roles.h"

#define RESTARTS_MAX 5		/* of zygotes, within */
#define RESTARTS_MS 10000
#define END_MS 3000		/* for front to end in order */
#define TICK_MS 1000

/* ---- building -------------------------------------------------------------------- */
/* Entering waits for the kernel (RCU), some 5 ms for each of cgroup v1's hierarchies, and
 * holds up every fork and exec meanwhile: a front that has begun to greet, of which no tool
 * runs, stays outside. */
static void
enter_groups(struct init *in)
{
	struct cgroups *g = in->plan->groups;

	if (g == NULL)
		return;
	cgroups_enter(g);
	in->box.facts |= (g->has_memory ? BOX_CG_MEMORY : 0) | (g->has_pids ? BOX_CG_PIDS : 0);
}

/* A directory of the state's. */
static int
open_own(const struct init *in, const char *name, int *ret_fd, struct ats_err *err)
{
	char path[4096 + 16];

	(void)snprintf(path, sizeof path, "%.4000s/%s", in->box.state, name);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? ats_err_sys(err, "open %s", path) : 0;
}

/* Identity and what is opened by its host path. */
static int
settle(struct init *in, struct ats_err *err)
{
	int rc;

	if (in->box.situation == BOX_USER &&
	    ns_write_maps(in->plan->uid, in->plan->gid, err) < 0)
		return -err->code;
	if (!box_has_namespaces(&in->box) && access("/proc/self/stat", R_OK) < 0)
		return ats_err_set(err, ATS_E_UNAVAILABLE,
		    "/proc is not mounted: without it, and without a pid namespace, what a call "
		    "started could not be found and ended; remedy: mount it, or give this process "
		    "CAP_SYS_ADMIN as pid 1");
	if (!box_has_namespaces(&in->box) &&
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return ats_err_sys(err, "subreaper");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return ats_err_sys(err, "pdeathsig");
	rc = open_own(in, "spill", &in->spill, err);
	return rc < 0 ? rc : open_own(in, STATE_TOOLS, &in->tools, err);
}

static int
build(struct init *in, struct ats_err *err)
{
	int rc;

	if (!box_has_namespaces(&in->box))
		return 0;
	rc = view_build(&in->box, in->plan->idmap_ws, err);
	if (rc == 0)
		ns_tune(&in->box);
	return rc;
}

static int
start_all(struct init *in, struct ats_err *err)
{
	bool early = in->plan->early_front;
	int rc = settle(in, err);

	if (rc == 0 && early)
		rc = init_start_greeter(in, err);
	enter_groups(in);
	if (rc == 0)
		rc = build(in, err);
	if (rc == 0 && !early && !in->plan->probe)
		rc = init_start_greeter(in, err);
	if (rc == 0 && !in->plan->probe)
		rc = init_start_zygotes(in, err);
	return rc;
}

/* ---- ends ------------------------------------------------------------------------ */
static void __attribute__((noreturn))
end(struct init *in, int code)
{
	/* In a pid namespace everybody ends with us. Elsewhere we are the subreaper of all. */
	if (!box_has_namespaces(&in->box))
		tree_end(&(struct tree)TREE_OF_SUBREAPER);
	_exit(code);
}

static void
tell_launcher(struct init *in, bool ok, const struct ats_err *err)
{
	struct init_status s = { .ok = ok, .facts = in->box.facts };

	if (err != NULL)
		s.err = *err;
	/* It fails when the launcher is gone. */
	if (ats_fd_write_all(in->plan->status, &s, sizeof s) < 0)
		end(in, 1);
	(void)close(in->plan->status);
}

static int
exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void
restart_zygote(struct init *in, unsigned profile, int status)
{
	struct init_msg m = { .what = INIT_ZYGOTE, .profile = profile };
	uint64_t now = ats_clock_ms();
	int ours, theirs;

	in->zygotes[profile] = 0;
	/* That is how one ends whose front is gone: front's own end is on its way to us. */
	if (in->end_by_ms != 0 || status == 0)
		return;
	if (exit_code(status) == ZYGOTE_EXIT_STAYS) {
		in->end_by_ms = now + END_MS;
		(void)kill(in->front, SIGTERM);
		return;
	}
	ats_log(ATS_LOG_WARN, "a zygote ended", "profile=%s status=%d",
	    init_profile_names[profile], exit_code(status));
	if (now - in->restarts_since_ms > RESTARTS_MS) {
		in->restarts_since_ms = now;
		in->restarts = 0;
	}
	if (++in->restarts > RESTARTS_MAX || init_zygote_socket(&theirs, &ours) < 0 ||
	    init_start_zygote(in, profile, ours) < 0) {
		ats_log(ATS_LOG_ERROR, "zygotes cannot be kept alive", NULL);
		end(in, 1);
	}
	(void)close(ours);
	/* Two fronts: who of them goes on is not known, nor whether this one still hears. */
	in->untold[profile] = in->next > 0;
	if (ats_fd_send(in->front_sock, &m, sizeof m, &theirs, 1) < 0 && in->next <= 0)
		end(in, 1);
	(void)close(theirs);
}

static void
reap(struct init *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == in->next) {
			next_ended(in, exit_code(status));
		} else if (pid == in->front && !next_goes_on(in)) {
			if (exit_code(status) != 0)
				ats_log(ATS_LOG_ERROR, "front ended", "status=%d",
				    exit_code(status));
			end(in, exit_code(status));
		}
		for (unsigned i = 0; i < ZYGOTES; i++)
			if (pid == in->zygotes[i])
				restart_zygote(in, i, status);
	}
}

/* Children are looked at in any case. */
static void
read_signals(struct init *in)
{
	struct signalfd_siginfo si;

	while (read(in->signals, &si, sizeof si) == (ssize_t)sizeof si) {
		if (si.ssi_signo == SIGCHLD || in->end_by_ms != 0)
			continue;
		in->end_by_ms = ats_clock_ms() + END_MS;
		(void)kill(in->front, SIGTERM);
		if (in->next > 0)
			(void)kill(in->next, SIGKILL);
	}
}

static int
take_signals(struct init *in, struct ats_err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	in->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return in->signals < 0 ? ats_err_sys(err, "signalfd") : 0;
}

static void __attribute__((noreturn))
loop(struct init *in)
{
	struct pollfd p[3] = { { .fd = in->signals, .events = POLLIN },
		{ .events = POLLIN }, { .fd = in->plan->launcher, .events = POLLIN } };

	for (;;) {
		next_hear_front(in);
		reap(in);
		p[1].fd = in->front_sock;
		(void)poll(p, ATS_ARRAY_LEN(p), in->end_by_ms != 0 ? TICK_MS : -1);
		if (in->end_by_ms != 0 && ats_clock_ms() > in->end_by_ms)
			end(in, 1);
		if ((p[0].revents & POLLIN) != 0)
			read_signals(in);
		/* Its death signal does not come to one who asked for it after that death. */
		if (p[2].revents != 0 && !next_hear_launcher(in))
			end(in, 1);
	}
}

static void
block_signals(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	/* Once for all roles: no command begins with what the launcher ignores. */
	ats_child_default_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
}

void
init_main(const struct init_plan *plan)
{
	static struct init in;
	struct ats_err err = { 0 };
	int rc;

	in.plan = plan;
	in.box = plan->box;
	in.spill = in.tools = in.front_sock = in.next_sock = in.signals = -1;
	block_signals();
	ats_log_init("init", ATS_LOG_INFO, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, "ats-init", 0, 0, 0);
	(void)setsid();
	in.box.landlock_abi = ats_landlock_abi();
	rc = take_signals(&in, &err);
	if (rc == 0)
		rc = start_all(&in, &err);
	if (rc == 0)
		rc = ats_caps_undumpable(&err);
	if (plan->link >= 0)
		(void)close(plan->link);	/* front has it; its end must be seen */
	tell_launcher(&in, rc == 0, &err);
	if (rc < 0 || plan->probe)
		_exit(rc < 0 ? CONFINE_EXIT : 0);
	(void)malloc_trim(0);
	loop(&in);
}
