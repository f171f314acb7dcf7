/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl credential: names and states of the configured credentials, never a value, which does
 * not leave the vault. Process: atsctl. */
#include <stdlib.h>
#include <string.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"

#define ANSWER_MAX (1u << 20)

/* Asks for all (name "") or lets one be read again. The JSON text in m->s[0]. */
static int
ask(struct ctl *c, const char *name, struct ats_ipc_msg *m, struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	int rc = brain_connect(c, false, &fd, err);

	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_CREDENTIALS, name, NULL, m, err);
	if (rc == 0 && ats_json_scan(m->s[0], strlen(m->s[0]), NULL) < 0) {
		ats_ipc_done(m);
		rc = ats_err_set(err, ATS_E_PROTO, "brain's answer is not JSON");
	}
	return rc;
}

/* The array of an answer; empty when there is none. */
static struct ats_slice
list_of(const struct ats_ipc_msg *m)
{
	struct ats_slice answer = { m->s[0], strlen(m->s[0]) };
	struct ats_json_val v;

	if (ats_json_get(answer, "credentials", &v) && v.type == ATS_JSON_ARRAY)
		return v.raw;
	return (struct ats_slice){ "[]", 2 };
}

/* Adds the objects to w; the number of those that failed. */
static unsigned
add_all(struct ats_json_w *w, struct ats_slice list)
{
	struct ats_json_iter it;
	struct ats_json_val one;
	struct ats_slice key;
	unsigned n = 0;

	for (ats_json_iter_init(&it, list); ats_json_next(&it, &key, &one);) {
		ats_json_w_raw(w, NULL, one.raw.p, one.raw.n);
		n += one.type != ATS_JSON_OBJECT || ats_json_member_is(one.raw, "state", "failed");
	}
	return n;
}

/* Tests one, or each of those that are listed. */
static int
test(struct ctl *c, const char *name, struct ats_json_w *w, struct ats_ipc_msg *m,
    unsigned *ret_failed, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val one, v;
	struct ats_buf names;
	struct ats_slice key, list;
	int rc = ask(c, name, m, err);

	if (rc < 0)
		return rc;
	if (name[0] != '\0') {
		*ret_failed += add_all(w, list_of(m));
		ats_ipc_done(m);
		return 0;
	}
	/* m is used for each question: the list is kept */
	list = list_of(m);
	ats_buf_init(&names, ATS_IPC_MAX);
	rc = ats_buf_add(&names, list.p, list.n);
	list = (struct ats_slice){ names.data, names.len };
	ats_ipc_done(m);
	for (ats_json_iter_init(&it, list); rc == 0 && ats_json_next(&it, &key, &one);) {
		char *each = one.type == ATS_JSON_OBJECT && ats_json_get(one.raw, "name", &v) ?
		    ats_json_dup_str(&v) : NULL;

		if (each != NULL && each[0] != '\0')
			rc = test(c, each, w, m, ret_failed, err);
		free(each);
	}
	ats_buf_done(&names);
	return rc;
}

static int
run(struct ctl *c, bool tests, const char *name)
{
	static struct ats_ipc_msg m;	/* 64 KiB */
	struct ats_err err = { 0 };
	struct ats_json_w w;
	struct ats_buf out;
	unsigned failed = 0;
	int rc;

	ats_buf_init(&out, ANSWER_MAX);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_array(&w, "credentials");
	if (tests) {
		rc = test(c, name, &w, &m, &failed, &err);
	} else if ((rc = ask(c, "", &m, &err)) == 0) {
		(void)add_all(&w, list_of(&m));
		ats_ipc_done(&m);
	}
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	if (rc == 0 && w.rc < 0)
		rc = ats_err_set(&err, -w.rc, "%s", ats_err_text(w.rc));
	if (rc == 0 && !c->json && strcmp(out.data, "{\"credentials\":[]}") == 0)
		(void)printf("no credential is configured\n");
	else if (rc == 0)
		out_result(c, out.data, out.len);
	ats_buf_done(&out);
	if (rc == -ATS_E_NOENT && m.type != ATS_MSG_FAILED)	/* not the name, but brain */
		return ctl_fail_err(c, CTL_NOT_RUNNING, &err);
	if (rc < 0)
		return ctl_fail_err(c, CTL_FAIL, &err);
	return failed > 0 ? CTL_FAIL : CTL_OK;
}

int
cmd_credential(struct ctl *c, int argc, char **argv)
{
	int code, n = ctl_args(c, NULL, 0, argc, argv, &code);

	if (n < 0)
		return code;
	if (strcmp(argv[1], "ls") == 0 && n == 1)
		return run(c, false, "");
	if (strcmp(argv[1], "test") == 0)
		return run(c, true, n == 2 ? argv[2] : "");
	return ctl_fail(CTL_USAGE, strcmp(argv[1], "ls") == 0 ? "credential ls: takes no name" :
	    "credential: unknown; usage: atsctl credential ls|test [NAME]");
}
