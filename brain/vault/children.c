/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting ats-engine, ats-hands and commands. Runs in the spawner; ids, workspace and options come
 * from the vault, programs and argument names from here. */
#include "brain/vault/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/log.h"

#define ARGS_MAX 2048
#define LOG_MAX (4 << 20)		/* then it becomes hands.log.1 */
#define PATH_SIZE (ATS_PATH_MAX + 64)

void
children_init(struct children *k, const struct ats_places *places)
{
	*k = (struct children){ .places = places };
}

struct child *
children_find(struct children *k, const char *id)
{
	for (struct child *c = k->first; c != NULL; c = c->next)
		if (strcmp(c->id, id) == 0)
			return c;
	return NULL;
}

int
children_socket_path(const struct ats_places *places, const char *id, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/sb-%s.sock", places->runtime, id);

	return n < 0 || (size_t)n >= size ? -ATS_E_TOOBIG : 0;
}

void
children_unlink_socket(const struct children *k, const char *id)
{
	char path[PATH_SIZE];

	if (ats_id_valid(id) && children_socket_path(k->places, id, path, sizeof(path)) == 0)
		(void)unlink(path);
}

void
children_forget(struct children *k, struct child *c)
{
	struct child **at = &k->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	k->n--;
	children_unlink_socket(k, c->id);
	ats_fd_close(&c->pidfd);
	ats_fd_close(&c->dial);
	free(c);
}

int
children_new(struct children *k, const char *id, struct child **ret, struct ats_err *err)
{
	struct child *c;

	if (children_find(k, id) != NULL)
		return ats_err_set(err, ATS_E_EXISTS, "%s runs already", id);
	if (k->n >= CHILDREN_MAX)
		return ats_err_set(err, ATS_E_FULL, "%zu children", k->n);
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "%s: out of memory", id);
	(void)snprintf(c->id, sizeof(c->id), "%s", id);
	c->pidfd = c->dial = -1;
	*ret = c;
	return 0;
}

void
children_add(struct children *k, struct child *c)
{
	c->next = k->first;
	k->first = c;
	k->n++;
}

/* NAME beside our own program (a build folder), in ../libexec/ats from there (wherever the
 * whole was installed or moved to), else in the directory it was configured with. */
static int
find_program(const char *name, char out[PATH_SIZE], struct ats_err *err)
{
	char self[ATS_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL) {
		*slash = '\0';
		(void)snprintf(out, PATH_SIZE, "%s/%s", self, name);
		if (access(out, X_OK) == 0)
			return 0;
		(void)snprintf(out, PATH_SIZE, "%s/../libexec/ats/%s", self, name);
		if (access(out, X_OK) == 0)
			return 0;
	}
	(void)snprintf(out, PATH_SIZE, "%s/%s", ATS_LIBEXECDIR, name);
	if (access(out, X_OK) == 0)
		return 0;
	return ats_err_set(err, ATS_E_NOENT, "%s is neither beside ats-brain nor in %s", name,
	    ATS_LIBEXECDIR);
}

int
children_start(struct children *k, const char *id, const struct ats_child *what, bool group,
    bool leaves, pid_t *ret_pid, struct ats_err *err)
{
	struct ats_child full = *what;
	struct child *c;
	int rc = children_new(k, id, &c, err);

	if (rc < 0)
		return rc;
	c->group = group;
	c->leaves = leaves;
	full.exec_fd = -1;
	full.death_signal = SIGKILL;
	full.new_session = true;
	rc = ats_child_start(&full, &c->pid, &c->pidfd, err);
	if (rc < 0) {
		free(c);
		return rc;
	}
	children_add(k, c);
	*ret_pid = c->pid;
	return 0;
}

int
children_start_own(struct children *k, const char *id, const struct ats_child *what,
    const char *program, pid_t *ret_pid, struct ats_err *err)
{
	struct ats_child full = *what;
	char path[PATH_SIZE];
	int rc = find_program(program, path, err);

	full.path = path;
	if (full.env == NULL)
		full.env = ats_log_env();
	return rc < 0 ? rc : children_start(k, id, &full, false, false, ret_pid, err);
}

void
children_signal(const struct child *c, int sig)
{
	/* Its pid is its group's, and its own until we wait for it. */
	if (c->group && kill(-c->pid, sig) < 0 && errno != ESRCH && errno != EPERM)
		ats_log(ATS_LOG_WARN, "cannot signal a group", "child=%s errno=%d", c->id, errno);
	if (syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, 0u) < 0 && errno != ESRCH)
		ats_log(ATS_LOG_WARN, "cannot signal a child", "child=%s errno=%d", c->id, errno);
}

bool
children_wait(const struct child *c, int *ret_status)
{
	siginfo_t si = { .si_pid = 0 };

	if (c->group && waitid(P_PID, (id_t)c->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    si.si_pid == c->pid &&
	    !(c->leaves && si.si_code == CLD_EXITED && si.si_status == 0))
		(void)kill(-c->pid, SIGKILL);
	return waitpid(c->pid, ret_status, WNOHANG) == c->pid;
}

int
children_start_engine(struct children *k, int door_fd, int vault_fd, int log_fd,
    pid_t *ret_pid, struct ats_err *err)
{
	const char *argv[] = { "ats-engine", "--vault-fd", "3", "--door-fd", "4", NULL };
	const struct ats_child_fd fds[] = { { log_fd, 2 }, { vault_fd, 3 }, { door_fd, 4 } };
	struct ats_child what = { .argv = argv, .fds = fds, .nfds = ATS_ARRAY_LEN(fds) };

	return children_start_own(k, CHILD_ENGINE, &what, "ats-engine", ret_pid, err);
}

/* ---- hands -------------------------------------------------------------------------- */

static int
open_log(const char *dir, int *ret_fd, struct ats_err *err)
{
	char path[PATH_SIZE + 16], old[PATH_SIZE + 32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/hands.log", dir);
	(void)snprintf(old, sizeof(old), "%s.1", path);
	if (lstat(path, &st) == 0 && st.st_size > LOG_MAX)
		(void)rename(path, old);
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret_fd < 0 ? ats_err_sys(err, "%s", path) : 0;
}

/* home and spill may belong to the worker's uid already: only the outer one is ours. */
static int
make_dirs(const struct ats_places *places, const char *id, char dir[PATH_SIZE],
    struct ats_err *err)
{
	static const char *const inner[] = { "home", "spill" };
	char path[PATH_SIZE + 16];
	int rc;

	(void)snprintf(dir, PATH_SIZE, "%s/sandbox/%s", places->state, id);
	rc = ats_places_make(dir, err);
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(inner); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, inner[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			rc = ats_err_sys(err, "%s", path);
	}
	return rc;
}

/* Splits options (copied) into "--option", "name=value" pairs. */
static int
add_options(const char **argv, size_t *n, char *options, struct ats_err *err)
{
	char *save = NULL;

	for (char *line = strtok_r(options, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save)) {
		if (*n + 3 > ARGS_MAX)
			return ats_err_set(err, ATS_E_TOOBIG, "too many sandbox options");
		argv[(*n)++] = "--option";
		argv[(*n)++] = line;
	}
	argv[*n] = NULL;
	return 0;
}

struct hands {				/* that is to be started; all borrowed */
	const char *id, *workspace, *dir, *options;
	int log_fd, link_fd, listen_fd;
};

static int
exec_hands(struct children *k, const struct hands *h, pid_t *ret_pid, struct ats_err *err)
{
	const char *argv[ARGS_MAX] = { "ats-hands", "--link-fd", "3", "--listen-fd", "4",
		"--workspace", h->workspace, "--state-dir", h->dir, "--sandbox", h->id };
	const struct ats_child_fd fds[] = { { h->log_fd, 2 }, { h->link_fd, 3 },
		{ h->listen_fd, 4 } };
	struct ats_child what = { .argv = argv, .fds = fds, .nfds = ATS_ARRAY_LEN(fds) };
	char *options = strdup(h->options);
	size_t n = 11;
	int rc = options == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") :
	    add_options(argv, &n, options, err);

	if (rc == 0)
		rc = children_start_own(k, h->id, &what, "ats-hands", ret_pid, err);
	free(options);
	return rc;
}

int
children_start_hands(struct children *k, const char *id, const char *workspace,
    const char *options, pid_t *ret_pid, int *ret_link, struct ats_err *err)
{
	int pair[2] = { -1, -1 }, listen_fd ATS_CLEANUP_FD = -1, log_fd ATS_CLEANUP_FD = -1;
	char dir[PATH_SIZE], path[PATH_SIZE];
	int rc;

	if (!ats_id_valid(id) || workspace[0] != '/')
		return ats_err_set(err, ATS_E_INVAL, "bad sandbox id or workspace");
	if (children_find(k, id) != NULL)	/* its socket must stay */
		return ats_err_set(err, ATS_E_EXISTS, "%s runs already", id);
	rc = make_dirs(k->places, id, dir, err);
	if (rc == 0)
		rc = open_log(dir, &log_fd, err);
	if (rc == 0 && children_socket_path(k->places, id, path, sizeof(path)) < 0)
		rc = ats_err_set(err, ATS_E_TOOBIG, "socket path too long");
	if (rc == 0)
		rc = ats_fd_unix_listen(path, SOCK_STREAM, 0600, &listen_fd, err);
	if (rc == 0 && ats_fd_socketpair(SOCK_STREAM, pair) < 0)
		rc = ats_err_sys(err, "socketpair");
	if (rc < 0)
		return rc;
	ats_fd_widen(pair[1]);
	rc = exec_hands(k, &(const struct hands){ .id = id, .workspace = workspace, .dir = dir,
		.options = options, .log_fd = log_fd, .link_fd = pair[1],
		.listen_fd = listen_fd }, ret_pid, err);
	(void)close(pair[1]);
	if (rc < 0) {
		(void)close(pair[0]);
		(void)unlink(path);
		return rc;
	}
	*ret_link = pair[0];
	return 0;
}

/* ---- a command of the user's --------------------------------------------------------- */

static int
command_log(struct children *k, const char *box, int *ret_fd, struct ats_err *err)
{
	char dir[PATH_SIZE];
	int rc;

	if (box == NULL) {
		*ret_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		return *ret_fd < 0 ? ats_err_sys(err, "stderr") : 0;
	}
	if (!ats_id_valid(box))
		return ats_err_set(err, ATS_E_INVAL, "bad sandbox id");
	rc = make_dirs(k->places, box, dir, err);
	if (rc == 0)
		rc = open_log(dir, ret_fd, err);
	/* By this line the engine tells the words of this start from those of earlier ones. */
	if (rc == 0)
		(void)!ats_fd_write_all(*ret_fd, CHILD_LOG_MARK, sizeof(CHILD_LOG_MARK) - 1);
	return rc;
}

int
children_start_command(struct children *k, const struct child_command *what, pid_t *ret_pid,
    int *ret_link, struct ats_err *err)
{
	int pair[2] = { -1, -1 }, log_fd ATS_CLEANUP_FD = -1;
	int rc = command_log(k, what->box, &log_fd, err);

	if (rc == 0 && ats_fd_socketpair(SOCK_STREAM, pair) < 0)
		rc = ats_err_sys(err, "socketpair");
	if (rc < 0)
		return rc;
	ats_fd_widen(pair[1]);
	const struct ats_child_fd fds[] = { { pair[1], 0 }, { pair[1], 1 }, { log_fd, 2 } };
	struct ats_child child = { .path = what->argv[0], .argv = what->argv,
		.env = children_env(ENV_COMMAND), .fds = fds, .nfds = ATS_ARRAY_LEN(fds) };
	rc = children_start(k, what->id, &child, true, what->leaves, ret_pid, err);
	(void)close(pair[1]);
	if (rc < 0)
		(void)close(pair[0]);
	else
		*ret_link = pair[0];
	return rc;
}
