/* SPDX-License-Identifier: Apache-2.0
 *
 * Exit codes. Process: atsctl; hands has a say in the exit object, so that only known
 * words and numbers in range count. */
#include "brain/ctl/exit_code.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "brain/ctl/ctl.h"

static const struct {
	const char *kind;
	int base;		/* added to code */
	uint64_t max;		/* of code; 0: code does not matter */
	const char *note;
} kinds[] = {
	{ "exit", 0, 255, NULL },
	{ "signal", 128, 127, NULL },
	{ "timeout", CTL_TIMEOUT, 0, NULL },
	{ "cancelled", 128 + SIGINT, 0, NULL },
	{ "oom", 128 + SIGKILL, 0, "ended, because the sandbox is out of memory" },
	{ "pids", 128 + SIGKILL, 0,
	    "ended, because the sandbox is at its limit of processes" },
	{ "seccomp", 128 + SIGSYS, 0, "ended by a system call that the sandbox forbids" },
};

int
exec_exit_code(struct ats_slice result, const char **ret_note)
{
	struct ats_json_val end, v;
	uint64_t code = 0;

	if (ats_json_member_is(result, "outcome", "not_started")) {
		*ret_note = "the command was not started";
		return CTL_NOT_RUN;
	}
	if (!ats_json_member_is(result, "outcome", "done") || !ats_json_get(result, "exit", &end)) {
		*ret_note =
		    "the outcome of the command is unknown; look before you run it again";
		return CTL_NOT_RUN;
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(kinds); i++) {
		if (!ats_json_member_is(end.raw, "kind", kinds[i].kind))
			continue;
		if (kinds[i].max > 0 && (!ats_json_get(end.raw, "code", &v) ||
		    ats_json_to_u64(&v, &code) < 0 || code > kinds[i].max))
			break;
		if (kinds[i].note != NULL)
			*ret_note = kinds[i].note;
		return kinds[i].base + (int)code;
	}
	*ret_note = "brain told no exit code";
	return CTL_NOT_RUN;
}

int
call_exit_code(struct ats_slice result)
{
	struct ats_json_val v;

	if (!ats_json_member_is(result, "outcome", "done"))
		return CTL_NOT_RUN;
	return ats_json_get(result, "is_error", &v) && v.b ? CTL_FAIL : CTL_OK;
}

int
validate_exit_code(struct ats_slice result)
{
	struct ats_json_val v;

	if (!ats_json_get(result, "valid", &v) || v.type != ATS_JSON_BOOL)
		return CTL_NOT_RUN;
	return v.b ? CTL_OK : CTL_FAIL;
}
