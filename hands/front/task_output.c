/* SPDX-License-Identifier: Apache-2.0
 *
 * TaskOutput: BashOutput that can wait for a background command's end. Runs in hands' front;
 * the id is the peer's. Nothing blocks: a waiting call is an entry in the command's list, and
 * the time to wait is the call's own deadline. */
#include "hands/front/background.h"
#include "hands/front/record.h"
#include "hands/front/tool_call.h"

#include "common/clock.h"
#include "common/fault.h"

#include <stdlib.h>

#define WAIT_MS 30000u

struct waiting {
	struct background_waiter w; /* first: the list gives it back */
	struct call *c;
};

static void
on_cancel(struct call *c, bool timeout)
{
	struct waiting *p = c->part;
	struct job *j = p->w.j;

	if (timeout && j != NULL)
		background_tell(c, j); /* it runs still, and so the text says */
	else
		call_fail(c, true, timeout ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "Waiting for the command was cancelled; the command goes on.");
}

static void
on_free(struct call *c)
{
	struct waiting *p = c->part;

	background_wait_end(&p->w);
	free(p);
}

static void
on_ended(struct background_waiter *w, struct job *j)
{
	struct waiting *p = (struct waiting *)w;

	if (j != NULL)
		background_tell(p->c, j);
	else
		call_fail(p->c, true, ATS_E_NOT_STARTED, "The command was not started.");
}

static enum call_move
on_move(const struct call *c)
{
	const struct waiting *p = c->part;

	return p->w.j != NULL ? CALL_MOVES : CALL_WAITS;
}

static const struct call_ops ops = {
	.part = RECORD_TASK,
	.move = on_move,
	.cancel = on_cancel,
	.free = on_free,
	.survives = true,
};

static bool
wait_for(struct call *c, struct job *j)
{
	struct waiting *p = ats_calloc(1, sizeof(*p));

	if (p == NULL)
		return false;
	p->c = c;
	p->w.ended = on_ended;
	background_wait(j, &p->w);
	c->ops = &ops;
	c->part = p;
	return true;
}

const struct job *
task_output_job(const struct call *c)
{
	const struct waiting *p = c->ops == &ops ? c->part : NULL;

	return p == NULL ? NULL : p->w.j;
}

bool
task_output_load(struct call *c, struct job *j)
{
	return wait_for(c, j);
}

void
front_check_task_output(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_task_output in;

	(void)fr;
	ats_buf_init(&arena, 4096);
	if (call_input(c, m, &in, &arena))
		background_check_tell(c, in.task_id);
}

void
front_task_output(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_task_output in;
	struct job *j;
	uint64_t ms;

	(void)fr;
	ats_buf_init(&arena, 4096);
	if (!call_input(c, m, &in, &arena) || (j = background_find(c, in.task_id)) == NULL)
		return;
	ms = in.has_timeout ? in.timeout : WAIT_MS;
	if (!background_is_running(j) || (in.has_block && !in.block) || ms == 0) {
		background_tell(c, j);
		return;
	}
	if (!wait_for(c, j)) {
		call_fail(c, true, ATS_E_NOMEM, "The command goes on; there is no memory to wait.");
		return;
	}
	if (c->deadline_us == 0 || c->deadline_us > ats_clock_us() + ms * 1000)
		call_deadline(c, ms);
}
