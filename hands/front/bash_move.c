/* SPDX-License-Identifier: Apache-2.0
 *
 * A Bash in the foreground, to the next front and from the one before. Runs in hands' front; what
 * the other front says is checked. */
#include "hands/front/bash_private.h"

#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "hands/front/front.h"

#define LATER_US 250000

/* One that has ended is answered at once, or when its file is whole. */
enum call_move
bash_move(const struct call *c)
{
	const struct bash *x = c->part;

	return x->sh != NULL && shell_runs(x->sh) && shell_can_move(x->sh) ? CALL_MOVES :
	    CALL_WAITS;
}

int
bash_save(struct call *c, struct records *r)
{
	const struct bash *x = c->part;
	const struct record_BASH m = {
		.cwd = x->cwd,
		.command = x->command != NULL,
		.limit_ms = x->limit_ms,
		.limit_by = x->limit_by,
		.progress_us = x->next_progress_us,
		.ignored_flag = x->ignored_flag,
		.spill = x->spill != NULL,
		.no_spill = x->no_spill,
	};
	const struct ats_slice command = { x->command,
		x->command == NULL ? 0 : strlen(x->command) };
	int rc = record_send(r, RECORD_ID_BASH, &m, &command, 1, NULL, 0);

	if (rc == 0)
		rc = capture_save(&x->text, r);
	for (unsigned i = 0; rc == 0 && i < 2; i++)
		rc = capture_save(&x->side[i], r);
	if (rc == 0 && x->spill != NULL)
		rc = spill_save(x->spill, r);
	return rc < 0 ? rc : shell_save(x->sh, r);
}

static int
take_texts(struct bash *x, const struct record_BASH *m, struct records *r)
{
	size_t n = r->payload.len;

	if ((!m->command && n > 0) || (n > 0 && memchr(r->payload.data, '\0', n) != NULL))
		return record_wrong(r, "bash");
	x->cwd = ats_strdup(m->cwd);
	if (m->command && (x->command = ats_malloc(n + 1)) != NULL) {
		if (n > 0)
			memcpy(x->command, r->payload.data, n);
		x->command[n] = '\0';
	}
	return x->cwd == NULL || (m->command && x->command == NULL) ?
	    ats_err_set(&r->err, ATS_E_NOMEM, "no memory") : 0;
}

int
bash_load(struct call *c, struct records *r)
{
	static const struct timeval later = { 0, LATER_US };
	struct bash *x = ats_calloc(1, sizeof(*x));
	union record_any rec;
	bool spill;
	int rc;

	if (x == NULL)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	x->c = c;
	capture_init(&x->text);
	capture_init(&x->side[0]);
	capture_init(&x->side[1]);
	(void)evtimer_assign(&x->later, c->f->base, bash_on_later, x);
	c->ops = &bash_call_ops;
	c->part = x;
	rc = record_next(r, RECORD_ID_BASH, &rec);
	if (rc < 0)
		return rc;
	x->limit_ms = rec.BASH.limit_ms;
	x->limit_by = (enum outcome_by)rec.BASH.limit_by;
	x->next_progress_us = rec.BASH.progress_us;
	x->ignored_flag = rec.BASH.ignored_flag;
	x->no_spill = rec.BASH.no_spill;
	spill = rec.BASH.spill;
	rc = take_texts(x, &rec.BASH, r);
	if (rc == 0)
		rc = capture_load(&x->text, r);
	for (unsigned i = 0; rc == 0 && i < 2; i++)
		rc = capture_load(&x->side[i], r);
	if (rc == 0 && spill)
		rc = spill_load(c->f->spills, r, &x->spill);
	if (rc == 0)
		rc = shell_load(c->f, &bash_shell_ops, x, r, &x->sh);
	if (rc == 0 && !shell_runs(x->sh))
		rc = record_wrong(r, "bash");
	if (rc == 0 && c->progress)
		(void)evtimer_add(&x->later, &later);
	return rc;
}
