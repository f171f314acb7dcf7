/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls, to the next front and from the one before: what goes on over a lost link.
 * Runs in hands' front; what the other front says is checked. */
#include "hands/front/calls_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "hands/front/background.h"
#include "hands/front/bash.h"
#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/front/record.h"

#define DEADLINE_MAX_US UINT64_C(86400000000)	/* as in proto/frames.def */

static enum call_move
move_of(const struct call *c)
{
	if (c->state != CALL_ACTIVE && (c->ops == NULL || c->ops->move == NULL))
		return CALL_MOVES;
	if (c->ops != NULL && c->ops->move != NULL)
		return c->ops->move(c);
	return c->keep ? CALL_WAITS : CALL_LEAVES;
}

enum call_move
calls_move(const struct calls *t)
{
	enum call_move least = CALL_MOVES, m;
	const struct call *c;

	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;) {
		m = move_of(c);
		least = m < least ? m : least;
	}
	return least;
}

/* ---- to the next front ------------------------------------------------------------- */
static int
save(struct call *c, struct records *r)
{
	const struct job *j = task_output_job(c);
	const struct record_CALL m = {
		.id = c->id,
		.session = c->session,
		.tool = c->row == NULL ? NULL : c->row->name,
		.part = c->ops == NULL ? RECORD_NO_PART : c->ops->part,
		.job = j == NULL ? NULL : background_id(j),
		.kept = c->state == CALL_KEPT,
		.progress = c->progress,
		.split = c->split,
		.fingerprint = c->fingerprint,
		.arrival_us = c->arrival_us,
		.start_us = c->start_us,
		.deadline_us = c->state == CALL_ACTIVE ? c->deadline_us : 0,
		.json = c->json.len,
	};
	const struct ats_slice result[2] = { { c->json.data, c->json.len },
		{ c->payload.data, c->payload.len } };
	int rc = record_send(r, RECORD_ID_CALL, &m, result, 2, NULL, 0);

	return rc == 0 && c->ops != NULL && c->ops->save != NULL ? c->ops->save(c, r) : rc;
}

int
calls_save(const struct calls *t, struct records *r, uint64_t *ret_n)
{
	struct call *c;
	int rc = 0;

	*ret_n = 0;
	for (size_t i = 0; rc == 0 && (c = ats_map_each(t->map, &i)) != NULL;) {
		if (!c->keep || move_of(c) != CALL_MOVES)
			continue;
		rc = save(c, r);
		++*ret_n;
	}
	return rc;
}

/* ---- from the one before ------------------------------------------------------------ */
static void
arm(struct call *c, uint64_t deadline_us)
{
	uint64_t now = ats_clock_us();

	if (deadline_us == 0)
		return;
	call_deadline(c, deadline_us > now ? (deadline_us - now) / 1000 + 1 : 1);
	c->deadline_us = deadline_us;
}

static bool
is_possible(const struct calls *t, const struct record_CALL *m, const struct records *r)
{
	uint64_t now = ats_clock_us();

	return calls_find(t, m->id) == NULL && m->json <= r->payload.len &&
	    r->payload.len - m->json <= WORKER_PAYLOAD_MAX &&
	    t->kept_bytes + r->payload.len <= 2 * CALLS_KEPT_BYTES && m->arrival_us <= now &&
	    (m->start_us == 0 || (m->start_us >= m->arrival_us && m->start_us <= now)) &&
	    m->kept == (m->json > 0) && (m->part == RECORD_TASK) == (m->job != NULL) &&
	    (m->tool == NULL ? m->kept || m->part == RECORD_EXEC : m->part != RECORD_EXEC) &&
	    (m->deadline_us <= now || m->deadline_us - now <= DEADLINE_MAX_US) &&
	    (m->kept ? m->part == RECORD_NO_PART || m->part == RECORD_EXEC :
		       m->part != RECORD_NO_PART) &&
	    (m->tool == NULL || ats_tool_find(m->tool) != NULL);
}

static int
load_part(struct call *c, const struct record_CALL *m, struct records *r)
{
	struct job *j;

	switch ((enum record_part)m->part) {
	case RECORD_BASH:
		return bash_load(c, r);
	case RECORD_EXEC:
		return exec_load(c, r);
	case RECORD_TASK:
		j = background_of(c->f->background, m->job, m->session);
		if (j == NULL || !background_is_running(j))
			return record_wrong(r, "call");
		return task_output_load(c, j) ? 0 : ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	case RECORD_NO_PART:
		break;
	}
	return 0;
}

int
calls_load(struct calls *t, struct records *r, union record_any *rec)
{
	const struct record_CALL *m = &rec->CALL;
	struct call *c;

	if (!is_possible(t, m, r))
		return record_wrong(r, "call");
	c = call_alloc(t, m->id, m->session, m->fingerprint);
	if (c == NULL)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	c->row = m->tool == NULL ? NULL : ats_tool_find(m->tool);
	c->keep = true;
	c->progress = m->progress;
	c->split = m->split;
	c->arrival_us = m->arrival_us;
	c->start_us = m->start_us;
	if (m->kept)
		call_end_active(c);
	else
		arm(c, m->deadline_us);
	if (m->json > 0 && (ats_buf_add(&c->json, r->payload.data, m->json) < 0 ||
		(r->payload.len > m->json && ats_buf_add(&c->payload,
		    r->payload.data + m->json, r->payload.len - m->json) < 0)))
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	t->kept_bytes += r->payload.len;
	return load_part(c, m, r);
}
