/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl sandbox. Process: atsctl. */
#include <stdio.h>
#include <string.h>

#include "brain/ctl/query.h"

static const struct {
	const char *verb, *method, *text_member;
	bool wants_id;
	const char *said;	/* for people, instead of how it is at that moment */
} verbs[] = {
	{ "ls", "ats/sandbox.list", NULL, false, NULL },
	{ "restart", "ats/sandbox.restart", "", true, "is started again" },
	{ "kill", "ats/sandbox.kill", "", true, "ends; its next call starts it again" },
	{ "logs", "ats/sandbox.logs", "text", true, NULL },
};

int
cmd_sandbox(struct ctl *c, int argc, char **argv)
{
	int code, n = ctl_args(c, NULL, 0, false, 1, 2, argc, argv, &code);

	if (n < 0)
		return code;
	for (size_t i = 0; i < ATS_ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].verb) != 0)
			continue;
		if (n != (verbs[i].wants_id ? 2 : 1))
			return ctl_fail(CTL_USAGE,
			    "sandbox %s: %s; atsctl sandbox ls shows the ids", argv[1],
			    verbs[i].wants_id ? "the id is missing" : "takes no id");
		code = query(
		    c, verbs[i].method, n == 2 ? argv[2] : NULL, verbs[i].text_member);
		if (code == CTL_OK && verbs[i].said != NULL && !c->json)
			(void)printf("%s %s\n", argv[2], verbs[i].said);
		return code;
	}
	return ctl_fail(
	    CTL_USAGE, "sandbox %s: unknown; usage: atsctl sandbox %s", argv[1],
	    c->command->usage);
}
