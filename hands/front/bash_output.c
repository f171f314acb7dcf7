/* SPDX-License-Identifier: Apache-2.0
 *
 * BashOutput. Runs in hands' front; id and filter are the peer's. */
#include "hands/front/background.h"
#include "hands/front/tool_call.h"

static bool
has_filter(const struct ats_in_bash_output *in)
{
	return in->filter != NULL && in->filter[0] != '\0';
}

/* A filter is compiled by a worker. */
void
front_check_bash_output(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_bash_output in;

	ats_buf_init(&arena, 8192);
	if (!call_input(c, m, &in, &arena))
		return;
	if (!has_filter(&in))
		background_check_tell(c, in.bash_id);
	else if (background_find(c, in.bash_id) != NULL)
		tool_call_start(c, fr, m);
}

void
front_bash_output(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_bash_output in;
	struct job *j;

	ats_buf_init(&arena, 8192);
	if (!call_input(c, m, &in, &arena) || (j = background_find(c, in.bash_id)) == NULL)
		return;
	if (has_filter(&in))
		background_filter(c, j, fr);
	else
		background_tell(c, j);
}
