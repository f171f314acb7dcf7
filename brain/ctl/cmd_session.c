/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl session. Process: atsctl. */
#include <inttypes.h>
#include <string.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/query.h"

static void
print_session(const struct ctl *c, const struct ctl_session *s)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	ats_buf_init(&out, 2 * ATS_PATH_MAX * 6);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "session", s->id);
	ats_json_w_str(&w, "sandbox", s->sandbox);
	ats_json_w_str(&w, "door", c->door_path);
	ats_json_w_end(&w);
	(void)printf("%s\n", out.data);
}

/* A new one, or the one that which names: found, or made if it is a name. */
static int
make_session(struct ctl *c, const char *which, const char *workspace)
{
	struct session_ask ask = { .session = which, .workspace = workspace };
	struct ctl_session s = { .door.fd = -1 };
	struct ats_err err = { 0 };
	char key[64];
	uint64_t r;
	int rc = ctl_random(&r);

	if (rc < 0)
		return ctl_fail(CTL_FAIL, "session: getrandom failed");
	(void)snprintf(key, sizeof(key), "new:%" PRIx64, r);
	ask.key = key;
	rc = session_register(c, &ask, &s, &err);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	if (c->json)
		print_session(c, &s);
	else
		(void)printf("%s\n", s.id);
	return CTL_OK;
}

static int
close_session(struct ctl *c, const char *id)
{
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	static struct ats_ipc_msg m;	/* 64 KiB */
	int rc = brain_connect(c, false, &fd, &err);

	if (rc == -ATS_E_NOENT)
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_CLOSE_SESSION, id, NULL, &m, &err);
	if (rc == -ATS_E_UNKNOWN_ID)
		return query_unknown(c, id, "session ls", &err);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	ats_ipc_done(&m);
	if (c->json)
		(void)printf("{}\n");
	return CTL_OK;
}

/* Shows or closes one that is named by its id or by its name in the workspace. */
static int
on_one(struct ctl *c, const char *verb, const char *which, const char *workspace)
{
	const struct session_ask ask = { .session = which, .workspace = workspace };
	struct ctl_session s = { .door.fd = -1 };
	int ATS_CLEANUP_FD fd = -1;
	struct ats_err err = { 0 };
	int rc = brain_connect(c, false, &fd, &err);

	if (rc == -ATS_E_NOENT)
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	if (rc == 0)
		rc = session_find(fd, &ask, &s, &err);
	if (rc == -ATS_E_UNKNOWN_ID)
		return ctl_fail_code(CTL_FAIL, ats_err_name(-rc),
		    "session: %s: %s; atsctl session ls shows all, --workspace names another",
		    which, err.text);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	return strcmp(verb, "show") == 0 ? query(c, "ats/session.show", s.id, NULL) :
	    close_session(c, s.id);
}

int
cmd_session(struct ctl *c, int argc, char **argv)
{
	const char *workspace = NULL, *verb, *id;
	const struct ctl_opt opts[] = { { "workspace", 'w', CTL_OPT_STR, &workspace } };
	int code, n;

	n = ctl_args(c, opts, ATS_ARRAY_LEN(opts), argc, argv, &code);
	if (n < 0)
		return code;
	verb = argv[1];
	id = n == 2 ? argv[2] : NULL;
	if ((strcmp(verb, "new") == 0 && id == NULL) || (strcmp(verb, "open") == 0 && id != NULL))
		return make_session(c, id, workspace);
	if (strcmp(verb, "ls") == 0 && id == NULL)
		return query(c, "ats/session.list", NULL, NULL);
	if (id != NULL && (strcmp(verb, "show") == 0 || strcmp(verb, "close") == 0))
		return on_one(c, verb, id, workspace);
	if (strcmp(verb, "show") == 0 || strcmp(verb, "close") == 0 || strcmp(verb, "open") == 0)
		return ctl_fail(CTL_USAGE,
		    "session %s: the id or name is missing; atsctl session ls shows the ids", verb);
	if (strcmp(verb, "new") == 0 || strcmp(verb, "ls") == 0)
		return ctl_fail(CTL_USAGE, "session %s: takes no id", verb);
	return ctl_fail(CTL_USAGE, "session %s: unknown; usage: atsctl session %s", verb,
	    c->command->usage);
}
