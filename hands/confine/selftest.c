/* SPDX-License-Identifier: Apache-2.0
 *
 * The self-test. Runs in a real worker of each profile, once per box; its checks stand in
 * selftest_checks.c and selftest_shell.c. */
#include "hands/confine/selftest_private.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/ns.h"
#include "hands/confine/own_sockets.h"
#include "hands/confine/vector.h"

static unsigned
claims(const struct box *b)
{
	unsigned on = box_has_namespaces(b) ? ON_VIEW : ON_BARE;

	if (b->situation != BOX_NONE)
		on |= ON_WALL;
	if (b->landlock_abi >= 6)
		on |= ON_SCOPES;
	if (box_has_own_sockets(b))
		on |= ON_OWN;
	return (b->facts & BOX_NET_HOST) != 0 ? on : on | ON_NO_NET;
}

static void
run_table(const struct selftest *s, const struct check *table, struct vector_tests *t)
{
	unsigned on = claims(s->z->box), profile = 1u << s->z->confine->profile;
	size_t used = strlen(t->names);

	for (const struct check *c = table; c->name != NULL; c++) {
		if ((c->profiles & profile) == 0 || (c->on & ~on) != 0)
			continue;
		if (c->holds(s)) {
			t->passed++;
			continue;
		}
		t->failed++;
		if (used + strlen(c->name) + 2 < sizeof t->names)
			used += (size_t)snprintf(t->names + used, sizeof t->names - used,
			    "%s%s", used > 0 ? "," : "", c->name);
	}
}

static void
run_checks(const struct selftest *s, struct vector_tests *t)
{
	memset(t, 0, sizeof *t);
	run_table(s, selftest_checks, t);
	run_table(s, selftest_shell_checks, t);
}

int
selftest_run(const struct zygote_child *z, struct ats_buf *out)
{
	const struct selftest s = { .z = z };
	struct vector_tests t;

	run_checks(&s, &t);
	return vector_make(z->box, &z->confine->prog, z->confine->filter, &t, out);
}

/* A name that the kernel chooses, so that no box takes another's. */
static void
listen_abstract(struct selftest *s)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };
	socklen_t len = sizeof s->abstract;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) == 0 &&
	    listen(fd, 1) == 0 &&
	    getsockname(fd, (struct sockaddr *)&s->abstract, &len) == 0)
		s->abstract_len = len;
}

/* One that a program of the host might have put where commands may write. */
static void
listen_in_tmp(struct selftest *s)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	s->path.sun_family = AF_UNIX;
	if (fd < 0 || snprintf(s->path.sun_path, sizeof s->path.sun_path, "%s/.ats-test-%d",
		s->z->box->tmp, (int)getpid()) >= (int)sizeof s->path.sun_path ||
	    bind(fd, (struct sockaddr *)&s->path, sizeof s->path) < 0 || listen(fd, 1) < 0)
		s->path.sun_path[0] = '\0';
}

static void __attribute__((noreturn))
shell_child(const struct selftest *s, int fd, int channel)
{
	struct vector_tests t = { .failed = 1 };
	struct ats_err err = { 0 };
	int rc = confine_apply(s->z->confine, CONFINE_SHELL, &err);

	/* As after exec: the monitor reads what the child asks. */
	if (rc == 0 && channel >= 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		rc = ats_err_sys(&err, "dumpable");
	if (rc == 0 && channel >= 0)
		rc = own_sockets_confine(channel, &err);
	if (rc < 0)
		(void)snprintf(t.names, sizeof t.names, "%.500s", err.text);
	else
		run_checks(s, &t);
	_exit(ats_fd_write_all(fd, &t, sizeof t) < 0 ? 1 : 0);
}

/* Answers for its sockets until the child has said what it found. */
static void
serve(const struct zygote_child *z, int channel, int answer)
{
	static struct own_sockets sockets;
	struct pollfd p[2] = { { .fd = answer, .events = POLLIN } };

	own_sockets_init(&sockets, &z->sockets);
	if (own_sockets_take(&sockets, channel, NULL) < 0)
		return;		/* the child says why */
	while (p[0].revents == 0) {
		p[1] = own_sockets_poll(&sockets);
		if (poll(p, 2, own_sockets_wait(&sockets, -1)) > 0)
			own_sockets_turn(&sockets, p[1].revents);
	}
	own_sockets_close(&sockets);
}

void
selftest_shell(const struct zygote_child *z, int sock)
{
	static const char json[] = "{\"outcome\":\"done\"}";
	struct vector_tests t = { .failed = 1, .names = "start" };
	struct selftest s = { .z = z };
	struct ats_buf out = { 0 };
	int p[2], channel[2] = { -1, -1 };
	bool own = box_has_own_sockets(z->box);
	pid_t pid;

	if (ats_fd_pipe(p, 0) < 0 || (own && ats_fd_socketpair(SOCK_STREAM, channel) < 0))
		_exit(CONFINE_EXIT);
	listen_abstract(&s);
	if (own)
		listen_in_tmp(&s);
	pid = ns_fork(0);
	if (pid == 0)
		shell_child(&s, p[1], channel[1]);
	(void)close(p[1]);
	ats_fd_close(&channel[1]);
	if (pid > 0 && own)
		serve(z, channel[0], p[0]);
	if (pid < 0 || ats_fd_read_all(p[0], &t, sizeof t) < 0)
		t.failed = 1;
	(void)waitpid(pid, NULL, 0);
	if (s.path.sun_path[0] != '\0')
		(void)unlink(s.path.sun_path);
	ats_buf_init(&out, 8192);
	if (vector_make(z->box, &z->confine->prog, z->confine->filter, &t, &out) < 0 ||
	    job_reply(sock, REPLY_RESULT, json, sizeof json - 1, out.data, out.len) < 0)
		_exit(CONFINE_EXIT);
	_exit(0);
}
