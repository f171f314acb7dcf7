/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl deny: refuses one call that waits for a person. Process: atsctl. */
#include <string.h>

#include "brain/ctl/approval.h"
#include "brain/ctl/brain.h"

#define DENY_SEQ 1u
#define REASON_MAX 240u		/* bytes; the vault passes on no more of it to the agent */

static int
deny(struct ctl *c, const char *id, const char *reason)
{
	static struct approval_msg m;
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	int rc = brain_connect(c, false, &fd, &err);

	if (rc == -ATS_E_NOENT)
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	approval_init(&m.a);
	if (rc == 0)
		rc = approval_deny(fd, DENY_SEQ, id, reason, APPROVAL_WAY_TERMINAL, &err);
	if (rc == 0)
		rc = approval_await(fd, DENY_SEQ, &m, &err);
	approval_done(&m.a);
	if (rc == -ATS_E_UNKNOWN_ID)
		return ctl_fail_code(CTL_FAIL, ats_err_name(-rc),
		    "deny: %s: no approval of this id waits; atsctl approvals shows those that do",
		    id);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	if (c->json)
		(void)printf("{\"id\":\"%s\",\"decision\":\"denied\"}\n", id);
	else
		(void)printf("%s is denied\n", id);
	return CTL_OK;
}

int
cmd_deny(struct ctl *c, int argc, char **argv)
{
	const char *reason = "";
	const struct ctl_opt opts[] = { { "reason", 'r', CTL_OPT_STR, &reason } };
	int code;

	if (ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code) < 0)
		return code;
	if (strlen(reason) > REASON_MAX || !ats_utf8_valid(reason, strlen(reason)))
		return ctl_fail(CTL_USAGE, "deny: --reason: UTF-8 of at most %u bytes", REASON_MAX);
	if (!ats_id_valid(argv[1]))
		return ctl_fail_code(CTL_FAIL, ats_err_name(ATS_E_UNKNOWN_ID),
		    "deny: %s: no id; atsctl approvals shows the ids", argv[1]);
	return deny(c, argv[1], reason);
}
