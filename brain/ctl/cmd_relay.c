/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl relay: serves a relay directory, in which a program of a sandbox asks for tools of
 * gateways. Everything in it is hostile. Process: atsctl, confined before it reads the first
 * file. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "brain/ctl/relay_server.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fd.h"

#define TICK_MS 1000u
#define LIST_MS 60000u		/* for the first list of tools */
/* A directory on a volume that hangs: system calls that never return are ended only with
 * their process. */
#define HUNG_S 30u

struct serving {
	struct relay_server s;
	int signals;
	uint64_t tick_ms;
};

static void
block_signals(bool block)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static int
open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Where the specs go: a file in a directory that is there. */
static int
open_specs(struct relay_server *s, const char *file, struct ats_err *err)
{
	const char *slash = file != NULL ? strrchr(file, '/') : NULL;
	const char *name = file == NULL ? RELAY_SPECS_NAME : slash != NULL ? slash + 1 : file;
	char dir[ATS_PATH_MAX] = ".";
	char id[ATS_RELAYDIR_ID_MAX + 1];

	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strlen(name) >= sizeof(s->specs_name) ||
	    ats_relaydir_kind(name, id) != ATS_RELAYDIR_OTHER)
		return ats_err_set(err, ATS_E_INVAL, "--specs %.64s: not the name of a file", file);
	(void)snprintf(s->specs_name, sizeof(s->specs_name), "%s", name);
	if (slash != NULL && (size_t)(slash - file) >= sizeof(dir))
		return ats_err_set(err, ATS_E_TOOBIG, "--specs: path too long");
	if (slash != NULL)
		(void)snprintf(dir, sizeof(dir), "%.*s", slash == file ? 1 : (int)(slash - file),
		    file);
	s->specs_dir = file == NULL ? openat(s->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
	    open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->specs_dir < 0 ? ats_err_sys(err, "%s", file == NULL ? RELAY_SPECS_NAME : dir) : 0;
}

/* The session of this directory, unless another was named. */
static int
key_of(const char *dir, char *out, size_t size, struct ats_err *err)
{
	char *real = realpath(dir, NULL);
	char hex[ATS_SHA256_HEX];

	if (real == NULL)
		return ats_err_sys(err, "%s", dir);
	ats_sha256_hex(real, strlen(real), hex);
	free(real);
	(void)snprintf(out, size, "relay:%.16s", hex);
	return 0;
}

static int
min_wait(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void
wait_for_work(struct serving *v)
{
	struct relay_server *s = &v->s;
	bool room = relay_has_room(s);
	struct pollfd p[] = {
		{ .fd = v->signals, .events = POLLIN },
		{ .fd = s->session.door.fd,
		    .events = (short)(POLLIN | (s->out.len > 0 ? POLLOUT : 0)) },
		{ .fd = room ? s->dir.watch : -1, .events = POLLIN },
	};
	uint64_t now = ats_clock_ms();
	int wait = v->tick_ms > now ? (int)(v->tick_ms - now) : 0;

	if (room)
		wait = s->more ? 0 : min_wait(wait, relay_dir_wait_ms(&s->dir));
	else if (s->ncalls < RELAY_CALLS)
		wait = min_wait(wait, relay_token_wait_ms(s));
	(void)poll(p, ATS_ARRAY_LEN(p), wait);
}

/* A signal asks for the end. */
static bool
is_asked_to_end(const struct serving *v)
{
	struct signalfd_siginfo si;

	return read(v->signals, &si, sizeof(si)) == (ssize_t)sizeof(si);
}

static int
door_step(struct relay_server *s, struct ats_err *err)
{
	int rc = relay_door_step(s, err);

	if (rc != -ATS_E_EOF)
		return rc;
	(void)ctl_fail(0, "relay: brain was lost; waiting for the next");
	block_signals(false);
	rc = relay_connect(s, err);
	block_signals(true);
	return rc;
}

/* Directory work is bounded in time by the end of the process. */
static int
dir_step(struct serving *v, struct ats_err *err)
{
	struct relay_server *s = &v->s;
	int rc;

	(void)alarm(HUNG_S);
	rc = relay_requests(s);
	relay_deadlines(s);
	if (ats_clock_ms() >= v->tick_ms) {
		relay_tick(s);
		v->tick_ms = ats_clock_ms() + TICK_MS;
		if (relay_dir_is_gone(&s->dir))
			rc = ats_err_set(err, ATS_E_NOENT, "the directory was removed");
	}
	(void)alarm(0);
	return rc == -ATS_E_NOMEM ? ats_err_set(err, ATS_E_NOMEM, "out of memory") : rc;
}

static int
serve(struct serving *v, struct ats_err *err)
{
	int rc = 0;

	while (rc == 0 && !is_asked_to_end(v)) {
		rc = dir_step(v, err);
		if (rc == 0)
			rc = door_step(&v->s, err);
		if (rc == 0)
			wait_for_work(v);
	}
	return rc;
}

/* The tools that there are, before anybody is told that we are ready. 1: a signal came. */
static int
await_tools(struct serving *v, struct ats_err *err)
{
	struct relay_server *s = &v->s;
	uint64_t end = ats_clock_ms() + LIST_MS, now;
	int rc = relay_door_step(s, err);

	while (rc == 0 && !s->listed) {
		struct pollfd p[] = { { .fd = v->signals, .events = POLLIN },
			{ .fd = s->session.door.fd,
			    .events = (short)(POLLIN | (s->out.len > 0 ? POLLOUT : 0)) } };

		now = ats_clock_ms();
		if (now >= end || s->list_rpc == 0)
			return ats_err_set(err, ATS_E_TIMEOUT,
			    "brain does not say which tools there "
			    "are");
		(void)poll(p, 2, (int)(end - now));
		if (is_asked_to_end(v))
			return 1;
		rc = relay_door_step(s, err);
	}
	return rc;
}

/* Sweep and specs. */
static int
get_ready(struct relay_server *s, struct ats_err *err)
{
	int rc;

	(void)alarm(HUNG_S * 4);
	rc = relay_dir_sweep(&s->dir, err);
	if (rc == 0)
		rc = relay_write_specs(s, err);
	(void)alarm(0);
	if (rc == 0 && s->tools.n == 0)
		(void)ctl_fail(0, "relay: no gateway has a tool, so %s is not there; see atsctl "
		    "gateway ls", s->specs_name);
	return rc;
}

static int
run(struct serving *v, const char *dir, const char *specs, uid_t owner, struct ats_err *err)
{
	struct relay_server *s = &v->s;
	char key[64];
	int rc = relay_ids_init(&s->ids);

	if (rc < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	rc = key_of(dir, key, sizeof(key), err);
	s->ask.key = key;
	if (rc == 0)
		rc = relay_dir_open(&s->dir, dir, owner, err);
	if (rc == 0)
		rc = open_specs(s, specs, err);
	if (rc == 0)
		rc = relay_connect(s, err);
	if (rc < 0)
		return rc;
	block_signals(true);
	s->c->no_start = true;		/* nothing can be started from here on */
	v->signals = open_signals();
	if (v->signals < 0)
		return ats_err_sys(err, "signalfd");
	rc = relay_confine(s, err);
	if (rc == 0)
		rc = await_tools(v, err);
	if (rc == 0)
		rc = get_ready(s, err);
	if (rc != 0)
		return rc;
	(void)puts("READY");
	(void)fflush(stdout);
	s->tokens = RELAY_RATE;
	s->tokens_ms = v->tick_ms = ats_clock_ms();
	rc = serve(v, err);
	(void)alarm(HUNG_S);
	relay_finish(s);
	relay_remove_specs(s);
	(void)alarm(0);
	return rc;
}

static void
done(struct serving *v)
{
	struct relay_server *s = &v->s;

	session_done(&s->session);
	relay_dir_close(&s->dir);
	ats_fd_close(&s->specs_dir);
	ats_fd_close(&v->signals);
	ats_specs_done(&s->tools);
	relay_ids_done(&s->ids);
	for (size_t i = 0; i < RELAY_CALLS; i++) {
		ats_buf_done(&s->calls[i].params);
		ats_buf_done(&s->calls[i].answer);
	}
	ats_buf_done(&s->out);
}

static int
parse_uid(const char *text, uid_t *ret)
{
	char *end;
	unsigned long n;

	if (text == NULL)
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || text[0] == '+' ||
	    n >= (uid_t)-1)
		return -ATS_E_INVAL;
	*ret = (uid_t)n;
	return 0;
}

int
cmd_relay(struct ctl *c, int argc, char **argv)
{
	static struct serving v;
	const char *specs = NULL, *owner = NULL;
	const struct ctl_opt opts[] = {
		{ "session", 's', CTL_OPT_STR, &v.s.ask.session },
		{ "workspace", 'w', CTL_OPT_STR, &v.s.ask.workspace },
		{ "specs", 0, CTL_OPT_STR, &specs },
		{ "owner", 0, CTL_OPT_STR, &owner },
	};
	struct ats_err err = { 0 };
	uid_t uid = (uid_t)-1;
	int code, rc;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	if (parse_uid(owner, &uid) < 0)
		return ctl_fail_code(
		    CTL_NOT_RUN, "usage", "relay: --owner %s: not a user id", owner);
	v.s.c = c;
	v.s.session.door.fd = v.s.dir.fd = v.s.dir.watch = v.s.specs_dir = v.signals = -1;
	rc = run(&v, argv[1], specs, uid, &err);
	done(&v);
	return rc < 0 ? ctl_fail_err(c, CTL_NOT_RUN, &err) : CTL_OK;
}
