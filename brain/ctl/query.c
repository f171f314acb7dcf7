/* SPDX-License-Identifier: Apache-2.0
 *
 * One method, one answer. Process: atsctl. */
#include "brain/ctl/query.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"

static int
build(struct ats_buf *params, const char *id, struct ats_err *err)
{
	struct ats_json_w w;

	ats_json_w_init(&w, params);
	ats_json_w_object(&w, NULL);
	if (id != NULL)
		ats_json_w_str(&w, "id", id);
	ats_json_w_end(&w);
	return w.rc < 0 ? ats_err_set(err, -w.rc, "the id is too long") : 0;
}

static void
show(struct ctl *c, struct ats_slice result, const char *text_member)
{
	struct ats_json_val v;
	struct ats_buf b;

	if (!c->json && text_member != NULL && text_member[0] == '\0')
		return;
	if (c->json || text_member == NULL || !ats_json_get(result, text_member, &v)) {
		out_result(c, result.p, result.n);
		return;
	}
	ats_buf_init(&b, DOOR_LINE_MAX);
	if (ats_json_to_str(&v, &b) == 0) {
		/* line by line: what a sandbox logged must not steer a terminal */
		for (const char *p = b.data; *p != '\0';) {
			const char *end = strchrnul(p, '\n');

			out_safe(stdout, p, (size_t)(end - p));
			(void)fputc('\n', stdout);
			p = *end != '\0' ? end + 1 : end;
		}
	}
	ats_buf_done(&b);
}

int
query_unknown(const struct ctl *c, const char *id, const char *lists, const struct ats_err *err)
{
	const char *name = c->command->name, *code = ats_err_name(ATS_E_UNKNOWN_ID);
	const char *sudo = geteuid() == 0 && c->socket == NULL ? getenv("SUDO_USER") : NULL;

	/* Brain has more to say to root: whose it is. */
	if (strncmp(err->text, ATS_IS_OF_UID, strlen(ATS_IS_OF_UID)) == 0)
		return ctl_fail_code(CTL_FAIL, code, "%s: %s: %s", name, id, err->text);
	if (sudo != NULL)
		return ctl_fail_code(CTL_FAIL, code, "%s: %s: unknown id to root's own brain; "
		    "without sudo that of %s is asked", name, id, sudo);
	return ctl_fail_code(CTL_FAIL, code, "%s: %s: unknown id; atsctl %s shows the ids", name,
	    id, lists);
}

int
query(struct ctl *c, const char *method, const char *id, const char *text_member)
{
	struct door d = { .fd = -1 };
	struct ats_err err = { 0 };
	struct ats_buf params;
	struct door_msg m;
	int rc;

	ats_buf_init(&params, 4096);
	rc = build(&params, id, &err);
	if (rc == 0) {
		rc = brain_door(c, &d, &err);
		if (rc == -ATS_E_NOENT) {
			ats_buf_done(&params);
			return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
		}
	}
	if (rc == 0)
		rc = door_call(&d, method, &params, &m, &err);
	if (rc == 0)
		show(c, m.result, text_member);
	door_close(&d);
	ats_buf_done(&params);
	if (rc == -ATS_E_UNKNOWN_ID && id != NULL)
		return query_unknown(c, id, "status", &err);
	return rc < 0 ? ctl_fail_err(c, CTL_FAIL, &err) : CTL_OK;
}
