/* SPDX-License-Identifier: Apache-2.0
 *
 * An exec from a client's order to its result. Runs in the engine; pipes and argv are a client's,
 * the result a sandbox's. Over a lost link the output goes on from what came, and the input from
 * what hands says that it got. */
#include "brain/engine/exec_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/exec_stdin.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "common/chan.h"
#include "common/fd.h"

const char *const exec_stream_names[] = { "stdin", "stdout", "stderr" };

enum exec_stream_id
exec_stream_of(const char *name)
{
	int i;

	for (i = 0; i < EXEC_STREAMS; i++)
		if (strcmp(exec_stream_names[i], name) == 0)
			return (enum exec_stream_id)i;
	return EXEC_STREAMS;
}

/* Our own open file description: the client cannot make it block again. Where the pipe
 * cannot be opened by name the shared one must do. */
static int
own_description(int fd, int mode, bool *ret_shared)
{
	char path[40];
	int own;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	*ret_shared = own < 0;
	if (own >= 0)
		return own;
	return ats_fd_nonblock(fd, true) < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int
check_fd(int fd, enum exec_stream_id id, struct ats_err *err)
{
	int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) ||
	    (mode != O_RDWR && mode != (id == EXEC_STDIN ? O_RDONLY : O_WRONLY)))
		return ats_err_set(err, ATS_E_FIELD, "fds: %s is not the right end of a pipe",
		    exec_stream_names[id]);
	return 0;
}

static int
copy_argv(struct exec *x, const struct exec_ask *ask)
{
	size_t i;

	x->argv = calloc(ask->nargv + 1, sizeof(*x->argv));
	if (x->argv == NULL)
		return -ATS_E_NOMEM;
	for (i = 0; i < ask->nargv; i++) {
		x->argv[i] = strdup(ask->argv[i]);
		if (x->argv[i] == NULL)
			return -ATS_E_NOMEM;
		x->nargv = i + 1;
	}
	return 0;
}

static int
open_stream(struct exec *x, enum exec_stream_id id, int fd, struct ats_err *err)
{
	bool shared;
	int own = own_description(fd, id == EXEC_STDIN ? O_RDONLY : O_WRONLY, &shared);

	if (own < 0)
		return ats_err_set(err, ATS_E_SYS, "fds: %s", strerror(errno));
	if (id == EXEC_STDIN) {
		x->in = exec_stdin_new(own, shared);
		return x->in == NULL ? ats_err_set(err, ATS_E_NOMEM, "exec") : 0;
	}
	x->s[id].fd = own;
	x->s[id].shared = shared;
	return 0;
}

int
exec_new(struct engine *e, const struct exec_ask *ask, struct exec **ret, struct ats_err *err)
{
	struct exec *x = calloc(1, sizeof(*x));
	int i, rc = 0;

	if (x == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "exec");
	x->e = e;
	x->tty = ask->tty;
	x->rows = ask->rows;
	x->cols = ask->cols;
	memcpy(x->term, ask->term, sizeof(x->term));
	for (i = 0; i < EXEC_STREAMS; i++) {
		x->s[i].x = x;
		x->s[i].id = (enum exec_stream_id)i;
		x->s[i].fd = -1;
		x->s[i].granted = e->set.exec_window;
		ats_buf_init(&x->s[i].held, e->set.exec_window + ATS_CHAN_CHUNK);
	}
	for (i = 0; rc == 0 && i < EXEC_STREAMS; i++)
		if (ask->fds[i] >= 0)
			rc = check_fd(ask->fds[i], (enum exec_stream_id)i, err);
	if (rc == 0 && copy_argv(x, ask) < 0)
		rc = ats_err_set(err, ATS_E_NOMEM, "exec");
	for (i = 0; rc == 0 && i < EXEC_STREAMS; i++)
		if (ask->fds[i] >= 0)
			rc = open_stream(x, (enum exec_stream_id)i, ask->fds[i], err);
	if (rc < 0) {
		exec_free(x);
		return rc;
	}
	for (i = 0; i < EXEC_STREAMS; i++)
		if (ask->fds[i] >= 0)
			(void)close(ask->fds[i]);
	*ret = x;
	return 0;
}

int
exec_set_command(struct exec *x, const char *command)
{
	const char *const words[] = { "sh", "-c", command };
	const struct exec_ask ask = { .argv = words, .nargv = ATS_ARRAY_LEN(words) };
	char **old = x->argv;
	size_t n = x->nargv;
	int rc;

	x->nargv = 0;
	rc = copy_argv(x, &ask);
	for (size_t i = 0; i < n; i++)
		free(old[i]);
	free(old);
	return rc;
}

/* The link reads header and payload apart only while somebody has a use for it. */
static void
count(struct exec *x, bool on)
{
	struct sandbox *box;

	if (x->counted == on)
		return;
	x->counted = on;
	box = x->call->box;
	box->execs += on ? 1 : (size_t)-1;
	if (box->chan != NULL)
		ats_chan_expect_sinks(box->chan, box->execs > 0);
}

void
exec_free(struct exec *x)
{
	size_t i;

	if (x == NULL)
		return;
	count(x, false);
	exec_stdin_free(x->in);
	for (i = 0; i < EXEC_STREAMS; i++)
		exec_out_close(&x->s[i]);
	for (i = 0; i < x->nargv; i++)
		free(x->argv[i]);
	free(x->argv);
	free(x);
}

void
exec_fill(const struct exec *x, struct ats_msg_CALL_EXEC *m)
{
	m->argv = (const char *const *)x->argv;
	m->n_argv = x->nargv;
	m->window = x->e->set.exec_window;
	m->has_window = true;
	m->want_stdin = m->has_want_stdin = x->in != NULL;
	m->tty = m->has_tty = x->tty;
	m->rows = x->rows;
	m->cols = x->cols;
	m->has_rows = m->has_cols = x->tty;
}

uint64_t
exec_window_size(const struct exec *x)
{
	return x->e->set.exec_window;
}

const char *
exec_term(const struct exec *x)
{
	return x->term;
}

/* ---- its life -------------------------------------------------------------------- */

/* A file of which a part was dropped was not read. A command has run all the same. */
static void
finish(struct exec *x)
{
	struct call *c = x->call;

	x->ending = false;	/* once */
	if (x->gap && c->tool != NULL && !x->outcome.is_error)
		call_fail(c, OUTCOME_DONE, ATS_E_LOST,
		    "the sandbox lost a part of the data; they are not whole; read it again");
	else if (x->cut && c->tool != NULL && !x->outcome.is_error)
		call_fail(c, OUTCOME_DONE, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "%s: the data were not taken to their end; they are not whole",
		    c->timed_out ? "timed out" : "cancelled");
	else if (!x->e->hooks_on || !hooks_after(c, &x->outcome))
		call_finish(c, &x->outcome);
}

void
exec_finish_drained(struct exec *x, bool force)
{
	bool held = x->s[EXEC_STDOUT].held.len > 0 || x->s[EXEC_STDERR].held.len > 0;

	if (!x->ending || (held && !force))
		return;
	x->cut |= held;
	finish(x);
}

int
exec_start(struct exec *x, struct call *c, struct ats_err *err)
{
	int i, rc;

	x->call = c;
	x->linked = true;
	count(x, true);
	for (i = EXEC_STDOUT; i < EXEC_STREAMS; i++) {
		rc = exec_out_start(&x->s[i], err);
		if (rc < 0)
			return rc;
	}
	return x->in == NULL ? 0 : exec_stdin_start(x->in, c, err);
}

int
exec_window(struct exec *x, uint64_t bytes, struct ats_err *err)
{
	return x->in == NULL ? 0 : exec_stdin_window(x->in, bytes, err);
}

/* ---- over a lost link ------------------------------------------------------------- */

void
exec_unlinked(struct exec *x)
{
	x->linked = x->asked = false;
	count(x, false);
	if (x->in != NULL)
		exec_stdin_unlinked(x->in);
}

void
exec_resume(struct exec *x)
{
	const struct exec_out *out = &x->s[EXEC_STDOUT], *err = &x->s[EXEC_STDERR];
	struct ats_msg_RESUME m = {
		.out = out->offset, .has_out = true,
		.err = err->offset, .has_err = true,
		.out_window = out->granted - out->offset, .has_out_window = true,
		.err_window = err->granted - err->offset, .has_err_window = true,
		.in = x->in == NULL ? 0 : exec_stdin_sent(x->in), .has_in = x->in != NULL,
	};

	count(x, true);
	x->linked =
	    link_send(x->call->box, ATS_FRAME_RESUME, x->call->id, &m, NULL) == 0;
	x->asked = m.has_in;
	exec_out_resumed(x);
}

int
exec_resumed(struct exec *x, uint64_t in, uint64_t window, struct ats_err *err)
{
	if (!x->asked)
		return ats_err_set(err, ATS_E_PROTO, "resumed: nobody asked for it");
	x->asked = false;
	return x->in == NULL ? 0 : exec_stdin_resumed(x->in, in, window, err);
}

/* ---- the end ---------------------------------------------------------------------- */

static void
stop_feed(struct exec *x)
{
	count(x, false);
	if (x->in != NULL)
		exec_stdin_stop(x->in);
}

void
exec_end(struct exec *x, const struct outcome *o)
{
	struct outcome *mine = &x->outcome;

	*mine = *o;
	mine->payload.n = o->payload.n < EXEC_TEXT_MAX ? o->payload.n : EXEC_TEXT_MAX;
	if (mine->payload.n > 0)
		memcpy(x->text, o->payload.p, mine->payload.n);
	mine->payload.p = x->text;
	mine->blocks.p = mine->output.p = NULL;
	if (o->exit_kind != NULL) {
		(void)snprintf(x->exit_kind, sizeof(x->exit_kind), "%s", o->exit_kind);
		mine->exit_kind = x->exit_kind;
	}
	x->ending = true;
	stop_feed(x);
	/* Nobody needs the rest of a file that is not whole. */
	exec_finish_drained(x, x->call->tool != NULL && o->is_error);
}

void
exec_drain_stop(struct exec *x)
{
	exec_finish_drained(x, true);
}

void
exec_let_go(struct exec *x)
{
	size_t i;

	if (x == NULL)
		return;
	stop_feed(x);
	exec_stdin_free(x->in);
	x->in = NULL;
	for (i = 0; i < EXEC_STREAMS; i++)
		exec_out_close(&x->s[i]);
}

void
exec_lost(struct exec *x)
{
	x->linked = false;
	stop_feed(x);
}
