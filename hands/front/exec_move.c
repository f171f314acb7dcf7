/* SPDX-License-Identifier: Apache-2.0
 *
 * An exec, to the next front and from the one before: as on a lost link its streams are nobody's
 * until brain resumes them. Runs in hands' front; what the other front says is checked. */
#include "hands/front/exec_private.h"

#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "common/fd.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/spill.h"

/* ---- to the next front ------------------------------------------------------------- */
enum call_move
exec_move(const struct call *c)
{
	const struct exec *x = c->part;

	return x->sh == NULL || shell_can_move(x->sh) ? CALL_MOVES : CALL_WAITS;
}

static int
save_out(const struct exec_out *o, struct records *r)
{
	const struct record_OUT m = {
		.window = o->window,
		.granted = o->granted,
		.sent = o->sent,
		.base = o->hold.base,
		.held = o->hold.len,
		.spill = o->spill != NULL,
		.unspilled = o->unspilled,
		.open = o->fd >= 0,
		.ended = o->ended,
		.stop = o->stop,
		.end = o->end,
	};
	struct ats_slice parts[3] = { { NULL, 0 }, { NULL, 0 }, { o->rest.data, o->rest.len } };
	int rc;

	/* A ring: two runs at most. */
	parts[0].n = ats_hold_at(&o->hold, o->hold.base, &parts[0].p);
	parts[1].n = ats_hold_at(&o->hold, o->hold.base + parts[0].n, &parts[1].p);
	rc = record_send(r, RECORD_ID_OUT, &m, parts, 3, NULL, 0);
	return rc == 0 && o->spill != NULL ? spill_save(o->spill, r) : rc;
}

/* What has come of a frame that will not come whole is in the pipe already. */
static int
save_in(const struct exec_stdin *in, struct records *r)
{
	uint64_t call, half = link_half(in->c->f->link, &call);
	struct record_STDIN m = {
		.open = in->fd >= 0,
		.started = in->started,
		.eof = in->eof,
		.broken = in->broken,
		.received = in->received,
		.granted = in->granted,
		.owed = in->owed,
	};
	const struct ats_slice queue = { in->queue.data, in->queue.len };

	if (half > 0 && call == in->c->id) {
		m.received += half;
		m.owed += half;
	}
	return record_send(r, RECORD_ID_STDIN, &m, &queue, 1, &in->fd, in->fd >= 0 ? 1 : 0);
}

int
exec_save(struct call *c, struct records *r)
{
	const struct exec *x = c->part;
	bool has_exit = x->ended && c->state == CALL_ACTIVE;
	const struct record_EXEC m = {
		.shell = x->sh != NULL,
		.out = x->out[0] != NULL,
		.err = x->out[1] != NULL,
		.in = x->in != NULL,
		.ended = x->ended,
		.why = x->end.why,
		.lost = x->end.lost,
	};
	const struct ats_slice end = { (const char *)&x->exit, has_exit ? sizeof(x->exit) : 0 };
	int rc = record_send(r, RECORD_ID_EXEC, &m, &end, 1, NULL, 0);

	if (rc == 0 && x->sh != NULL)
		rc = shell_save(x->sh, r);
	for (unsigned i = 0; rc == 0 && i < 2; i++)
		if (x->out[i] != NULL)
			rc = save_out(x->out[i], r);
	return rc == 0 && x->in != NULL ? save_in(x->in, r) : rc;
}

/* ---- from the one before ------------------------------------------------------------ */
static int
no_memory(struct records *r)
{
	return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
}

static int
hold(struct exec_out *o, const char *p, size_t n)
{
	size_t room;
	char *to;

	for (; n > 0; p += room, n -= room) {
		room = ats_hold_room(&o->hold, n, &to);
		if (room == 0)
			return -ATS_E_NOMEM;
		memcpy(to, p, room);
		ats_hold_commit(&o->hold, room);
	}
	return 0;
}

static bool
is_possible_out(const struct record_OUT *m, size_t payload)
{
	return m->base <= m->sent && m->sent <= INT64_MAX && m->sent <= m->base + m->held &&
	    m->sent <= m->granted && m->held <= payload &&
	    payload - m->held <= FRONT_BLOCK_BYTES &&
	    m->held <= (m->window > EXEC_HELD ? m->window : EXEC_HELD) &&
	    (m->ended ? m->stop <= m->end && m->sent <= m->end && m->end <= INT64_MAX :
			m->stop == 0 && m->end == 0) &&
	    (m->spill || m->unspilled == 0);
}

static int
load_out(struct exec *x, unsigned i, struct records *r)
{
	union record_any rec;
	const struct record_OUT *m = &rec.OUT;
	int rc = record_next(r, RECORD_ID_OUT, &rec);
	struct exec_out *o;
	bool opens, spills;

	if (rc < 0)
		return rc;
	if (!is_possible_out(m, r->payload.len) || (m->open && x->sh == NULL))
		return record_wrong(r, "out");
	o = x->out[i] = exec_out_new(x->c, i, m->window, &x->finish_ev);
	if (o == NULL)
		return no_memory(r);
	o->granted = m->granted;
	o->sent = m->sent;
	o->unspilled = m->unspilled;
	o->ended = m->ended;
	o->stop = m->stop;
	o->end = m->end;
	o->hold.base = m->base;
	opens = m->open;
	spills = m->spill;
	if (hold(o, r->payload.data, m->held) < 0 || (r->payload.len > m->held &&
		ats_buf_add(&o->rest, r->payload.data + m->held, r->payload.len - m->held) < 0))
		return no_memory(r);
	if (spills)
		rc = spill_load(x->c->f->spills, r, &o->spill);
	if (rc == 0 && spills && (o->unspilled > spill_total(o->spill) - spill_lost(o->spill)))
		rc = record_wrong(r, "out");
	if (rc == 0 && opens)
		exec_out_open(o, shell_pipe(x->sh, i));
	return rc;
}

static bool
is_possible_in(const struct record_STDIN *m, size_t payload)
{
	return m->received <= m->granted && m->granted <= INT64_MAX &&
	    m->granted - m->received <= EXEC_STDIN_WINDOW && m->owed <= EXEC_STDIN_WINDOW &&
	    payload <= m->received && (!m->open || (m->started && !m->broken));
}

static int
load_in(struct exec *x, struct records *r)
{
	union record_any rec;
	const struct record_STDIN *m = &rec.STDIN;
	struct exec_stdin *in;
	int rc = record_next(r, RECORD_ID_STDIN, &rec);

	if (rc < 0)
		return rc;
	if (!is_possible_in(m, r->payload.len) || !record_has_fds(r, m->open))
		return record_wrong(r, "stdin");
	in = x->in = exec_stdin_new(x->c);
	if (in == NULL)
		return no_memory(r);
	in->started = m->started;
	in->eof = m->eof;
	in->broken = m->broken;
	in->received = m->received;
	in->granted = m->granted;
	in->owed = m->owed;
	if (!in->eof && in->owed >= EXEC_GRANT_FROM) {	/* as is granted when there is no link */
		in->granted += in->owed;
		in->owed = 0;
	}
	if (r->payload.len > 0 && ats_buf_add(&in->queue, r->payload.data, r->payload.len) < 0)
		return no_memory(r);
	in->fd = record_fd(r, m->open);
	if (in->fd < 0)
		return 0;
	if (event_assign(&in->ev, x->c->f->base, in->fd, EV_WRITE, exec_stdin_on_writable,
		in) < 0 ||
	    ((in->queue.len > 0 || in->eof) && event_add(&in->ev, NULL) < 0))
		return no_memory(r);
	return 0;
}

/* The end of one whose result is not made is known. */
static int
load_end(struct exec *x, const struct record_EXEC *m, const struct records *r)
{
	bool has_exit = m->ended && x->c->state == CALL_ACTIVE;

	x->ended = m->ended;
	x->end.why = (enum outcome_ended)m->why;
	x->end.lost = m->lost;
	if (r->payload.len != (has_exit ? sizeof(x->exit) : 0))
		return -1;
	if (!has_exit)
		return x->c->state == CALL_KEPT && !m->ended ? -1 : 0;
	memcpy(&x->exit, r->payload.data, sizeof(x->exit));
	x->exit.cwd[sizeof(x->exit.cwd) - 1] = '\0';
	x->exit.names[sizeof(x->exit.names) - 1] = '\0';
	x->end.exit = &x->exit;
	return 0;
}

int
exec_load(struct call *c, struct records *r)
{
	struct exec *x = ats_calloc(1, sizeof(*x));
	union record_any rec;
	struct record_EXEC m;
	int rc;

	if (x == NULL)
		return no_memory(r);
	x->c = c;
	(void)evtimer_assign(&x->finish_ev, c->f->base, exec_on_finish, x);
	c->ops = &exec_call_ops;
	c->part = x;
	rc = record_next(r, RECORD_ID_EXEC, &rec);
	if (rc < 0)
		return rc;
	m = rec.EXEC;
	if (load_end(x, &m, r) < 0 || (!m.ended && (!m.shell || !m.out || !m.err)))
		return record_wrong(r, "exec");
	if (m.shell)
		rc = shell_load(c->f, &exec_shell_ops, x, r, &x->sh);
	if (rc == 0 && m.shell && shell_runs(x->sh) == m.ended)
		return record_wrong(r, "exec");
	if (rc == 0 && m.out)
		rc = load_out(x, 0, r);
	if (rc == 0 && m.err)
		rc = load_out(x, 1, r);
	return rc == 0 && m.in ? load_in(x, r) : rc;
}
