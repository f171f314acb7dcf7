/* SPDX-License-Identifier: Apache-2.0
 *
 * TaskStop: KillShell under the name that newer models know. Runs in hands' front; the id is
 * the peer's. */
#include "hands/front/background.h"
#include "hands/front/tool_call.h"

static void
with_id(struct call *c, const struct ats_msg_CALL_TOOL *m,
    void (*run)(struct call *c, const char *id))
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_task_stop in;

	ats_buf_init(&arena, 4096);
	if (!call_input(c, m, &in, &arena))
		return;
	if (in.task_id != NULL || in.shell_id != NULL)
		run(c, in.task_id != NULL ? in.task_id : in.shell_id);
	else
		call_fail(c, true, ATS_E_FIELD, "TaskStop: task_id: is required");
}

void
front_check_task_stop(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	(void)fr;
	with_id(c, m, background_check_stop);
}

void
front_task_stop(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	(void)fr;
	with_id(c, m, background_stop);
}
