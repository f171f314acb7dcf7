/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that go with calls of a gateway's tools. A path is a sandbox's, and so is what is at it:
 * nothing of the host opens it. A Read of the calling session, with all that is decided about one,
 * gives its bytes into a pipe, and from there they go into a file of memory for the vault. Runs in
 * the engine. */
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "brain/engine/call_ask.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway_private.h"
#include "brain/engine/sessions.h"
#include "common/fd.h"
#include "common/json.h"

#define STEP (64u << 10)
#define WHY_MAX 512u
#define FULL "the calls under way have too many files, or too large ones; call again when some " \
	"of them have ended"

struct gateway_files {
	TAILQ_ENTRY(gateway_files) link;
	struct call *c;			/* of the gateway's tool */
	struct asker asker;		/* of the Read that runs */
	size_t at;			/* of the tool's files: being read, or the next */
	size_t n;
	int fds[ATS_GATEWAY_FILES_MAX];	/* of memory; the last one is being written */
	uint64_t bytes;			/* of all */
	int pipe;			/* what Read gives comes here, or -1 */
	struct event *readable;
	struct event *next;		/* the Read has ended: not within its own end */
	int code;			/* why it cannot be; 0 */
	char why[WHY_MAX];
};

static void
fail(struct gateway_files *f, int code, const char *why, size_t n)
{
	struct ats_buf shown ATS_CLEANUP_BUF = { 0 };

	if (f->code != 0)
		return;
	ats_buf_init(&shown, WHY_MAX);
	(void)!ats_utf8_repair(&shown, why, n < WHY_MAX / 2 ? n : WHY_MAX / 2);
	f->code = code != 0 ? code : ATS_E_SYS;
	(void)snprintf(f->why, sizeof(f->why), "%s", shown.data);
	event_active(f->next, EV_TIMEOUT, 0);
}

static void
fail_text(struct gateway_files *f, int code, const char *why)
{
	fail(f, code, why, strlen(why));
}

/* Whether all that are under way, and those of its session, leave room for n bytes more of it. */
static bool
has_room(const struct gateway_files *f, uint64_t n)
{
	const struct gateway_files *o;
	uint64_t all = n, own = n;
	size_t calls = 0, own_calls = 0;

	TAILQ_FOREACH(o, &f->c->e->gateways->reading, link) {
		bool same = o->c->session == f->c->session;

		all += o->bytes;
		calls++;
		own += same ? o->bytes : 0;
		own_calls += same;
	}
	return calls <= GATEWAY_FILES_CALLS && own_calls <= GATEWAY_FILES_CALLS / 4 &&
	    all <= GATEWAY_FILES_BYTES && own <= GATEWAY_FILES_BYTES / 4;
}

/* ---- the bytes ----------------------------------------------------------------------- */

/* What the pipe has now. */
static void
drain(struct gateway_files *f)
{
	char buf[STEP], why[120];
	ssize_t n = 0;

	while (f->code == 0 && f->pipe >= 0 && (n = ats_fd_read(f->pipe, buf, sizeof(buf))) > 0) {
		if (!has_room(f, (uint64_t)n)) {
			fail_text(f, ATS_E_FULL, FULL);
			break;
		}
		f->bytes += (uint64_t)n;
		if (f->bytes > f->c->e->set.file_bytes) {
			(void)snprintf(why, sizeof(why), "the files of a call may have %llu bytes "
			    "together (limits.file_bytes)",
			    (unsigned long long)f->c->e->set.file_bytes);
			fail_text(f, ATS_E_TOOBIG, why);
		} else if (ats_fd_write_all(f->fds[f->n - 1], buf, (size_t)n) < 0) {
			fail_text(f, ATS_E_NOMEM, ats_err_text(ATS_E_NOMEM));
		}
	}
	if (n == 0 || f->code != 0)	/* its end; what is asked for still is not wanted */
		(void)event_del(f->readable);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	drain(arg);
}

static void
close_pipe(struct gateway_files *f)
{
	if (f->readable != NULL)
		event_free(f->readable);
	f->readable = NULL;
	ats_fd_close(&f->pipe);
}

/* ---- one Read ------------------------------------------------------------------------- */

/* All that it gave is in the pipe. */
static void
on_answer(struct asker *a, const struct call_answer *answer)
{
	const struct outcome *o = answer->outcome;
	struct gateway_files *f = a->owner;

	drain(f);
	if (o->is_error || o->kind != OUTCOME_DONE)
		fail(f, o->code, o->payload.p != NULL ? o->payload.p : "", o->payload.n);
	else
		event_active(f->next, EV_TIMEOUT, 0);
}

static void
on_progress(struct asker *a, struct waiter *w, const char *message)
{
	(void)a;
	(void)w;
	(void)message;
}

static int
open_pipe(struct gateway_files *f, struct exec **ret, struct ats_err *err)
{
	struct exec_ask want = { .fds = { -1, -1, -1 } };
	int fds[2], rc;

	f->fds[f->n] = memfd_create("file", MFD_CLOEXEC);
	if (f->fds[f->n] < 0)
		return ats_err_sys(err, "memfd_create");
	f->n++;
	if (ats_fd_pipe(fds, O_NONBLOCK) < 0)
		return ats_err_sys(err, "pipe");
	f->pipe = fds[0];
	want.fds[EXEC_STDOUT] = fds[1];
	rc = exec_new(f->c->e, &want, ret, err);
	if (rc < 0) {
		(void)close(fds[1]);
		return rc;
	}
	f->readable = event_new(f->c->e->base, f->pipe, EV_READ | EV_PERSIST, on_readable, f);
	if (f->readable == NULL || event_add(f->readable, NULL) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	return 0;
}

static int
begin_read(struct gateway_files *f, const struct ats_json_val *path, struct ats_err *err)
{
	struct ats_buf input ATS_CLEANUP_BUF = { 0 };
	struct call *c = f->c;
	struct call_ask ask = { .session = c->session, .tool = &ats_tool_rows[ATS_TOOL_read],
		.asker = &f->asker, .form = CALL_FORM_ATS, .rpc_id = { "1", 1 } };
	struct ats_json_w w;
	int rc;

	if (path->type != ATS_JSON_STRING)
		return ats_err_set(err, ATS_E_FIELD, "it must be the path of a file");
	ats_buf_init(&input, path->raw.n + 64);
	ats_json_w_init(&w, &input);
	ats_json_w_object(&w, NULL);
	ats_json_w_raw(&w, "file_path", path->raw.p, path->raw.n);
	ats_json_w_end(&w);
	if (w.rc < 0)
		return ats_err_set(err, -w.rc, "%s", ats_err_text(w.rc));
	ask.timeout_ms = ask.tool->timeout_ms;
	ask.input = (struct ats_slice){ input.data, input.len };
	rc = open_pipe(f, &ask.exec, err);
	if (rc == 0)
		rc = call_ask(c->e, &ask, err);
	if (rc < 0)
		exec_free(ask.exec);
	return rc;
}

/* ---- one after another ------------------------------------------------------------------ */

/* 1: one more is being read. 0: there is none. */
static int
next_file(struct gateway_files *f, struct ats_err *err)
{
	const struct gateway_tool *t = f->c->gateway;
	struct ats_slice args = { f->c->input, f->c->input_len };
	struct ats_json_val path;
	int rc;

	close_pipe(f);
	for (; f->at < t->nfiles; f->at++) {
		if (!ats_json_get(args, t->files[f->at], &path))
			continue;
		rc = begin_read(f, &path, err);
		return rc < 0 ? rc : 1;
	}
	return 0;
}

static void
end_call(struct gateway_files *f, int code, const char *why)
{
	struct call *c = f->c;

	call_fail(c, OUTCOME_NOT_STARTED, code, "not started: the file of its argument %.64s: %s",
	    c->gateway->files[f->at], why);
}

static void
on_next(evutil_socket_t fd, short what, void *arg)
{
	struct gateway_files *f = arg;
	struct ats_err err = { 0 };
	int rc;

	(void)fd;
	(void)what;
	if (f->code != 0) {
		end_call(f, f->code, f->why);
		return;
	}
	f->at++;
	rc = next_file(f, &err);
	if (rc < 0)
		end_call(f, err.code, err.text);
	else if (rc == 0)
		gateway_go_on(f->c);
}

bool
gateway_files_read(struct call *c)
{
	struct gateway_files *f;
	struct ats_err err = { 0 };
	int rc;

	if (c->gateway->nfiles == 0)
		return false;
	f = calloc(1, sizeof(*f));
	if (f == NULL) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_NOMEM, "not started: %s",
		    ats_err_text(ATS_E_NOMEM));
		return true;
	}
	f->c = c;
	f->pipe = -1;
	f->asker = (struct asker){ .answer = on_answer, .progress = on_progress, .owner = f };
	TAILQ_INIT(&f->asker.waiters);
	TAILQ_INSERT_TAIL(&c->e->gateways->reading, f, link);
	c->files = f;
	c->deadline_us = 0;		/* that of the Read counts */
	f->next = event_new(c->e->base, -1, 0, on_next, f);
	if (f->next == NULL)
		rc = ats_err_set(&err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	else
		rc = has_room(f, 0) ? next_file(f, &err) : ats_err_set(&err, ATS_E_FULL, FULL);
	if (rc < 0)
		end_call(f, err.code, err.text);
	return rc != 0;
}

size_t
gateway_files(const struct call *c, const int **ret)
{
	*ret = c->files != NULL ? c->files->fds : NULL;
	return c->files != NULL ? c->files->n : 0;
}

void
gateway_files_done(struct call *c)
{
	struct gateway_files *f = c->files;

	if (f == NULL)
		return;
	TAILQ_REMOVE(&c->e->gateways->reading, f, link);
	c->files = NULL;
	call_asker_gone(&f->asker);
	close_pipe(f);
	if (f->next != NULL)
		event_free(f->next);
	while (f->n > 0)
		ats_fd_close(&f->fds[--f->n]);
	free(f);
}
