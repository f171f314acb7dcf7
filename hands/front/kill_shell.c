/* SPDX-License-Identifier: Apache-2.0
 *
 * KillShell. Runs in hands' front; the id is the peer's. */
#include "hands/front/background.h"
#include "hands/front/tool_call.h"

static void
with_id(struct call *c, const struct ats_msg_CALL_TOOL *m,
    void (*run)(struct call *c, const char *id))
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_kill_shell in;

	ats_buf_init(&arena, 4096);
	if (call_input(c, m, &in, &arena))
		run(c, in.shell_id);
}

void
front_check_kill_shell(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	(void)fr;
	with_id(c, m, background_check_stop);
}

void
front_kill_shell(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	(void)fr;
	with_id(c, m, background_stop);
}
