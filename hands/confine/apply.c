/* SPDX-License-Identifier: Apache-2.0
 *
 * The ordered steps of confinement. Runs in front, the zygotes, monitors, workers and in
 * a shell's process before exec; nothing of a peer has been read by then. */
#include "hands/confine/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/confine/daemon.h"
#include "common/confine/landlock.h"
#include "common/confine/limits.h"
#include "common/fd.h"
#include "hands/confine/mnt.h"
#include "hands/confine/view.h"
#include "hands/init/roles.h"

#define CAP(n) (1ull << (n))
#define MIB (1ull << 20)
/* How many descriptors of a user may be under way in sockets is a process's own limit of open files
 * (unix(7)): ours is that much above a command's, so that no command's keep ours from passing. */
#define FILES_ABOVE 1024
/* Signals that wait, and timers: counted for the user, on the host, too. */
#define SIGNALS_MAX 16384

/* The shell zygote mounts in its monitors; nothing else needs a capability. */
#define SHELL_ZYGOTE_CAPS (CAP(CAP_SYS_ADMIN) | CAP(CAP_SETPCAP))

/* ---- steps ----------------------------------------------------------------------- */
static int
step_namespace(const struct confine *c, struct ats_err *err)
{
	if (!box_has_namespaces(c->box))
		return 0;
	return unshare(CLONE_NEWNS) < 0 ? ats_err_sys(err, "unshare(CLONE_NEWNS)") : 0;
}

static int
step_proc(const struct confine *c, struct ats_err *err)
{
	if (!box_has_namespaces(c->box))
		return 0;
	return view_proc(c->box, (unsigned)c->box->budget.processes, err);
}

static int
step_view(const struct confine *c, struct ats_err *err)
{
	return box_has_namespaces(c->box) ? view_shell(c->box, true, err) : 0;
}

static int
step_call_view(const struct confine *c, struct ats_err *err)
{
	return box_has_namespaces(c->box) ? view_shell(c->box, false, err) : 0;
}

static int
step_scan(const struct confine *c, struct ats_err *err)
{
	return box_has_namespaces(c->box) ? view_scan(c->box, err) : 0;
}

static int
step_session(const struct confine *c, struct ats_err *err)
{
	(void)c;
	return setsid() < 0 && errno != EPERM ? ats_err_sys(err, "setsid") : 0;
}

/* A weaker wall than pid_max: it counts all of this uid's processes. */
static uint64_t
nproc(const struct confine *c)
{
	if (c->profile != ATS_PROFILE_SHELL || (c->box->facts & BOX_PID_MAX) != 0)
		return UINT64_MAX;
	return c->box->budget.processes;
}

static int
step_limits(const struct confine *c, struct ats_err *err)
{
	const struct budget *b = &c->box->budget;
	const struct ats_limit limits[] = {
		{ RLIMIT_FSIZE, "fsize", b->file_mib * MIB },
		{ RLIMIT_NOFILE, "nofile", b->open_files + FILES_ABOVE },
		{ RLIMIT_MEMLOCK, "memlock", 64 << 10 },
		{ RLIMIT_DATA, "data", b->memory_mib * MIB },
		{ RLIMIT_NPROC, "nproc", nproc(c) },
	};
	int rc = ats_limits_set(ats_limits_daemon, ats_limits_ndaemon, err);

	return rc < 0 ? rc : ats_limits_set(limits, ATS_ARRAY_LEN(limits), err);
}

static int
step_command_limits(const struct confine *c, struct ats_err *err)
{
	uint64_t files = c->box->budget.open_files, room;
	struct rlimit own;

	if (getrlimit(RLIMIT_NOFILE, &own) < 0)
		return ats_err_sys(err, "limits.nofile: get");
	room = own.rlim_max > 2 * FILES_ABOVE ? own.rlim_max - FILES_ABOVE : own.rlim_max / 2;
	const struct ats_limit limits[] = {
		{ RLIMIT_NOFILE, "nofile", files < room ? files : room },
		{ RLIMIT_SIGPENDING, "sigpending", SIGNALS_MAX },
	};
	return ats_limits_set(limits, ATS_ARRAY_LEN(limits), err);
}

/* Of what a command runs only: a monitor may live for days. */
static int
step_cpu(const struct confine *c, struct ats_err *err)
{
	const struct ats_limit cpu = { RLIMIT_CPU, "cpu", c->box->budget.cpu_s };

	return cpu.value == 0 ? 0 : ats_limits_set(&cpu, 1, err);
}

static int
step_securebits(const struct confine *c, struct ats_err *err)
{
	(void)c;
	if ((ats_caps_effective() & CAP(CAP_SETPCAP)) == 0)
		return 0;	/* no_new_privs makes them harmless */
	return ats_caps_lock_securebits(err);
}

static int
step_bounding(const struct confine *c, struct ats_err *err)
{
	(void)c;
	if ((ats_caps_effective() & CAP(CAP_SETPCAP)) == 0)
		return 0;
	return ats_caps_bound(0, err);
}

static int
step_user(const struct confine *c, struct ats_err *err)
{
	bool front = c->profile == ATS_PROFILE_FRONT;
	uid_t uid = front ? c->box->front_uid : c->box->worker_uid;
	gid_t gid = front ? c->box->front_gid : c->box->worker_gid;
	uid_t r, e, s;

	if (box_has_uids(c->box)) {
		if (setgroups(0, NULL) < 0)
			return ats_err_sys(err, "setgroups");
		if (setresgid(gid, gid, gid) < 0)
			return ats_err_sys(err, "setresgid(%u)", gid);
		if (setresuid(uid, uid, uid) < 0)
			return ats_err_sys(err, "setresuid(%u)", uid);
	}
	if (getresuid(&r, &e, &s) < 0 || r != uid || e != uid || s != uid || uid == 0)
		return ats_err_set(err, ATS_E_CONFINE, "uid: is not %u, or is 0", uid);
	return 0;
}

static int
step_no_new_privs(const struct confine *c, struct ats_err *err)
{
	(void)c;
	return ats_caps_no_new_privs(err);
}

/* Three sets are read back here. The bounding set was when the role gave it up, and cannot grow
 * again; ambient lies within permitted and inheritable. The self-test looks at them one by one. */
static int
step_caps(const struct confine *c, struct ats_err *err)
{
	(void)c;
	return ats_caps_keep(0, err);
}

static int
step_zygote_caps(const struct confine *c, struct ats_err *err)
{
	return ats_caps_keep(box_has_namespaces(c->box) ? SHELL_ZYGOTE_CAPS : 0, err);
}

static int
step_undumpable(const struct confine *c, struct ats_err *err)
{
	(void)c;
	return ats_caps_undumpable(err);
}

static int
step_landlock(const struct confine *c, struct ats_err *err)
{
	if (c->ruleset < 0)
		return 0;
	return ats_landlock_restrict(c->ruleset, err);
}

static int
step_filter(const struct confine *c, struct ats_err *err)
{
	return filter_load(c->filter, &c->prog, err);
}

static int
step_command_filter(const struct confine *c, struct ats_err *err)
{
	return filter_load(FILTER_COMMAND, &c->command, err);
}

/* The last one of a zygote: what none of its children will need either. */
static int
step_zygote_filter(const struct confine *c, struct ats_err *err)
{
	return filter_install(
	    c->profile == ATS_PROFILE_SHELL ? FILTER_TOOLS : FILTER_HELPER, err);
}

static int
step_umask(const struct confine *c, struct ats_err *err)
{
	(void)c;
	(void)err;
	(void)umask(022);
	return 0;
}

struct step {
	const char *name;
	unsigned moments;
	int (*run)(const struct confine *c, struct ats_err *err);
};
#define F CONFINE_FRONT
#define FZ CONFINE_FILE_ZYGOTE
#define FW CONFINE_FILE_WORKER
#define SZ CONFINE_SHELL_ZYGOTE
#define MO CONFINE_MONITOR
#define SH CONFINE_SHELL
/* The order is the point: mounts before Landlock, securebits and groups before the uid,
 * caps after it, filters last. */
static const struct step steps[] = {
	{ "namespace", SZ, step_namespace },
	{ "proc", MO, step_proc },
	{ "view", SZ, step_view },
	{ "call_view", MO, step_call_view },
	{ "scan", SZ, step_scan },
	{ "session", FZ | SZ | MO, step_session },
	{ "limits", FZ | MO, step_limits },
	{ "command_limits", SH, step_command_limits },
	{ "cpu", SH, step_cpu },
	{ "umask", FZ | SZ, step_umask },
	{ "securebits", F | FZ | SZ, step_securebits },
	{ "bounding", F | FZ | SZ, step_bounding },
	{ "user", F | FZ | SZ, step_user },
	{ "no_new_privs", F | FZ | SZ | MO, step_no_new_privs },
	{ "caps", F | FZ | MO, step_caps },
	{ "zygote_caps", SZ, step_zygote_caps },
	{ "undumpable", FZ | SZ | MO, step_undumpable },
	{ "landlock", FZ | SH, step_landlock },
	{ "zygote_filter", FZ | SZ, step_zygote_filter },
	{ "filter", FW | MO, step_filter },
	{ "command_filter", SH, step_command_filter },
};

int
confine_apply(const struct confine *c, enum confine_moment m, struct ats_err *err)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(steps); i++) {
		if ((steps[i].moments & m) == 0 || steps[i].run(c, err) >= 0)
			continue;
		(void)ats_err_wrap(err, "%s", steps[i].name);
		if (err != NULL)
			err->code = ATS_E_CONFINE;
		return -ATS_E_CONFINE;
	}
	return 0;
}

/* ---- what is built once ---------------------------------------------------------- */
#define MAKE_NODES (ATS_LL_MAKE_CHAR | ATS_LL_MAKE_BLOCK)
#define READ_EXEC (ATS_LL_READ | ATS_LL_EXECUTE)

/* Write rights: the places of tools. Where there is no view, what may be read as well.
 * Who handles truncation has the whole path of each file looked at that is opened, to read it,
 * too: a third of what an open takes. In a view that is spared read workers. What they open to
 * write is refused as it is; what is left, to cut a file that is opened to read, their mounts
 * refuse, which are all read-only (hands/init/start.c; the self-test looks at each). */
static int
build_ruleset(struct confine *c, struct ats_err *err)
{
	const struct box *b = c->box;
	bool view = box_has_namespaces(b);
	uint64_t read = view ? 0 : READ_EXEC;
	uint64_t write = c->profile == ATS_PROFILE_READ ? 0 : ATS_LL_WRITE;
	uint64_t node = c->profile == ATS_PROFILE_SHELL ? ATS_LL_WRITE_FILE : 0;
	uint64_t none = view ? 0 : ATS_LL_READ;
	uint64_t dns = (b->facts & BOX_NET_HOST) != 0 ? none : 0;
	bool has_git = b->git_dir[0] != '\0' && c->profile == ATS_PROFILE_SHELL;
	ATS_CLEANUP_FD int ws = -1, git = -1;
	int rc = mnt_open_dir(b->workspace, &ws, err);

	/* Where there is no view, others may have put a link in their place. */
	if (rc == 0 && has_git)
		rc = mnt_open_dir(b->git_dir, &git, err);
	if (rc < 0)
		return rc;
	const struct ats_landlock_path paths[] = {
		{ NULL, ws, read | write, false },
		{ NULL, git, has_git ? read | write : 0, false },
		{ b->home, -1, read | write, false },
		{ b->tmp, -1, read | write, false },
		{ "/dev/shm", -1, view ? read | write : 0, true },
		{ "/dev", -1, view ? node : 0, true },
		{ "/dev/null", -1, none | node, true },
		{ "/dev/zero", -1, none | node, true },
		{ "/dev/full", -1, none | node, true },
		{ "/dev/random", -1, none, true },
		{ "/dev/urandom", -1, none, true },
		{ b->spill, -1, c->profile == ATS_PROFILE_SHELL ? 0 : none, true },
		{ b->tools, -1, none, true },
		{ b->hands, -1, b->hands[0] != '\0' ? read & ~ATS_LL_READ_DIR : 0, true },
		{ "/usr", -1, read, true },
		{ "/etc", -1, read, true },
		{ "/etc/resolv.conf", -1, dns, true },	/* a link, often */
		{ "/opt", -1, read, true },
		{ "/bin", -1, read, true },
		{ "/sbin", -1, read, true },
		{ "/lib", -1, read, true },
		{ "/lib32", -1, read, true },
		{ "/lib64", -1, read, true },
		{ "/nix/store", -1, read, true },
		{ "/proc/cpuinfo", -1, none, true },
		{ "/proc/meminfo", -1, none, true },
		{ "/proc/stat", -1, none, true },
		{ "/proc/uptime", -1, none, true },
		{ "/proc/loadavg", -1, none, true },
		{ "/proc/version", -1, none, true },
		{ "/proc/filesystems", -1, none, true },
	};
	struct ats_landlock_path used[ATS_ARRAY_LEN(paths)];
	ATS_CLEANUP_FD int set = -1;
	struct ats_landlock_rules r = {
		.fs = ATS_LL_WRITE | MAKE_NODES | read, .scope = ATS_LL_SCOPE_ALL,
		.paths = used,
		.min_abi = b->situation == BOX_LANDLOCK ? 6 : b->situation == BOX_UID ? 3 : 0,
	};

	if (view && c->profile == ATS_PROFILE_READ)
		r.fs &= ~ATS_LL_TRUNCATE;
	for (size_t i = 0; i < ATS_ARRAY_LEN(paths); i++)
		if (paths[i].rights != 0)
			used[r.npaths++] = paths[i];
	if ((view || b->situation == BOX_NONE) && b->landlock_abi == 0)
		return 0;	/* reported: the view, the uid and seccomp remain */
	if (ats_landlock_build(&r, &set, NULL, err) < 0)
		return -ATS_E_CONFINE;
	/* Above the numbers that a shell's child fills. */
	c->ruleset = ats_steal_fd(&set);
	return ats_fd_raise(&c->ruleset, CONFINE_FD_MIN) < 0 ? ats_err_sys(err, "dup") : 0;
}

int
confine_prepare(struct confine *c, const struct box *b, enum ats_profile profile,
    struct ats_err *err)
{
	int rc;

	*c = (struct confine){ .box = b, .profile = profile, .ruleset = -1 };
	c->filter = filter_of(profile, b);
	rc = build_ruleset(c, err);
	if (rc < 0)
		return ats_err_wrap(err, "landlock");
	rc = filter_build(c->filter, &c->prog, err);
	return rc == 0 && profile == ATS_PROFILE_SHELL ?
	    filter_build(FILTER_COMMAND, &c->command, err) : rc;
}

/* The same for every process of ours that has a peer. */
static int
confine_daemon(const struct ats_landlock_rules *rules, enum filter f, struct ats_err *err)
{
	int rc = ats_confine_daemon(0, err);

	if (rc == 0)
		rc = ats_confine_reach(rules, err);
	return rc < 0 ? rc : filter_install(f, err);
}

int
confine_front(int spill_fd, int tools_fd, struct ats_err *err)
{
	const struct ats_landlock_path own[] = {
		{ NULL, spill_fd, ATS_LL_READ | ATS_LL_WRITE, false },
		{ NULL, tools_fd, ATS_LL_READ | ATS_LL_WRITE, false },
	};
	const struct ats_landlock_rules rules = { .fs = ATS_LL_FS_ALL & ~ATS_LL_IOCTL_DEV,
		.net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL,
		.paths = own,
		.npaths = spill_fd < 0 ? 0 : tools_fd < 0 ? 1 : 2 };

	return confine_daemon(&rules, FILTER_FRONT, err);
}

/* For a Unix socket root stays root: brain looks at the uid. */
static int
leave_root(const struct ats_addr *a, struct ats_err *err)
{
	const uid_t id = ROLE_UID_FRONT;
	int rc;

	if (geteuid() != 0 || a->kind == ATS_ADDR_UNIX)
		return ats_caps_no_new_privs(err);
	rc = (ats_caps_effective() & CAP(CAP_SETPCAP)) == 0 ? 0 : ats_caps_lock_securebits(err);
	if (rc == 0 && (ats_caps_effective() & CAP(CAP_SETPCAP)) != 0)
		rc = ats_caps_bound(0, err);
	if (rc < 0)
		return rc;
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return ats_err_sys(err, "user %u", (unsigned)id);
	rc = ats_caps_no_new_privs(err);
	return rc < 0 ? rc : ats_caps_keep(0, err);
}

int
confine_dialer(const struct ats_addr *a, struct ats_err *err)
{
	static const struct ats_landlock_path names[] = {
		{ "/etc/resolv.conf", -1, ATS_LL_READ_FILE, true },
		{ "/etc/hosts", -1, ATS_LL_READ_FILE, true },
	};
	const struct ats_landlock_port ports[] = {
		{ a->port, ATS_LL_CONNECT_TCP },
		{ 53, ATS_LL_CONNECT_TCP },
	};
	bool local = a->kind == ATS_ADDR_UNIX;
	const struct ats_landlock_rules rules = {
		.fs = ATS_LL_FS_ALL & ~(ATS_LL_IOCTL_DEV | (local ? ATS_LL_RESOLVE_UNIX : 0)),
		.net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL,
		.paths = names,
		.npaths = local ? 0 : ATS_ARRAY_LEN(names),
		.ports = ports,
		.nports = local ? 0 : ATS_ARRAY_LEN(ports),
	};
	int rc = leave_root(a, err);

	return rc < 0 ? rc : confine_daemon(&rules, FILTER_DIALER, err);
}
