/* SPDX-License-Identifier: Apache-2.0
 *
 * TaskStop: KillShell under the name that newer models know. Runs in hands' front; the id is
 * the peer's. */
#include "hands/front/background.h"
#include "hands/front/tool_call.h"

/* What is to be stopped, or NULL after an answer. */
static const char *
task_of(struct call *c, const struct ats_msg_CALL_TOOL *m, struct ats_buf *arena)
{
	struct ats_in_task_stop in;

	if (!call_input(c, m, &in, arena))
		return NULL;
	if (in.task_id != NULL || in.shell_id != NULL)
		return in.task_id != NULL ? in.task_id : in.shell_id;
	call_fail(c, true, ATS_E_FIELD, "TaskStop: task_id: is required");
	return NULL;
}

void
front_check_task_stop(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	const char *id;

	(void)fr;
	ats_buf_init(&arena, 4096);
	id = task_of(c, m, &arena);
	if (id != NULL)
		background_check_stop(c, id);
}

void
front_task_stop(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	const char *id;

	(void)fr;
	ats_buf_init(&arena, 4096);
	id = task_of(c, m, &arena);
	if (id != NULL)
		background_stop(c, id);
}
