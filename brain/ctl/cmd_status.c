/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl status: what the vault and the engine say. Process: atsctl. */
#include <string.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"

#define TEXT_MAX (4u << 20)

static bool
has_word(struct ats_slice object, const char *name, const char *const *words, size_t n)
{
	struct ats_json_val v;

	if (!ats_json_get(object, name, &v) || v.type != ATS_JSON_STRING)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (v.raw.n == strlen(words[i]) + 2 &&
		    memcmp(v.raw.p + 1, words[i], v.raw.n - 2) == 0)
			return true;
	}
	return false;
}

/* Waits for its next call, with the reason of its end. */
static bool
is_given_up(struct ats_slice box)
{
	static const char *const none[] = { "none" }, *const asked[] = { "ended by request" };
	struct ats_json_val v;

	return has_word(box, "state", none, 1) && ats_json_get(box, "last_error", &v) &&
	       !has_word(box, "last_error", asked, 1);
}

/* The engine says so itself, or a sandbox is lost or only partly confined. */
static bool
is_degraded(struct ats_slice status)
{
	static const char *const bad[] = { "degraded", "lost", "failed", "backoff",
		"dying" };
	struct ats_json_val v, box;
	struct ats_json_iter it;
	struct ats_slice key;

	if (has_word(status, "health", bad, 1) ||
	    (ats_json_get(status, "degraded", &v) && v.b))
		return true;
	if (!ats_json_get(status, "sandboxes", &v) || v.type != ATS_JSON_ARRAY)
		return false;
	for (ats_json_iter_init(&it, v.raw); ats_json_next(&it, &key, &box);) {
		if (has_word(box.raw, "state", bad, ATS_ARRAY_LEN(bad)))
			return true;
		if (is_given_up(box.raw))
			return true;
	}
	return false;
}

static int
ask(struct ctl *c, struct ats_ipc_msg *m, struct door *d, struct door_msg *status,
    struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	int rc = brain_connect(c, false, &fd, err);

	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_VAULT_STATUS, NULL, NULL, m, err);
	if (rc < 0)
		return rc;
	rc = door_connect(d, c, err);
	if (rc == 0)
		rc = door_call(d, "ats/status", NULL, status, err);
	if (rc == -ATS_E_NOENT)
		rc = ats_err_set(err, ATS_E_EOF, "%s: not there", c->door_path);
	return rc;
}

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

/* Why a sandbox is not there: too long for its table. */
static void
print_reasons(struct ats_slice engine)
{
	struct ats_json_val v, box, id, why;
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_buf b;

	if (!ats_json_get(engine, "sandboxes", &v) || v.type != ATS_JSON_ARRAY)
		return;
	ats_buf_init(&b, TEXT_MAX);
	for (ats_json_iter_init(&it, v.raw); ats_json_next(&it, &key, &box);) {
		ats_buf_reset(&b);
		if (!is_given_up(box.raw) || !ats_json_get(box.raw, "id", &id) ||
		    !ats_json_get(box.raw, "last_error", &why) ||
		    ats_json_to_str(&id, &b) < 0 || ats_buf_add_str(&b, ": ") < 0 ||
		    ats_json_to_str(&why, &b) < 0)
			continue;
		(void)putchar('\n');
		out_safe(stdout, b.data, b.len);
		(void)putchar('\n');
	}
	ats_buf_done(&b);
}

static int
show(struct ctl *c, const struct ats_ipc_msg *m, const struct door_msg *status)
{
	bool degraded = is_degraded(status->result);
	struct ats_slice vault = { m->s[0], strlen(m->s[0]) };
	struct ats_json_w w;
	struct ats_buf b;

	if (ats_json_scan(vault.p, vault.n, NULL) < 0)
		vault = (struct ats_slice){ "{}", 2 };
	ats_buf_init(&b, TEXT_MAX);
	ats_json_w_init(&w, &b);
	ats_json_w_object(&w, NULL);
	if (c->json)
		ats_json_w_bool(&w, "running", true);
	ats_json_w_str(&w, "health", degraded ? "degraded" : "healthy");
	if (c->json) {
		ats_json_w_raw(&w, "vault", vault.p, vault.n);
		ats_json_w_raw(&w, "engine", status->result.p, status->result.n);
	} else {
		write_summary(&w, vault, status->result);
	}
	ats_json_w_end(&w);
	if (w.rc == 0)
		out_result(c, b.data, b.len);
	if (!c->json)
		print_reasons(status->result);
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

	if (ctl_args(c, NULL, 0, false, 0, 0, argc, argv, &code) < 0)
		return code;
	m.nfds = 0;
	rc = ask(c, &m, &d, &status, &err);
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
