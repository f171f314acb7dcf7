/* SPDX-License-Identifier: Apache-2.0
 *
 * A command under its monitor, to the next front and from the one before. Runs in hands' front;
 * the other front is one of another version, and what it says is checked. */
#include "hands/front/shell_private.h"

#include "common/fd.h"
#include "hands/front/front.h"
#include "hands/front/record.h"

bool
shell_can_move(const struct shell *s)
{
	const struct worker *w = s->w;

	if (s->state == SHELL_ENDED)
		return true;
	return s->state == SHELL_RUNNING && w != NULL && w->state == WORKER_BUSY &&
	    w->sock >= 0 && w->tx.len == 0 && w->text_n == 0;
}

bool
shell_runs(const struct shell *s)
{
	return s->state == SHELL_RUNNING;
}

int
shell_save(const struct shell *s, struct records *r)
{
	const struct worker *w = s->state == SHELL_RUNNING ? s->w : NULL;
	const struct record_SHELL m = {
		.serial = w == NULL ? 0 : w->serial,
		.runs = w != NULL,
		.out = s->pipe[0] >= 0,
		.err = s->pipe[1] >= 0,
		.in = s->pipe[2] >= 0,
		.gone = w != NULL && w->gone,
		.status = w == NULL ? 0 : (uint32_t)w->status,
		.why = s->why,
		.stop_step = s->stop_step,
	};
	struct ats_slice rx = { NULL, 0 };
	int fds[4];
	size_t n = 0;

	if (w != NULL) {
		fds[n++] = w->sock;
		rx = (struct ats_slice){ w->rx.data, w->rx.len };
	}
	for (unsigned i = 0; i < 3; i++)
		if (s->pipe[i] >= 0)
			fds[n++] = s->pipe[i];
	return record_send(r, RECORD_ID_SHELL, &m, &rx, 1, fds, n);
}

static int
adopt(struct shell *s, const struct record_SHELL *m, struct records *r)
{
	int sock;

	if (!record_has_fds(r, (unsigned)m->runs + m->out + m->err + m->in))
		return record_wrong(r, "shell");
	sock = record_fd(r, m->runs);
	for (unsigned i = 0; i < 3; i++)
		s->pipe[i] = record_fd(r, i == 0 ? m->out : i == 1 ? m->err : m->in);
	s->why = (enum outcome_ended)m->why;
	s->stop_step = (unsigned)m->stop_step;
	s->state = SHELL_ENDED;
	if (!m->runs)
		return r->payload.len > 0 ? record_wrong(r, "shell") : 0;
	s->w = worker_adopt(s->f, ATS_PROFILE_SHELL, m->serial, sock);
	if (s->w == NULL)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	pool_adopt(s->f->pool, s->w);
	s->w->ops = &shell_worker_ops;
	s->w->ctx = s;
	s->w->gone = m->gone;
	s->w->status = (int)(uint32_t)m->status;
	s->state = SHELL_RUNNING;
	if (r->payload.len > 0 && ats_buf_add(&s->w->rx, r->payload.data, r->payload.len) < 0)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	return 0;
}

int
shell_load(struct front *f, const struct shell_ops *ops, void *ctx, struct records *r,
    struct shell **ret)
{
	union record_any rec;
	struct shell *s;
	int rc = record_next(r, RECORD_ID_SHELL, &rec);

	if (rc < 0)
		return rc;
	s = shell_alloc(f, ops, ctx);
	if (s == NULL)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	*ret = s;	/* its owner frees it, also when it is not whole */
	rc = adopt(s, &rec.SHELL, r);
	if (rc == 0 && s->state == SHELL_RUNNING) {
		shell_watch(s);
		if (s->stop_step > 0)
			shell_arm(&s->stop_ev, SHELL_GRACE_US);
	}
	return rc;
}
