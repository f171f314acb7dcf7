/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of scripts. Runs in the engine: the vault, which starts them through the spawner, sees
 * no byte of what they read and print. Input: a program of the user's that may hang, die or
 * print anything. Its end is the vault's word; what it left running may hold its stdout open,
 * so that the end of that is not waited for. */
#include "brain/engine/script.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/secret.h"

struct script {
	TAILQ_ENTRY(script) link;
	struct engine *e;
	uint64_t number, ms;
	enum ats_script_step step;
	int fd;
	struct event *readable, *deadline;
	struct ats_buf in, out;
	script_done *done;
	void *ctx;
};
struct scripts {
	TAILQ_HEAD(, script) all;
	uint64_t last;
};

struct scripts *
scripts_new(void)
{
	struct scripts *t = calloc(1, sizeof(*t));

	if (t != NULL)
		TAILQ_INIT(&t->all);
	return t;
}

static void
script_free(struct script *s)
{
	TAILQ_REMOVE(&s->e->scripts->all, s, link);
	if (s->readable != NULL)
		event_free(s->readable);
	if (s->deadline != NULL)
		event_free(s->deadline);
	ats_fd_close(&s->fd);
	if (s->in.len > 0)		/* it may hold a key */
		ats_secret_wipe(s->in.data, s->in.len);
	ats_buf_done(&s->in);
	ats_buf_done(&s->out);
	free(s);
}

void
scripts_free(struct scripts *t)
{
	struct script *s;

	if (t == NULL)
		return;
	while ((s = TAILQ_FIRST(&t->all)) != NULL)
		script_free(s);
	free(t);
}

void
script_drop(struct script *s)
{
	if (s == NULL)
		return;
	vault_link_kill_script(s->e, s->number);
	script_free(s);
}

void
script_let_go(struct script *s, script_done *done, void *ctx)
{
	vault_link_kill_script(s->e, s->number);
	s->done = done;
	s->ctx = ctx;
}

static void
finish(struct script *s, int code, const char *why, const char *line, size_t n)
{
	script_done *done = s->done;
	void *ctx = s->ctx;
	struct ats_buf out = s->out;	/* outlives it: line is in it */

	s->out = (struct ats_buf){ 0 };
	script_free(s);
	done(ctx, code, why, (struct ats_slice){ line, n });
	ats_buf_done(&out);
}

/* It goes on, though nobody wants to know any more. */
static void
give_up(struct script *s, int code, const char *why)
{
	vault_link_kill_script(s->e, s->number);
	finish(s, code, why, "", 0);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct script *s = arg;
	char why[80];

	(void)fd;
	(void)what;
	(void)snprintf(why, sizeof(why), "it had not ended after %llu s and was killed",
	    (unsigned long long)(s->ms / 1000));
	give_up(s, ATS_E_NO_SANDBOX, why);
}

/* 1: all that there is now; 0: more than it may be. */
static int
drain(struct script *s)
{
	char part[4096];
	ssize_t n;

	while ((n = ats_fd_read(s->fd, part, sizeof(part))) > 0)
		if (ats_buf_add(&s->out, part, (size_t)n) < 0)
			return 0;
	if (n == 0)		/* no more comes; its end is still awaited */
		(void)event_del(s->readable);
	return 1;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct script *s = arg;

	(void)fd;
	(void)what;
	if (!drain(s))
		give_up(s, ATS_E_PROTO, "it printed more than 64 KiB");
}

struct script *
script_run(struct engine *e, const char *box, enum ats_script_step step, struct ats_slice input,
    uint64_t ms, script_done *done, void *ctx)
{
	struct timeval tv = ats_timeval_ms(ms);
	struct script *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	*s = (struct script){ .e = e, .number = ++e->scripts->last, .ms = ms, .step = step,
		.fd = -1, .done = done, .ctx = ctx };
	TAILQ_INSERT_TAIL(&e->scripts->all, s, link);
	ats_buf_init(&s->in, input.n + 1);
	ats_buf_init(&s->out, SCRIPT_OUT_MAX);
	s->deadline = event_new(e->base, -1, 0, on_deadline, s);
	if (s->deadline == NULL || event_add(s->deadline, &tv) < 0 ||
	    ats_buf_add(&s->in, input.p, input.n) < 0 || ats_buf_add_char(&s->in, '\n') < 0) {
		script_free(s);
		return NULL;
	}
	vault_link_run_script(e, box, s->number, step);
	return s;
}

static struct script *
find(const struct engine *e, uint64_t number)
{
	struct script *s;

	TAILQ_FOREACH(s, &e->scripts->all, link)
		if (s->number == number)
			return s;
	return NULL;
}

void
scripts_on_started(struct engine *e, uint64_t number, int fd, int code, const char *text)
{
	struct script *s = find(e, number);

	if (s == NULL || s->fd >= 0) {
		ats_fd_close(&fd);
		return;
	}
	if (fd < 0) {
		finish(s, code != 0 ? code : ATS_E_PROTO, text, "", 0);
		return;
	}
	s->fd = fd;
	s->readable = event_new(e->base, fd, EV_READ | EV_PERSIST, on_readable, s);
	if (s->readable == NULL || ats_fd_nonblock(fd, true) < 0 ||
	    event_add(s->readable, NULL) < 0) {
		give_up(s, ATS_E_NOMEM, "out of memory");
		return;
	}
	/* It may have closed its end unread: then what it prints counts. */
	(void)!ats_fd_send(fd, s->in.data, s->in.len, NULL, 0);
	(void)shutdown(fd, SHUT_WR);
}

/* One line, and nothing after it. */
static int
judge(struct script *s, size_t *ret_n, struct ats_err *err)
{
	const char *end = memchr(s->out.data, '\n', s->out.len);
	size_t n = end == NULL ? 0 : (size_t)(end - s->out.data);
	struct ats_err why = { 0 };

	*ret_n = 0;
	if (s->step == SCRIPT_DESTROY)
		return 0;
	if (s->out.len == 0)
		return ats_err_set(err, ATS_E_PROTO, "it printed nothing");
	if (end == NULL || n + 1 != s->out.len)
		return ats_err_set(err, ATS_E_PROTO, "it did not print one line, but %zu bytes "
		    "that are %s", s->out.len, end == NULL ? "no whole line" : "more");
	if (ats_json_scan(s->out.data, n, &why) < 0)
		return ats_err_set(err, ATS_E_PROTO, "what it printed is not strict JSON: %s",
		    why.text);
	*ret_n = n;
	return ats_json_type((struct ats_slice){ s->out.data, n }) == ATS_JSON_OBJECT ? 0 :
	    ats_err_set(err, ATS_E_PROTO, "what it printed is no JSON object");
}

void
scripts_on_ended(struct engine *e, uint64_t number, uint64_t exit_code, uint64_t sig)
{
	struct script *s = find(e, number);
	struct ats_err err = { 0 };
	size_t n = 0;

	if (s == NULL || s->fd < 0)
		return;
	if (sig != 0)
		(void)ats_err_set(&err, ATS_E_NO_SANDBOX, "it was ended by signal %llu",
		    (unsigned long long)sig);
	else if (exit_code != 0)
		(void)ats_err_set(&err, ATS_E_NO_SANDBOX, "it ended with exit status %llu",
		    (unsigned long long)exit_code);
	else if (!drain(s))
		(void)ats_err_set(&err, ATS_E_PROTO, "it printed more than 64 KiB");
	else
		(void)!judge(s, &n, &err);
	finish(s, err.code, err.text, s->out.data, n);
}
