/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of the configuration. Runs in the engine, which cannot start a program: the vault is asked
 * for the hook by its index, and the ends of its pipes go along. What they print is the user's own
 * programs', and bounded all the same. */
#include "brain/engine/hooks.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/map.h"

#define READ_A_TURN (64u << 10)
#define TURNS_AT_END 64			/* of what is still in a pipe when it has ended */
#define KEEPER_TIMED_OUT 124

struct hook_host {
	TAILQ_ENTRY(hook_host) link;	/* while it waits */
	struct hook_run *run;
	uint64_t number;		/* 0: not asked for yet */
	bool waits, over;
	int fd[2];			/* stdout and stderr, or -1 */
	struct event *readable[2], *timer;
	struct ats_buf text[2];
	uint64_t start_us;
	struct hook_one one;
};

static const size_t text_max[2] = { ATS_HOOK_STDOUT_MAX, ATS_HOOK_STDERR_MAX };

static void
stop_reading(struct hook_host *o, unsigned which)
{
	if (o->readable[which] != NULL)
		event_free(o->readable[which]);
	o->readable[which] = NULL;
	ats_fd_close(&o->fd[which]);
}

/* 1: there may be more; 0: not now; -1: it is at its end. */
static int
read_some(struct hook_host *o, unsigned which)
{
	static char block[READ_A_TURN];
	ssize_t n = ats_fd_read(o->fd[which], block, sizeof(block));
	size_t room = text_max[which] - o->text[which].len;

	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	if (n == 0)
		return -1;
	if ((size_t)n > room || ats_buf_add(&o->text[which], block, (size_t)n) < 0) {
		o->one.cut = o->one.cut || which == 0;
		(void)!ats_buf_add(&o->text[which], block, room < (size_t)n ? room : 0);
	}
	return 1;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct hook_host *o = arg;
	unsigned which = o->fd[1] == (int)fd;

	(void)what;
	if (read_some(o, which) < 0)
		stop_reading(o, which);
}

/* What it has written before its end is there; who still holds the pipe is not waited for. */
static void
read_rest(struct hook_host *o)
{
	for (unsigned which = 0; which < 2; which++) {
		for (unsigned i = 0; o->fd[which] >= 0 && i < TURNS_AT_END; i++)
			if (read_some(o, which) <= 0)
				break;
		stop_reading(o, which);
	}
}

/* ---- the end ------------------------------------------------------------------------- */

static void
judge(struct hook_host *o)
{
	struct hook_one *one = &o->one;

	one->ms = o->start_us == 0 ? 0 : (ats_clock_us() - o->start_us) / 1000;
	one->out = (struct ats_slice){ o->text[0].data, o->text[0].len };
	one->err = (struct ats_slice){ o->text[1].data, o->text[1].len };
}

static void
end_run(struct hook_run *r)
{
	struct hook_one ones[ATS_HOOKS_MAX] = { 0 };
	struct hook_host *hosts = r->hosts;
	size_t n = r->nhosts;

	for (size_t i = 0; i < n; i++)
		ones[i] = hosts[i].one;
	r->hosts = NULL;		/* what ones point to outlives the run */
	hook_run_end(r, ones, n);
	for (size_t i = 0; i < n; i++) {
		ats_buf_done(&hosts[i].text[0]);
		ats_buf_done(&hosts[i].text[1]);
	}
	free(hosts);
}

static void
let_go(struct hook_host *o)
{
	struct hooks *h = o->run->h;

	if (o->waits)
		TAILQ_REMOVE(&h->waiting, o, link);
	o->waits = false;
	if (o->number != 0 && ats_map_del(h->hosts, o->number) != NULL)
		h->running--;
	stop_reading(o, 0);
	stop_reading(o, 1);
	if (o->timer != NULL)
		event_free(o->timer);
	o->timer = NULL;
}

/* The run may be gone after it. */
static void
over(struct hook_host *o, enum hook_end end, const char *why)
{
	struct hook_run *r = o->run;
	struct engine *e = r->h->e;

	o->one.end = end;
	(void)snprintf(o->one.why, sizeof(o->one.why), "%s", why);
	o->over = true;
	judge(o);
	let_go(o);
	if (--r->pending == 0)
		end_run(r);
	(void)hooks_flush(e);
}

/* Its own code may be the same number. */
static bool
had_its_time(const struct hook_host *o)
{
	uint64_t ms = (ats_clock_us() - o->start_us) / 1000;

	return ms + 100 >= o->run->h->conf[o->one.index].timeout_ms;
}

void
hooks_on_ended(struct engine *e, uint64_t number, uint64_t code, uint64_t exit, const char *text)
{
	struct hook_host *o = ats_map_get(e->hooks->hosts, number);
	char why[HOOK_WHY_MAX];

	if (o == NULL)
		return;		/* nobody waits for it any more */
	read_rest(o);
	o->one.code = (unsigned)(exit & 0xff);
	if (code != 0) {
		over(o, HOOK_NOT_RUN, text);
	} else if (exit == 0) {
		over(o, HOOK_RAN, "");
	} else if (exit == 2) {
		over(o, HOOK_BLOCKED, "");
	} else if (exit == KEEPER_TIMED_OUT && had_its_time(o)) {
		over(o, HOOK_TIMED_OUT, "its time was over");
	} else {
		hook_say_code(why, exit > 128, (unsigned)(exit > 128 ? exit - 128 : exit));
		over(o, HOOK_FAILED, why);
	}
}

/* The spawner's clock should have ended it. */
static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct hook_host *o = arg;

	(void)fd;
	(void)what;
	vault_link_kill_hook(o->run->h->e, o->number);
	over(o, HOOK_TIMED_OUT, "its time was over, and it did not end");
}

/* ---- the start ----------------------------------------------------------------------- */

static int
watch(struct hook_host *o, unsigned which)
{
	o->readable[which] = event_new(o->run->h->e->base, o->fd[which], EV_READ | EV_PERSIST,
	    on_readable, o);
	return o->readable[which] == NULL || event_add(o->readable[which], NULL) < 0 ?
	    -ATS_E_NOMEM : 0;
}

/* 0: asked for. -ATS_E_AGAIN: later. */
static int
try_start(struct hook_host *o)
{
	struct hook_run *r = o->run;
	struct hooks *h = r->h;
	uint64_t ms = h->conf[o->one.index].timeout_ms + HOOKS_LATE_MS;
	struct timeval late = ats_timeval_ms(ms);
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, rc = 0;
	/* A file: nobody waits for who reads it, or does not. */
	int in = ats_fd_memory("hook", r->input.data, r->input.len);

	if (in < 0 || ats_fd_pipe(out, 0) < 0 || ats_fd_pipe(err, 0) < 0 ||
	    ats_fd_nonblock(out[0], true) < 0 || ats_fd_nonblock(err[0], true) < 0)
		rc = -ATS_E_SYS;
	o->number = ++h->number;
	if (rc == 0)
		rc = ats_map_put(h->hosts, o->number, o);
	if (rc == 0) {
		rc = vault_link_run_hook(h->e, o->number, o->one.index, r->session,
		    (const int[3]){ in, out[1], err[1] });
		if (rc < 0)
			(void)ats_map_del(h->hosts, o->number);
	}
	ats_fd_close(&in);
	ats_fd_close(&out[1]);
	ats_fd_close(&err[1]);
	if (rc < 0) {
		ats_fd_close(&out[0]);
		ats_fd_close(&err[0]);
		o->number = 0;
		return rc;
	}
	h->running++;
	o->start_us = ats_clock_us();
	o->fd[0] = out[0];
	o->fd[1] = err[0];
	o->timer = event_new(h->e->base, -1, 0, on_late, o);
	rc = watch(o, 0) < 0 || watch(o, 1) < 0 || o->timer == NULL ||
	    event_add(o->timer, &late) < 0 ? -ATS_E_NOMEM : 0;
	if (rc < 0)
		vault_link_kill_hook(h->e, o->number);
	return rc;
}

bool
hooks_flush(struct engine *e)
{
	struct hooks *h = e->hooks;
	struct hook_host *o;
	int rc = 0;

	if (h->flushing)		/* the end of one below */
		return true;
	h->flushing = true;
	while ((o = TAILQ_FIRST(&h->waiting)) != NULL && h->running < ATS_HOOKS_AT_ONCE) {
		rc = try_start(o);
		if (rc == -ATS_E_AGAIN)
			break;
		TAILQ_REMOVE(&h->waiting, o, link);
		o->waits = false;
		if (rc < 0)
			over(o, HOOK_NOT_RUN, ats_err_text(rc));
	}
	h->flushing = false;
	if (rc == -ATS_E_AGAIN)
		vault_link_want_room(e);
	return rc != -ATS_E_AGAIN;
}

static void
on_start(evutil_socket_t fd, short what, void *arg)
{
	struct hook_run *r = arg;

	(void)fd;
	(void)what;
	(void)hooks_flush(r->h->e);	/* r may be gone */
}

int
hook_host_start(struct hook_run *r, struct ats_err *err)
{
	struct hooks *h = r->h;

	r->hosts = calloc(ATS_HOOKS_MAX, sizeof(*r->hosts));
	r->timer = event_new(h->e->base, -1, 0, on_start, r);
	if (r->hosts == NULL || r->timer == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	for (unsigned i = 0; i < h->n; i++) {
		const struct hook_conf *k = &h->conf[i];
		struct hook_host *o = &r->hosts[r->nhosts];

		if (k->event != r->event ||
		    (r->name[0] != '\0' && !ats_hook_matches(k->matcher, r->name)))
			continue;
		*o = (struct hook_host){ .run = r, .fd = { -1, -1 }, .waits = true,
			.one = { .index = i, .blocks = k->blocks } };
		ats_buf_init(&o->text[0], ATS_HOOK_STDOUT_MAX);
		ats_buf_init(&o->text[1], ATS_HOOK_STDERR_MAX);
		TAILQ_INSERT_TAIL(&h->waiting, o, link);
		r->nhosts++;
		r->pending++;
	}
	if (r->nhosts == 0)
		return ats_err_set(err, ATS_E_INVAL, "no hook is for this");
	/* Not from here: who asks has not finished with what it does. */
	event_active(r->timer, EV_TIMEOUT, 0);
	return 0;
}

void
hook_host_stop(struct hook_run *r)
{
	struct engine *e = r->h->e;

	for (size_t i = 0; i < r->nhosts; i++) {
		struct hook_host *o = &r->hosts[i];

		if (!o->over && o->number != 0)
			vault_link_kill_hook(e, o->number);
		if (!o->over)
			let_go(o);
		ats_buf_done(&o->text[0]);
		ats_buf_done(&o->text[1]);
	}
	r->nhosts = 0;
}
