/* SPDX-License-Identifier: Apache-2.0
 *
 * The self-test. Runs in a real worker of each profile, once per box; its checks stand in
 * selftest_checks.c. */
#include "hands/confine/selftest_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/ns.h"
#include "hands/confine/vector.h"

static unsigned
claims(const struct box *b)
{
	unsigned on = box_has_namespaces(b) ? ON_VIEW : ON_BARE;

	if (b->situation != BOX_NONE)
		on |= ON_WALL;
	if (b->landlock_abi >= 6)
		on |= ON_SCOPES;
	return (b->facts & BOX_NET_HOST) != 0 ? on : on | ON_NO_NET;
}

static void
run_checks(const struct selftest *s, struct vector_tests *t)
{
	unsigned on = claims(s->z->box), profile = 1u << s->z->confine->profile;
	size_t used = 0;

	memset(t, 0, sizeof *t);
	for (size_t i = 0; i < selftest_nchecks; i++) {
		const struct check *c = &selftest_checks[i];

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

static void __attribute__((noreturn))
shell_child(const struct selftest *s, int fd)
{
	struct vector_tests t = { .failed = 1 };
	struct ats_err err = { 0 };

	if (confine_apply(s->z->confine, CONFINE_SHELL, &err) < 0)
		(void)snprintf(t.names, sizeof t.names, "%.500s", err.text);
	else
		run_checks(s, &t);
	_exit(ats_fd_write_all(fd, &t, sizeof t) < 0 ? 1 : 0);
}

void
selftest_shell(const struct zygote_child *z, int sock)
{
	static const char json[] = "{\"outcome\":\"done\"}";
	struct vector_tests t = { .failed = 1, .names = "start" };
	struct selftest s = { .z = z };
	struct ats_buf out = { 0 };
	int p[2];
	pid_t pid;

	if (ats_fd_pipe(p, 0) < 0)
		_exit(CONFINE_EXIT);
	listen_abstract(&s);
	pid = ns_fork(0);
	if (pid == 0)
		shell_child(&s, p[1]);
	(void)close(p[1]);
	if (pid < 0 || ats_fd_read_all(p[0], &t, sizeof t) < 0)
		t.failed = 1;
	(void)waitpid(pid, NULL, 0);
	ats_buf_init(&out, 8192);
	if (vector_make(z->box, &z->confine->prog, z->confine->filter, &t, &out) < 0 ||
	    job_reply(sock, REPLY_RESULT, json, sizeof json - 1, out.data, out.len) < 0)
		_exit(CONFINE_EXIT);
	_exit(0);
}
