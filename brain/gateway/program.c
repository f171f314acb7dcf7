/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs and their pipes. Runs in ats-gateway; what a program prints is its own. */
#include "brain/gateway/program.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/program_env.h"
#include "common/child.h"
#include "common/fd.h"
#include "common/log.h"
#include "proto/brain.h"

#define READ_BYTES (64u << 10)
#define STDERR_KEPT 4096u

struct program {
	struct programs *ps;
	pid_t pid;
	int pidfd, in, out, err;	/* our ends */
	struct event *ended, *writable, *readable, *said;
	struct ats_buf stdin_q, stderr_tail;
	bool close_stdin, silent;	/* silent: killed, nothing is told any more */
	bool stderr_cut;		/* there was more before stderr_tail */
	const struct program_ops *ops;
	void *ctx;
	struct program *next;
};
struct programs {
	struct gateway *g;
	struct program *first;
};

struct programs *
programs_new(struct gateway *g)
{
	struct programs *ps = calloc(1, sizeof(*ps));

	if (ps != NULL)
		ps->g = g;
	return ps;
}

static void
drop_event(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

static void
close_in(struct program *p)
{
	drop_event(&p->writable);
	ats_fd_close(&p->in);
	ats_buf_done(&p->stdin_q);
}

static void
program_free(struct program *p)
{
	struct program **at = &p->ps->first;

	while (*at != NULL && *at != p)
		at = &(*at)->next;
	if (*at != NULL)
		*at = p->next;
	close_in(p);
	drop_event(&p->ended);
	drop_event(&p->readable);
	drop_event(&p->said);
	ats_fd_close(&p->out);
	ats_fd_close(&p->err);
	ats_fd_close(&p->pidfd);
	ats_buf_done(&p->stderr_tail);
	free(p);
}

/* It, and all that it has started: see whole_tree of struct ats_child. Its number is not reused
 * before it was waited for. */
static void
kill_tree(const struct program *p)
{
	(void)kill(p->pid, SIGTERM);
	(void)kill(p->pid, SIGCONT);
}

void
program_kill(struct program *p)
{
	if (p == NULL)
		return;
	p->silent = true;
	kill_tree(p);
	close_in(p);
	drop_event(&p->readable);
	drop_event(&p->said);
}

void
programs_free(struct programs *ps)
{
	if (ps == NULL)
		return;
	while (ps->first != NULL) {
		kill_tree(ps->first);
		while (waitpid(ps->first->pid, NULL, 0) < 0 && errno == EINTR)
			;
		program_free(ps->first);
	}
	free(ps);
}

/* ---- its pipes ------------------------------------------------------------------------------ */
static void
write_some(struct program *p)
{
	ssize_t n = 0;

	while (p->stdin_q.len > 0 &&
	    (n = ats_fd_write(p->in, p->stdin_q.data, p->stdin_q.len)) > 0)
		ats_buf_consume(&p->stdin_q, (size_t)n);
	if (p->stdin_q.len > 0 && n < 0 && errno == EAGAIN && event_add(p->writable, NULL) == 0)
		return;
	/* It may end without having read: that is its own affair. */
	if (p->stdin_q.len > 0 || p->close_stdin)
		close_in(p);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	write_some(arg);
}

int
program_write(struct program *p, const void *s, size_t n)
{
	int rc;

	if (p->in < 0 || p->close_stdin)
		return -ATS_E_EOF;
	rc = ats_buf_add(&p->stdin_q, s, n);
	if (rc == 0)
		write_some(p);
	return rc;
}

void
program_close_stdin(struct program *p)
{
	p->close_stdin = true;
	if (p->in >= 0)
		write_some(p);
}

/* true: there may be more at once. */
static bool
read_out(struct program *p)
{
	char buf[READ_BYTES];
	ssize_t n = p->out >= 0 ? ats_fd_read(p->out, buf, sizeof(buf)) : 0;

	if (n > 0) {
		p->ops->out(p->ctx, buf, (size_t)n);
		return !p->silent;
	}
	if (n == 0 || errno != EAGAIN) {
		drop_event(&p->readable);
		ats_fd_close(&p->out);
	}
	return false;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)read_out(arg);		/* once: others have their turn */
}

static bool
read_err(struct program *p)
{
	char buf[STDERR_KEPT];
	ssize_t n = p->err >= 0 ? ats_fd_read(p->err, buf, sizeof(buf)) : 0;

	if (n > 0) {
		if (p->stderr_tail.len + (size_t)n > p->stderr_tail.max) {
			ats_buf_consume(&p->stderr_tail,
			    p->stderr_tail.len + (size_t)n - p->stderr_tail.max);
			p->stderr_cut = true;
		}
		(void)!ats_buf_add(&p->stderr_tail, buf, (size_t)n);
		return true;
	}
	if (n == 0 || errno != EAGAIN) {
		drop_event(&p->said);
		ats_fd_close(&p->err);
	}
	return false;
}

static void
on_said(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)read_err(arg);
}

const char *
program_stderr(const struct program *p, char *out, size_t size)
{
	const struct mask *m = p->ps->g->mask;
	const struct ats_buf *kept = &p->stderr_tail;
	struct ats_buf tail ATS_CLEANUP_BUF = { 0 };

	if (!p->stderr_cut)
		return mask_quote(m, out, size, kept->data, kept->len);
	ats_buf_init(&tail, STDERR_KEPT);
	/* Half of it: in quotes many bytes take two. */
	if (mask_tail(m, kept->data, kept->len, size / 2, &tail) < 0)
		return ats_log_quote(out, size, "?", 1);
	return ats_log_quote(out, size, tail.data, tail.len);
}

/* All that held the pipes has ended. No more is read than they can hold. */
static void
on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;
	int status = 0;

	(void)fd;
	(void)what;
	if (waitpid(p->pid, &status, WNOHANG) == 0)
		return;
	drop_event(&p->ended);
	for (unsigned i = 0; !p->silent && i < PROGRAM_STDIN_MAX / READ_BYTES && read_out(p); i++)
		;
	for (unsigned i = 0; !p->silent && i < READ_BYTES / STDERR_KEPT && read_err(p); i++)
		;
	if (!p->silent)
		p->ops->ended(p->ctx, status);
	program_free(p);
}

/* ---- its start ------------------------------------------------------------------- */
static int
pipes(struct program *p, int theirs[3], struct ats_err *err)
{
	int in[2], out[2], errs[2];

	if (ats_fd_pipe(in, 0) < 0)
		return ats_err_sys(err, "pipe");
	theirs[0] = in[0];
	p->in = in[1];
	if (ats_fd_pipe(out, 0) < 0)
		return ats_err_sys(err, "pipe");
	theirs[1] = out[1];
	p->out = out[0];
	if (ats_fd_pipe(errs, 0) < 0)
		return ats_err_sys(err, "pipe");
	theirs[2] = errs[1];
	p->err = errs[0];
	ats_fd_widen(p->out);
	if (ats_fd_nonblock(p->in, true) < 0 || ats_fd_nonblock(p->out, true) < 0 ||
	    ats_fd_nonblock(p->err, true) < 0)
		return ats_err_sys(err, "pipe");
	return 0;
}

static int
events(struct program *p)
{
	struct event_base *base = p->ps->g->base;

	p->ended = event_new(base, p->pidfd, EV_READ | EV_PERSIST, on_ended, p);
	p->writable = event_new(base, p->in, EV_WRITE, on_writable, p);
	p->readable = event_new(base, p->out, EV_READ | EV_PERSIST, on_readable, p);
	p->said = event_new(base, p->err, EV_READ | EV_PERSIST, on_said, p);
	if (p->ended == NULL || p->writable == NULL || p->readable == NULL || p->said == NULL ||
	    event_add(p->ended, NULL) < 0 || event_add(p->readable, NULL) < 0 ||
	    event_add(p->said, NULL) < 0)
		return -ATS_E_NOMEM;
	return 0;
}

static int
run(struct program *p, const struct program_plan *plan, const int theirs[3],
    struct ats_err *err)
{
	uint64_t cpu_s = plan->cpu_s;
	const struct ats_gw_config *conf = &p->ps->g->conf;
	struct program_env env = { 0 };
	struct ats_child_fd fds[4 + ATS_GATEWAY_FILES_MAX] = {
		{ theirs[0], 0 }, { theirs[1], 1 }, { theirs[2], 2 } };
	const struct ats_child_limit limits[] = {
		{ RLIMIT_DATA, PROGRAM_DATA_MAX, PROGRAM_DATA_MAX },
		{ RLIMIT_CPU, cpu_s, cpu_s + 2 } };
	struct ats_child c = { .path = plan->argv[0],
		.argv = (const char *const *)plan->argv, .fds = fds, .nfds = 3,
		.cwd = conf->cwd, .death_signal = SIGTERM, .new_session = true,
		.whole_tree = true, .limits = limits, .nlimits = cpu_s > 0 ? 2 : 1 };
	int secret ATS_CLEANUP_FD = -1, rc = program_env_make(p->ps->g, &env, err);

	if (rc == 0 && conf->credential_fd >= 0) {
		rc = program_env_secret_pipe(p->ps->g, &secret, err);
		fds[c.nfds++] = (struct ats_child_fd){ secret, conf->credential_fd };
	}
	for (size_t i = 0; i < plan->nfiles && i < ATS_GATEWAY_FILES_MAX; i++)
		if (plan->files[i] >= 0)
			fds[c.nfds++] = (struct ats_child_fd){ plan->files[i],
				ATS_GATEWAY_FILE_FD + (int)i };
	c.env = (const char *const *)env.v;
	if (rc == 0)
		rc = ats_child_start(&c, &p->pid, &p->pidfd, err);
	program_env_done(&env);
	return rc;
}

int
program_start(struct programs *ps, const struct program_plan *plan,
    const struct program_ops *ops, void *ctx, struct program **ret, struct ats_err *err)
{
	struct program *p = calloc(1, sizeof(*p));
	int rc, theirs[3] = { -1, -1, -1 };

	if (p == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	*p = (struct program){ .ps = ps, .pidfd = -1, .in = -1, .out = -1, .err = -1, .ops = ops,
		.ctx = ctx };
	ats_buf_init(&p->stdin_q, PROGRAM_STDIN_MAX);
	ats_buf_init(&p->stderr_tail, STDERR_KEPT + mask_longest(ps->g->mask));
	rc = pipes(p, theirs, err);
	if (rc == 0)
		rc = run(p, plan, theirs, err);
	for (int i = 0; i < 3; i++)
		ats_fd_close(&theirs[i]);
	if (rc < 0) {
		program_free(p);
		return rc;
	}
	p->next = ps->first;
	ps->first = p;
	if (events(p) < 0) {
		kill_tree(p);
		(void)waitpid(p->pid, NULL, 0);
		program_free(p);
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	}
	*ret = p;
	return 0;
}
