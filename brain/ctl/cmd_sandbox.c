/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl sandbox. Process: atsctl. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
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
	{ "upgrade", "ats/sandbox.upgrade", NULL, false, NULL },
	{ "takeover", "ats/sandbox.takeover", "", true, "is attached to; who had it is told" },
};

/* The key is shown once, alone on stdout: for a pipe or a file of mode 0600. */
static int
enroll(struct ctl *c, const char *workspace, bool rotate)
{
	const struct session_ask ask = { .workspace = workspace };
	static struct ats_ipc_msg m;	/* 64 KiB */
	char real[ATS_PATH_MAX];
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	int rc = brain_connect(c, true, &fd, &err);

	if (rc == 0)
		rc = session_workspace(&ask, real, &err);
	if (rc == 0)
		rc = brain_enroll(fd, real, rotate, &m, &err);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	if (c->json)
		(void)printf("{\"sandbox\":\"%s\",\"enrolment\":\"%s\"}\n", m.s[1], m.s[0]);
	else
		(void)printf("%s\n", m.s[0]);
	if (!c->json && isatty(STDERR_FILENO))
		(void)fprintf(stderr, "This is the key of %s, shown once. Put it into a file on "
		    "its side, and start there:\n  ats-hands --workspace DIR --listen ADDRESS "
		    "--key-file FILE\n(--connect ADDRESS where brain listens)\n", m.s[1]);
	ats_ipc_done(&m);
	return fflush(stdout) == 0 ? CTL_OK : ctl_fail(CTL_FAIL, "sandbox: cannot print the key; "
	    "atsctl sandbox enroll --rotate makes another");
}

static int
revoke_key(struct ctl *c, const char *id)
{
	static struct ats_ipc_msg m;
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	int rc = brain_connect(c, true, &fd, &err);

	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_REVOKE, id, NULL, &m, &err);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	ats_ipc_done(&m);
	if (c->json)
		(void)printf("{}\n");
	else
		(void)printf("%s has no key any more\n", id);
	return CTL_OK;
}

int
cmd_sandbox(struct ctl *c, int argc, char **argv)
{
	const char *workspace = NULL;
	bool rotate = false;
	const struct ctl_opt opts[] = { { "workspace", 'w', CTL_OPT_STR, &workspace },
		{ "rotate", 0, CTL_OPT_FLAG, &rotate } };
	int code, n = ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code);

	if (n < 0)
		return code;
	if (strcmp(argv[1], "enroll") == 0)
		return n == 1 ? enroll(c, workspace, rotate) : ctl_fail(CTL_USAGE,
		    "sandbox enroll: takes no id; --workspace DIR names it by its workspace");
	if (workspace != NULL || rotate)
		return ctl_fail(CTL_USAGE, "sandbox %s: --workspace and --rotate are for enroll",
		    argv[1]);
	if (strcmp(argv[1], "revoke") == 0 && n == 2)
		return revoke_key(c, argv[2]);
	if (strcmp(argv[1], "revoke") == 0)
		return ctl_fail(CTL_USAGE, "sandbox revoke: the id is missing; atsctl sandbox ls "
		    "shows the ids");
	for (size_t i = 0; i < ATS_ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].verb) != 0)
			continue;
		if (n != (verbs[i].wants_id ? 2 : 1) && strcmp(argv[1], "upgrade") != 0)
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
