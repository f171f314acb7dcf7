/* SPDX-License-Identifier: Apache-2.0
 *
 * Background commands, to the next front and from the one before. Runs in hands' front; what the
 * other front says is checked. */
#include "hands/front/background_private.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "hands/front/front.h"
#include "hands/front/record.h"
#include "hands/front/spill.h"

/* Calls that wait for a start or an end soon have it. */
bool
background_can_move(const struct background *b)
{
	const struct job *j;

	TAILQ_FOREACH (j, &b->jobs, entry)
		if (j->starting != NULL || j->killing != NULL ||
		    (j->sh != NULL && !shell_can_move(j->sh)))
			return false;
	return true;
}

uint64_t
background_next(const struct background *b)
{
	return b->next;
}

void
background_set_next(struct background *b, uint64_t next)
{
	b->next = (unsigned)next;
}

const char *
background_id(const struct job *j)
{
	return j->v.id;
}

static int
save(const struct job *j, struct records *r)
{
	bool runs = j->v.status == JOB_RUNNING;
	const struct record_JOB m = {
		.id = j->v.id,
		.session = j->session,
		.status = j->v.status,
		.exit_code = j->v.exit_code,
		.kind = j->v.kind,
		.by = j->v.by,
		.pids = j->v.pids,
		.disk = j->v.disk,
		.survivors = j->v.survivors,
		.read_to = j->v.read_to,
		.note = j->v.note,
		.end_was_read = j->end_was_read,
		.ends_us = runs ? j->ends_us : 0,
		.shell = runs,
	};
	const struct ats_slice names = { j->v.names, strnlen(j->v.names, sizeof(j->v.names)) };
	int rc = record_send(r, RECORD_ID_JOB, &m, &names, 1, NULL, 0);

	if (rc == 0)
		rc = spill_save(j->spill, r);
	return rc == 0 && runs ? shell_save(j->sh, r) : rc;
}

int
background_save(const struct background *b, struct records *r, uint64_t *ret_n)
{
	const struct job *j;
	int rc = 0;

	TAILQ_FOREACH (j, &b->jobs, entry) {
		if (rc == 0)
			rc = save(j, r);
	}
	*ret_n = b->njobs;
	return rc;
}

static bool
is_possible(const struct background *b, const struct record_JOB *m, const struct records *r)
{
	return b->njobs < BACKGROUND_KEPT &&
	    r->payload.len < sizeof(((struct job_view *)0)->names) &&
	    m->shell == (m->status == JOB_RUNNING) &&
	    (!m->shell || b->nrunning < b->f->opt.background_jobs) && m->id[0] != '\0' &&
	    background_of((struct background *)(uintptr_t)b, m->id, m->session) == NULL;
}

static void
fill(struct job *j, const struct record_JOB *m, const struct records *r)
{
	(void)snprintf(j->v.id, sizeof(j->v.id), "%s", m->id);
	(void)snprintf(j->session, sizeof(j->session), "%s", m->session);
	(void)snprintf(j->v.note, sizeof(j->v.note), "%s", m->note);
	if (r->payload.len > 0)
		memcpy(j->v.names, r->payload.data, r->payload.len);
	j->v.exit_code = (unsigned)m->exit_code;
	j->v.kind = (enum outcome_kind)m->kind;
	j->v.by = (enum outcome_by)m->by;
	j->v.pids = m->pids;
	j->v.disk = m->disk;
	j->v.survivors = (unsigned)m->survivors;
	j->v.read_to = m->read_to;
	j->end_was_read = m->end_was_read;
	j->ends_us = m->ends_us;
	if (m->status != JOB_RUNNING)
		j->b->nrunning--;
	j->v.status = (enum job_status)m->status;
}

/* What is left of its time; of one whose time is over a moment. */
static void
arm_life(struct job *j)
{
	uint64_t now = ats_clock_us(), us = j->ends_us > now ? j->ends_us - now : 1;
	uint64_t most = j->b->f->opt.background_life_s * UINT64_C(1000000);
	struct timeval tv;

	us = us < most ? us : most;
	tv = ats_timeval_us(us);
	(void)evtimer_add(&j->life, &tv);
}

int
background_load(struct background *b, struct records *r, union record_any *rec)
{
	bool runs = rec->JOB.shell;
	struct job *j;
	int rc;

	if (!is_possible(b, &rec->JOB, r))
		return record_wrong(r, "job");
	j = background_job(b);
	if (j == NULL)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	fill(j, &rec->JOB, r);
	rc = spill_load(b->f->spills, r, &j->spill);
	j->v.spill = j->spill;
	if (rc == 0 && runs)
		rc = shell_load(b->f, &background_shell_ops, j, r, &j->sh);
	if (rc == 0 && runs && !shell_runs(j->sh))
		rc = record_wrong(r, "job");
	if (rc == 0 && runs)
		arm_life(j);
	else if (rc == 0)
		event_active(&j->step, EV_TIMEOUT, 0);	/* its file may not be whole yet */
	return rc;
}
