/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting what a shell call runs. Runs in monitors; the strings are a model's. */
#include "hands/worker/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "common/child.h"
#include "common/fd.h"
#include "hands/worker/ender.h"

#define STACK_BYTES (64u << 10)
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What the waiting bash runs. A NUL on fd 3 says that fd 4, a file, has its fields, each with a
 * NUL: "s" (stderr apart, which fd 5 is) or nothing, the cwd where it is another, the command, K=V
 * strings. From a pipe bash would read byte by byte. Each word of it is on the way of a call: what
 * an ordinary one, merged and in the workspace, needs is the state that it waits in. It leaves no
 * variable behind, makes the shell's own ones look untouched except $_, and
 * evaluates the command on line 1, where a syntax error shows no more than the command. A bash
 * before 4.4, which has no mapfile -d, ends at once: what is to run starts cold then. */
static const char wrapper[] =
    "((BASH_VERSINFO[0]*100+BASH_VERSINFO[1]>403))&&IFS= read -rd '' -u3 __ats&&"
    "mapfile -td '' -u4 __ats||exit 125;[[ ${__ats[0]} ]]&&exec 2>&5;exec 3<&- 4<&- 5>&-;"
    "[[ ${__ats[3]+x} ]]&&export \"${__ats[@]:3}\";"
    "[[ ${__ats[1]} ]]&&{ cd -- \"${__ats[1]}\";unset -v OLDPWD;declare -x OLDPWD;};"
    "BASH_EXECUTION_STRING=${__ats[2]} SECONDS=0;unset -v __ats;"
    "eval \"$BASH_EXECUTION_STRING\"";

static const char *
env_get(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; env[i] != NULL; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i] + n + 1;
	return NULL;
}

/* ---- in the child ---------------------------------------------------------------- */
static void
exec_in_path(const struct shell_plan *p)
{
	const char *name = p->argv[0];
	const char *dirs = env_get(p->env, "PATH");
	char path[4096 + 256];
	int saved = ENOENT;

	for (const char *d = dirs != NULL ? dirs : PATH_DEFAULT;
	     d != NULL && *d != '\0';) {
		size_t n = strcspn(d, ":");

		if (n > 0 && snprintf(path, sizeof path, "%.*s/%s", (int)n, d, name) <
			(int)sizeof path) {
			(void)execve(path, (char *const *)(uintptr_t)p->argv,
			    (char *const *)(uintptr_t)p->env);
			if (errno != ENOENT && errno != ENOTDIR)
				saved = errno;
		}
		d += n;
		if (*d == ':')
			d++;
	}
	errno = saved;
}

static void __attribute__((noreturn))
exec_program(const struct shell_plan *p)
{
	int code;

	if (strchr(p->argv[0], '/') != NULL)
		(void)execve(p->argv[0], (char *const *)(uintptr_t)p->argv,
		    (char *const *)(uintptr_t)p->env);
	else
		exec_in_path(p);
	code = errno == ENOENT ? 127 : 126;
	(void)dprintf(STDERR_FILENO, "%s: %s\n", p->argv[0],
	    errno == ENOENT ? "command not found" : strerror(errno));
	_exit(code);
}

static int
place_fds(const struct shell_plan *p, int status, struct ats_err *err)
{
	int in =
	    p->in >= 0 || p->tty >= 0 ? p->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = p->out, e = p->err;

	if (p->tty >= 0)
		in = out = e = p->tty;
	/* All sources lie above what is written, see monitor_main. */
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(e, 2) < 0)
		return ats_err_sys(err, "dup2");
	if (dup3(status, SHELL_FD_STATUS, O_CLOEXEC) < 0)
		return ats_err_sys(err, "dup3");
	if (p->command >= 0 && (dup2(p->command, SHELL_FD_COMMAND) < 0 ||
	    dup2(p->fields, SHELL_FD_FIELDS) < 0 || dup2(p->apart, SHELL_FD_APART) < 0))
		return ats_err_sys(err, "dup2(command)");
	if (p->command < 0 && close_range(SHELL_FD_COMMAND, SHELL_FD_APART, 0) < 0)
		return ats_err_sys(err, "close_range(command)");
	if (close_range(SHELL_FD_STATUS, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return ats_err_sys(err, "close_range");
	return 0;
}

/* What a child needs to know. */
struct beginning {
	const struct zygote_child *z;
	const struct shell_plan *p;
	int status, ender, sockets;
};

static int __attribute__((noreturn))
run_child(void *arg)
{
	const struct beginning *b = arg;
	const struct shell_plan *p = b->p;
	struct ats_err err = { 0 };
	int rc = setsid() < 0 ? ats_err_sys(&err, "setsid") : 0;

	if (rc == 0 && p->tty >= 0 && ioctl(p->tty, TIOCSCTTY, 0) < 0)
		rc = ats_err_sys(&err, "ioctl(TIOCSCTTY)");
	if (rc == 0)
		rc = place_fds(p, b->status, &err);
	if (rc == 0)
		rc = confine_apply(b->z->confine, CONFINE_SHELL, &err);
	if (rc == 0 && b->sockets >= 0)
		rc = own_sockets_confine(b->sockets, &err);
	if (rc == 0 && b->ender >= 0)
		rc = ender_start(b->ender, &err);
	if (rc < 0) {
		/* The parent reads a whole struct or nothing. */
		if (ats_fd_write_all(b->status, &err, sizeof err) < 0)
			_exit(CONFINE_EXIT);
		_exit(CONFINE_EXIT);
	}
	ats_child_restore_signals();	/* the zygote was started with the defaults */
	exec_program(p);
}

/* ---- in the monitor -------------------------------------------------------------- */
/* Fills ends: the monitor's, and the child's; or -1. */
static int
open_channel(bool wanted, int ends[2], struct ats_err *err)
{
	ends[0] = ends[1] = -1;
	if (!wanted)
		return 0;
	if (ats_fd_socketpair(SOCK_STREAM, ends) < 0)
		return ats_err_sys(err, "socketpair");
	if (ats_fd_raise(&ends[0], CONFINE_FD_MIN) < 0 ||
	    ats_fd_raise(&ends[1], CONFINE_FD_MIN) < 0)
		return ats_err_sys(err, "dup");
	return 0;
}

/* As by vfork(2): until it is another program the child has our memory, and we wait, so that
 * nothing is copied for it. What it does before, like what it gives up, is its own; it has a stack
 * of its own as well. */
static pid_t
begin(const struct beginning *b, unsigned long flags)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

#ifdef __SANITIZE_ADDRESS__
	/* The child before this one became another program with its frames still marked there. */
	ASAN_UNPOISON_MEMORY_REGION(stack, sizeof stack);
#endif
	return clone(run_child, stack + sizeof stack, (int)flags | CLONE_VM | CLONE_VFORK,
	    (void *)(uintptr_t)b);
}

/* Waits for exec, or for the error that was in its place, then for the ender's word. */
static int
await_exec(int status, int ender, struct tree *tree, struct ats_err *err)
{
	struct ats_err child_err;

	if (ats_fd_read_all(status, &child_err, sizeof child_err) == 0) {
		child_err.text[sizeof child_err.text - 1] = '\0';
		return ats_err_set(err, ATS_E_CONFINE, "%s", child_err.text);
	}
	if (ender >= 0 && ats_fd_read_all(ender, &tree->ender, sizeof tree->ender) < 0)
		return ats_err_set(err, ATS_E_CONFINE, "the call's ender did not start");
	return 0;
}

int
shell_start(const struct zygote_child *z, const struct shell_plan *p, struct tree *tree,
    struct own_sockets *sockets, pid_t *ret_pid, struct ats_err *err)
{
	int status[2], ender[2], own[2], rc;
	unsigned long flags = CLONE_FS;
	pid_t pid;

	rc = open_channel(ender_possible(z), ender, err);
	if (rc == 0)
		rc = open_channel(box_has_own_sockets(z->box), own, err);
	if (rc < 0)
		return rc;
	rc = ats_fd_pipe(status, 0);
	if (rc < 0)
		return ats_err_set(err, -rc, "pipe");
	/* With an ender see SHELL_EXIT_SIGNAL; exec makes it SIGCHLD for the shell. */
	flags |= ender[1] < 0 ? SIGCHLD : SHELL_EXIT_SIGNAL;
	pid = ats_fd_raise(&status[1], CONFINE_FD_MIN) < 0 ? -1 :
	    begin(&(struct beginning){ z, p, status[1], ender[1], own[1] }, flags);
	ats_fd_close(&status[1]);
	ats_fd_close(&ender[1]);
	ats_fd_close(&own[1]);
	rc = pid < 0 ? ats_err_sys(err, "clone(CLONE_FS)")
		     : await_exec(status[0], ender[0], tree, err);
	(void)close(status[0]);
	if (rc == 0 && own[0] >= 0)
		rc = own_sockets_take(sockets, own[0], err);
	ats_fd_close(&own[0]);
	if (rc < 0) {
		ats_fd_close(&ender[0]);
		return rc;
	}
	ats_fd_close(&tree->ender_sock);
	tree->ender_sock = ender[0];
	*ret_pid = pid;
	return 0;
}

int
shell_start_ready(const struct zygote_child *z, const struct shell_plan *p, struct tree *tree,
    struct own_sockets *sockets, pid_t *ret_pid, struct ats_err *err)
{
	static const char *const argv[] = { "bash", "-c", wrapper, NULL };
	static struct shell_env env;
	struct shell_plan full = *p;

	full.argv = argv;
	full.env = env.v;
	full.in = full.tty = -1;
	full.err = full.out;
	shell_env_make(&env, z->box, z->box->workspace, z->env, z->nenv);
	return shell_start(z, &full, tree, sockets, ret_pid, err);
}

void
shell_env_make(struct shell_env *e, const struct box *b, const char *cwd,
    const char *const *job, size_t njob)
{
	const char *base[] = { "PATH=" PATH_DEFAULT, e->home, "TERM=dumb", "LANG=C.UTF-8",
		"USER=agent", "LOGNAME=agent", "SHELL=/bin/bash", e->tmp, e->pwd };
	size_t n = 0;

	(void)snprintf(e->home, sizeof e->home, "HOME=%s", b->home);
	(void)snprintf(e->tmp, sizeof e->tmp, "TMPDIR=%s", b->tmp);
	(void)snprintf(e->pwd, sizeof e->pwd, "PWD=%s", cwd);
	for (size_t i = 0; i < ATS_ARRAY_LEN(base); i++) {
		size_t name = strcspn(base[i], "=") + 1;
		bool replaced = false;

		for (size_t k = 0; k < njob; k++)
			replaced = replaced || strncmp(job[k], base[i], name) == 0;
		if (!replaced)
			e->v[n++] = base[i];
	}
	for (size_t k = 0; k < njob && n < SHELL_ENV_MAX - 1; k++)
		e->v[n++] = job[k];
	e->v[n] = NULL;
}
