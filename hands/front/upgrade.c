/* SPDX-License-Identifier: Apache-2.0
 *
 * The old front's side of an upgrade. Runs in hands' front; the wish is brain's, the new front a
 * file of whoever started hands. While it hands over nothing else of front runs: what was said
 * of a pipe stays true. */
#include "hands/front/upgrade.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/secret.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/front.h"
#include "hands/front/gateway.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/record.h"
#include "hands/front/report.h"
#include "hands/init/roles.h"

#define FLUSH_MS 250u	/* for what is queued on the link, and the goodbye behind it */

enum upgrade_state { NONE, ASKED, STARTS, WAITS };
struct upgrade {
	struct front *f;
	enum upgrade_state state;
	int sock;			/* to the new front, or -1 */
	bool late;			/* calls that brain can send again have had their time */
	struct event *there, *timer, *step;
};

static void
arm(struct upgrade *u, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	(void)evtimer_add(u->timer, &tv);
}

static int
tell_init(uint32_t what)
{
	struct init_msg m = { .what = what };

	return ats_fd_send(FRONT_FD_INIT, &m, sizeof(m), NULL, 0) < 0 ? -ATS_E_SYS : 0;
}

/* ---- it is over, and front goes on --------------------------------------------------- */
static void
drop(struct upgrade *u)
{
	const struct record_STOP stop = { 0 };
	struct records r;

	(void)evtimer_del(u->timer);
	(void)event_del(u->step);
	if (u->there != NULL)
		event_free(u->there);
	u->there = NULL;
	if (u->sock >= 0) {
		records_init(&r, u->sock, 0);
		(void)!record_send(&r, RECORD_ID_STOP, &stop, NULL, 0, NULL, 0);
		records_done(&r);
	}
	ats_fd_close(&u->sock);
	/* One that hears nothing must not be there when we end. */
	if (u->state >= ASKED)
		(void)!tell_init(INIT_CANCEL);
	u->state = NONE;
}

static void
tell_brain(struct front *f, int code, const char *text)
{
	const struct ats_msg_UNCHANGED m = { .code = ats_err_name(code), .text = text };
	struct ats_buf *out = &f->out;

	ats_buf_reset(out);
	if (ats_msg_encode(&ats_frame_rows[ATS_FRAME_UNCHANGED].shape, &m, out, NULL) == 0)
		(void)link_send(f->link, ATS_FRAME_UNCHANGED, 0, out->data, out->len, NULL, 0);
}

static void
fail(struct upgrade *u, int code, const char *text)
{
	char quoted[480];

	(void)ats_log_quote(quoted, sizeof(quoted), text, strlen(text));
	ats_log(ATS_LOG_WARN, "front is not replaced", "code=%s why=%s", ats_err_name(code),
	    quoted);
	drop(u);
	tell_brain(u->f, code, text);
}

/* ---- handing over -------------------------------------------------------------------- */
/* A pipe that gives what FRONT_FD_KEY gave us. -1: we have none. */
static int
key_pipe(const struct front *f, int *ret_fd)
{
	const char *texts;
	int ends[2];
	size_t n;

	*ret_fd = -1;
	if (f->key_texts == NULL)
		return 0;
	if (ats_fd_pipe(ends, O_NONBLOCK) < 0)
		return -ATS_E_SYS;
	texts = ats_secret_bytes(f->key_texts, &n);
	if (write(ends[1], texts, n) == (ssize_t)n)
		*ret_fd = ats_steal_fd(&ends[0]);
	ats_fd_close(&ends[0]);
	ats_fd_close(&ends[1]);
	return *ret_fd < 0 ? -ATS_E_SYS : 0;
}

static int
send_head(const struct front *f, struct records *r)
{
	const struct ats_slice report = front_report_json(f->report);
	int zygotes[3], fds[4], key ATS_CLEANUP_FD = -1;
	size_t n = 0;

	pool_sockets(f->pool, zygotes);
	if (key_pipe(f, &key) < 0)
		return ats_err_set(&r->err, ATS_E_SYS, "the key cannot be passed on");
	const struct record_HEAD m = {
		.format = RECORD_FORMAT,
		.inside = HANDS_INSIDE,
		.tables = ats_proto_digest(),
		.boot = f->boot,
		.epoch = link_epoch(f->link),
		.next_job = background_next(f->background),
		.gateway_ids = gateway_ids(f->gateway),
		.draining = f->draining,
		.read = zygotes[0] >= 0,
		.write = zygotes[1] >= 0,
		.shell = zygotes[2] >= 0,
		.key = key >= 0,
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(zygotes); i++)
		if (zygotes[i] >= 0)
			fds[n++] = zygotes[i];
	if (key >= 0)
		fds[n++] = key;
	return record_send(r, RECORD_ID_HEAD, &m, &report, 1, fds, n);
}

static int
send_all(const struct front *f, struct records *r)
{
	struct record_END end = { 0 };
	int rc = send_head(f, r);

	if (rc == 0)
		rc = background_save(f->background, r, &end.jobs);
	if (rc == 0)
		rc = calls_save(f->calls, r, &end.calls);
	return rc < 0 ? rc : record_send(r, RECORD_ID_END, &end, NULL, 0, NULL, 0);
}

/* What the new front says to that. It may have said why not while we were still sending. */
static int
hear(struct records *r, int sent)
{
	struct ats_err why = r->err;
	union record_any rec;
	int rc = record_any(r, &rec);

	if (rc == 0 && r->id == RECORD_ID_REFUSED)
		return ats_err_set(&r->err, ats_err_from_name(rec.REFUSED.code),
		    "the new front cannot take over: %.380s", rec.REFUSED.text);
	if (sent < 0) {
		r->err = why;
		return sent;
	}
	if (rc == -ATS_E_EOF)
		return ats_err_set(&r->err, ATS_E_LOST, "the new front ended while it took over");
	if (rc == 0 && r->id != RECORD_ID_TAKEN)
		return ats_err_set(&r->err, ATS_E_PROTO, "the new front does not say that it has "
		    "all");
	return rc;
}

/* Does not return when the new front has all: of what is ours nothing is ended by our end. */
static void
hand_over(struct upgrade *u)
{
	struct front *f = u->f;
	struct ats_err err;
	struct records r;
	int rc;

	records_init(&r, u->sock, UPGRADE_START_MS);
	rc = hear(&r, send_all(f, &r));
	err = r.err;
	records_done(&r);
	if (rc < 0) {
		fail(u, -rc, err.text);
		return;
	}
	ats_log(ATS_LOG_INFO, "another front goes on", NULL);
	pool_leave(f->pool);
	link_flush(f->link, FLUSH_MS);
	link_goodbye(f->link, 0, "upgrade");
	link_flush(f->link, FLUSH_MS);
	_exit(0);
}

/* ---- until then ---------------------------------------------------------------------- */
static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	struct upgrade *u = arg;
	enum call_move least = calls_move(u->f->calls);

	(void)fd;
	(void)what;
	if (u->state == WAITS && background_can_move(u->f->background) &&
	    gateway_is_idle(u->f->gateway) &&
	    (least == CALL_MOVES || (least == CALL_LEAVES && u->late)))
		hand_over(u);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct upgrade *u = arg;

	if (u->state != WAITS) {
		fail(u, ATS_E_TIMEOUT, "the new front is not there in time");
	} else if (!u->late) {
		u->late = true;
		arm(u, UPGRADE_WAIT_MS - UPGRADE_LEAVE_MS);
		on_step(fd, what, u);
	} else {
		fail(u, ATS_E_BUSY, "a call that cannot be moved does not end; try again");
	}
}

/* It says that it is there, why not, or it ends. */
static void
on_there(evutil_socket_t fd, short what, void *arg)
{
	struct upgrade *u = arg;
	union record_any rec;
	struct ats_err err;
	struct records r;
	int rc;

	(void)what;
	records_init(&r, fd, 0);
	rc = record_any(&r, &rec);
	if (rc == 0 && r.id != RECORD_ID_HERE)
		rc = ats_err_set(&r.err, ATS_E_PROTO, "the new front does not greet");
	if (rc == 0)
		ats_log(ATS_LOG_INFO, "a new front is there", "version=%s", rec.HERE.version);
	err = r.err;
	records_done(&r);
	if (u->state == WAITS)
		fail(u, ATS_E_LOST, "the new front ended before it could take over");
	else if (rc == -ATS_E_EOF)
		fail(u, ATS_E_LOST, "the new file ended before it was there: it is no ats-hands of "
		    "this kind, or cannot be run or confined; the sandbox's log may say more");
	else if (rc < 0)
		fail(u, -rc, err.text);
	else {
		u->state = WAITS;
		u->late = false;
		arm(u, UPGRADE_LEAVE_MS);
		event_active(u->step, EV_TIMEOUT, 0);
	}
}

static void
start(struct upgrade *u, int sock)
{
	u->sock = sock;
	u->state = STARTS;
	u->there = event_new(u->f->base, sock, EV_READ | EV_PERSIST, on_there, u);
	if (u->there == NULL || ats_fd_nonblock(sock, true) < 0 || event_add(u->there, NULL) < 0)
		fail(u, ATS_E_NOMEM, "no memory");
}

void
upgrade_on_init(struct front *f, const struct init_msg *m, int fd)
{
	struct upgrade *u = f->upgrade;

	if (u == NULL || u->state != ASKED) {	/* we gave it up meanwhile */
		ats_fd_close(&fd);
	} else if (m->what == INIT_NEXT && fd >= 0) {
		start(u, fd);
	} else {
		ats_fd_close(&fd);
		fail(u, m->code > 0 ? m->code : ATS_E_SYS,
		    m->text[0] != '\0' ? m->text : "init does not start another front");
	}
}

void
upgrade_poke(struct front *f)
{
	if (f->upgrade != NULL && f->upgrade->state == WAITS)
		event_active(f->upgrade->step, EV_TIMEOUT, 0);
}

void
upgrade_ask(struct front *f)
{
	struct upgrade *u = f->upgrade;

	if (u == NULL)
		tell_brain(f, ATS_E_UNAVAILABLE, "this front has no init");
	else if (u->state != NONE)
		tell_brain(f, ATS_E_BUSY, "an upgrade is under way already");
	else if (f->draining)
		tell_brain(f, ATS_E_BUSY, "the sandbox is ending");
	else if (!link_has_way_in(f->link))
		tell_brain(f, ATS_E_INVAL, "the link ends with an upgrade, and there is no other "
		    "way in: start ats-hands with --listen or --connect");
	else if (tell_init(INIT_UPGRADE) < 0)
		tell_brain(f, ATS_E_SYS, "init does not hear");
	else {
		u->state = ASKED;
		arm(u, UPGRADE_START_MS);
	}
}

struct upgrade *
upgrade_new(struct front *f)
{
	struct upgrade *u = ats_calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->f = f;
	u->sock = -1;
	u->timer = evtimer_new(f->base, on_timer, u);
	u->step = evtimer_new(f->base, on_step, u);
	if (u->timer == NULL || u->step == NULL) {
		upgrade_free(u);
		return NULL;
	}
	return u;
}

void
upgrade_free(struct upgrade *u)
{
	if (u == NULL)
		return;
	if (u->state != NONE)
		drop(u);
	if (u->timer != NULL)
		event_free(u->timer);
	if (u->step != NULL)
		event_free(u->step);
	free(u);
}
