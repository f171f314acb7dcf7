/* SPDX-License-Identifier: Apache-2.0
 *
 * Bash's check: what can be said of a command without running it. Runs in read workers; the
 * command itself is a shell worker's. */
#include "hands/fs/file.h"

#include "common/fd.h"

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	int fd ATS_CLEANUP_FD = -1;
	struct fs_place pl;
	struct ats_err err;
	int rc = fs_place(env, env->cwd, &pl, &err);

	(void)input;
	if (rc == 0)
		rc = fs_open_dir(env, &pl, &fd, &err);
	if (rc == -ATS_E_NOMEM)
		return rc;
	if (rc < 0)	/* no failure: the shell begins elsewhere, and its result says so */
		return ats_buf_addf(&out->text,
		    "The command can be started, but not where the last one ended: %s It "
		    "would begin in %s.",
		    err.text, env->roots[0].path);
	return ats_buf_addf(&out->text, "The command can be started in %s.", pl.path);
}

extern const struct tool tool_bash;
const struct tool tool_bash = { .id = ATS_TOOL_bash, .check = check };
