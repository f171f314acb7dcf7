/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl status: what the vault and the engine say. Process: atsctl. */
#include <stdio.h>
#include <stdlib.h>

#include "brain/ctl/health.h"
#include "brain/ctl/output.h"

#define TEXT_MAX (4u << 20)

static void
copy(struct ats_json_w *w, const char *name, struct ats_slice from, const char *member)
{
	struct ats_json_val v;
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;

	if (!ats_json_get(from, member, &v))
		return;
	ats_json_iter_init(&it, v.raw);
	if (v.type == ATS_JSON_ARRAY && !ats_json_next(&it, &key, &e))
		return;
	ats_json_w_raw(w, name, v.raw.p, v.raw.n);
}

/* For people what both say, once; the rest is for --json. */
static void
write_summary(struct ats_json_w *w, struct ats_slice vault, struct ats_slice engine)
{
	struct ats_json_val v;

	copy(w, "version", engine, "version");
	copy(w, "pid", vault, "pid");
	copy(w, "up_ms", vault, "uptime_ms");
	if (ats_json_get(vault, "engine", &v) && v.type == ATS_JSON_OBJECT)
		copy(w, "engine_starts", v.raw, "starts");
	copy(w, "clients", engine, "clients");
	copy(w, "calls_in_flight", engine, "calls_in_flight");
	copy(w, "approvals_waiting", vault, "approvals");
	copy(w, "answers_kept", engine, "journal_rows");
	copy(w, "http", vault, "http");
	copy(w, "gateways", vault, "gateways");
	copy(w, "hooks", engine, "hooks");
	copy(w, "sandboxes", engine, "sandboxes");
	copy(w, "sessions", engine, "sessions");
	copy(w, "calls", engine, "calls");
}

/* What is not as it should be, and what to do: too long for a table. */
static void
print_problems(struct ats_slice problems)
{
	struct ats_json_val row, v;
	struct ats_json_iter it;
	struct ats_slice key;

	for (ats_json_iter_init(&it, problems); ats_json_next(&it, &key, &row);) {
		char *name = ats_json_get(row.raw, "name", &v) ? ats_json_dup_str(&v) : NULL;
		char *why = ats_json_get(row.raw, "why", &v) ? ats_json_dup_str(&v) : NULL;
		char *todo = ats_json_get(row.raw, "remedy", &v) ? ats_json_dup_str(&v) : NULL;
		char *line = NULL;
		struct out_table t;

		out_table_init(&t, 1);
		if (name != NULL && why != NULL && todo != NULL &&
		    asprintf(&line, "%s: ", name) >= 0) {
			(void)putchar('\n');
			out_table_line(&t, line, why);
			out_table_line(&t, "remedy: ", todo);
		}
		out_table_print(&t, stdout);
		out_table_done(&t);
		free(line);
		free(name);
		free(why);
		free(todo);
	}
}

static int
show(struct ctl *c, const struct ats_ipc_msg *m, const struct door_msg *status)
{
	struct ats_slice vault = health_vault(m);
	struct ats_json_w w, pw;
	struct ats_buf b, problems;
	bool degraded;

	ats_buf_init(&b, TEXT_MAX);
	ats_buf_init(&problems, TEXT_MAX);
	ats_json_w_init(&pw, &problems);
	ats_json_w_array(&pw, NULL);
	degraded = health_write(&pw, vault, status->result) > 0 ||
	    health_is_degraded(status->result);
	ats_json_w_end(&pw);
	ats_json_w_init(&w, &b);
	ats_json_w_object(&w, NULL);
	if (c->json)
		ats_json_w_bool(&w, "running", true);
	ats_json_w_str(&w, "health", degraded ? "degraded" : "healthy");
	if (c->json) {
		if (pw.rc == 0)
			ats_json_w_raw(&w, "problems", problems.data, problems.len);
		ats_json_w_raw(&w, "vault", vault.p, vault.n);
		ats_json_w_raw(&w, "engine", status->result.p, status->result.n);
	} else {
		write_summary(&w, vault, status->result);
	}
	ats_json_w_end(&w);
	if (w.rc == 0)
		out_result(c, b.data, b.len);
	if (!c->json && pw.rc == 0)
		print_problems((struct ats_slice){ problems.data, problems.len });
	ats_buf_done(&problems);
	ats_buf_done(&b);
	return degraded ? CTL_FAIL : CTL_OK;
}

int
cmd_status(struct ctl *c, int argc, char **argv)
{
	struct door d = { .fd = -1 };
	struct door_msg status;
	struct ats_err err = { 0 };
	static struct ats_ipc_msg m;	/* 64 KiB */
	int code, rc;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	m.nfds = 0;
	rc = health_ask(c, &m, &d, &status, &err);
	if (rc == -ATS_E_NOENT) {
		if (c->json)
			(void)printf("{\"running\":false}\n");
		else
			(void)printf("%s\n", err.text);
		return CTL_NOT_RUNNING;
	}
	code = rc < 0 ? ctl_fail_err(c, CTL_FAIL, &err) : show(c, &m, &status);
	ats_ipc_done(&m);
	door_close(&d);
	return code;
}
