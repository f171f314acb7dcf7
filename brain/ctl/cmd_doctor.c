/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl doctor: what this machine can do. The layers come from ats-hands --probe, which
 * tries them; the rest is looked at here. Process: atsctl. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/ctl/health.h"
#include "brain/ctl/output.h"
#include "brain/ctl/run.h"

#define PROBE_MS 30000u
#define TEXT_MAX (1u << 20)

struct doctor {
	struct ats_json_w w;
	bool partial;
};

static void
add_row(struct doctor *d, const char *name, const char *state, const char *why,
    const char *remedy)
{
	ats_json_w_object(&d->w, NULL);
	ats_json_w_str(&d->w, "name", name);
	ats_json_w_str(&d->w, "state", state);
	ats_json_w_str(&d->w, "why", why);
	ats_json_w_str(&d->w, "remedy", remedy);
	ats_json_w_end(&d->w);
}

static void
add(struct doctor *d, const char *name, bool on, const char *why, const char *remedy)
{
	add_row(d, name, on ? "on" : "off", why, on ? "" : remedy);
	d->partial = d->partial || !on;
}

static void
check_program(struct doctor *d, const char *name)
{
	char path[ATS_PATH_MAX];
	struct ats_err err = { 0 };
	bool on = brain_program(name, path, &err) == 0;

	add(d, name, on, on ? path : "not found", err.text);
}

static void
check_tool(
    struct doctor *d, const char *name, const char *const *paths, const char *remedy)
{
	for (size_t i = 0; paths[i] != NULL; i++) {
		if (access(paths[i], X_OK) == 0) {
			add(d, name, true, paths[i], "");
			return;
		}
	}
	add(d, name, false, "not found in the usual places", remedy);
}

static void
check_directory(struct doctor *d, const char *name, const char *dir)
{
	struct ats_err err = { 0 };
	bool on = ats_places_make(dir, &err) == 0;

	add(d, name, on, on ? dir : err.text,
	    "make it a directory of yours with mode 0700, or set XDG_RUNTIME_DIR and "
	    "HOME");
}

static void
check_config(struct doctor *d)
{
	struct config_verdict v;
	char text[ATS_PATH_MAX + 64], *line, *save = NULL;

	config_verdict(NULL, &v);
	(void)snprintf(text, sizeof(text), v.exists ? "%s: OK" : "%s is not there: defaults",
	    v.file);
	add(d, "configuration", v.ok, v.ok ? text : v.why,
	    "mend it (docs/gen/config.md lists the keys), then atsctl config check");
	if (v.ok && v.url[0] != '\0') {
		(void)snprintf(text, sizeof(text), "%s: sandboxes are there, the layers above are "
		    "this machine's", v.url);
		add(d, "sandbox.url", true, text, "");
	}
	if (v.ok && v.hooks[0] != '\0') {
		(void)snprintf(text, sizeof(text), "%s: run on this machine, in no sandbox",
		    v.hooks);
		add(d, "hooks", true, text, "");
	}
	for (line = strtok_r(v.warnings, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		add_row(d, "configuration", "warning", line,
		    "leave that key out, unless it is meant");
}

static void
check_dependencies(struct ctl *c, struct doctor *d)
{
	static const char *const bash[] = { "/bin/bash", "/usr/bin/bash", NULL };
	static const char *const git[] = { "/usr/bin/git", "/usr/local/bin/git",
		"/bin/git", NULL };
	struct ats_err err = { 0 };

	check_program(d, "ats-brain");
	check_program(d, "ats-engine");
	check_program(d, "ats-gateway");
	check_program(d, "ats-hands");
	if (ats_places_find(&c->places, &err) < 0) {
		add(d, "places", false, err.text, "set HOME");
	} else {
		check_directory(d, "runtime directory", c->places.runtime);
		check_directory(d, "state directory", c->places.state);
	}
	check_config(d);
	check_tool(d, "bash", bash, "install the package bash: the Bash tool needs it");
	check_tool(d, "git", git, "install the package git, if agents shall use it");
}

/* A brain that runs, and what of it does not; none is started. */
static void
check_running(struct ctl *c, struct doctor *d)
{
	static struct ats_ipc_msg m;	/* 64 KiB */
	struct door door = { .fd = -1 };
	struct door_msg status;
	struct ats_err err = { 0 };
	int rc;

	m.nfds = 0;
	rc = health_ask(c, &m, &door, &status, &err);
	if (rc == -ATS_E_NOENT) {
		add_row(d, "brain", "idle", "it does not run, nor do ats-http and gateways of "
		    "brain.json: the first exec, call or mcp starts it", "");
	} else if (rc < 0) {
		add(d, "brain", false, err.text,
		    "look into brain.log in the state directory; atsctl shutdown ends it");
	} else {
		add(d, "brain", true, "it runs, and answers", "");
		if (health_write(&d->w, health_vault(&m), status.result) > 0)
			d->partial = true;
	}
	ats_ipc_done(&m);
	door_close(&door);
}

/* Appends the layers of the probe to the open array; *ret_level and *ret_confinement are owned by
 * text. */
static void
probe(struct doctor *d, struct ats_buf *text, struct ats_json_val *ret_level,
    struct ats_json_val *ret_confinement)
{
	static const char *const argv[] = { "ats-hands", "--probe", NULL };
	struct ats_json_val layers = { 0 }, v;
	struct ats_json_iter it;
	struct ats_err err = { 0 };
	struct ats_slice key, all;
	int status = 0;

	if (run_program(argv, 1, PROBE_MS, text, &status, &err) < 0) {
		add(d, "confinement", false, err.text, "install ats-hands beside atsctl");
		return;
	}
	all = (struct ats_slice){ text->data, text->len };
	if (status > 1 || ats_json_scan(all.p, all.n, &err) < 0 ||
	    !ats_json_get(all, "layers", &layers) || layers.type != ATS_JSON_ARRAY) {
		add(d, "confinement", false, "ats-hands --probe gave no answer",
		    "run it by hand to see why");
		return;
	}
	d->partial = d->partial || status != 0;
	for (ats_json_iter_init(&it, layers.raw); ats_json_next(&it, &key, &v);)
		ats_json_w_raw(&d->w, NULL, v.raw.p, v.raw.n);
	(void)ats_json_get(all, "level", ret_level);
	(void)ats_json_get(all, "confinement", ret_confinement);
}

static void
add_cell(struct out_table *t, struct ats_slice row, const char *name)
{
	char *s = NULL;
	struct ats_json_val v;

	if (ats_json_get(row, name, &v))
		s = ats_json_dup_str(&v);
	out_table_cell(t, s != NULL ? s : "", s != NULL ? strlen(s) : 0);
	free(s);
}

/* For people: a line for each row, and below it what to do. */
static void
show_rows(struct ats_slice report, const char *array)
{
	struct ats_json_val rows, row, v;
	struct ats_json_iter it;
	struct ats_slice key;
	struct out_table t;
	char *s;

	if (!ats_json_get(report, array, &rows))
		return;
	(void)printf("\n%s:\n", array);
	out_table_init(&t, 3);
	for (ats_json_iter_init(&it, rows.raw); ats_json_next(&it, &key, &row);) {
		add_cell(&t, row.raw, "name");
		add_cell(&t, row.raw, "state");
		add_cell(&t, row.raw, "why");
		s = ats_json_get(row.raw, "remedy", &v) ? ats_json_dup_str(&v) : NULL;
		if (s != NULL && s[0] != '\0') {
			out_table_cell(&t, "", 0);
			out_table_cell(&t, "", 0);
			out_table_line(&t, "remedy: ", s);
		}
		free(s);
	}
	out_table_print(&t, stdout);
	out_table_done(&t);
}

static void
show(struct ats_slice report, bool partial)
{
	const char *note = partial ? "what is not on is explained below" : "";
	struct out_table t;

	out_table_init(&t, 3);
	out_table_cell(&t, "result", 6);
	out_table_cell(&t, partial ? "partial" : "full", partial ? 7 : 4);
	out_table_cell(&t, note, strlen(note));
	note = ats_json_member_is(report, "level", "namespaces") ? "" :
	    "no sandbox starts, unless sandbox.min_level allows it";
	out_table_cell(&t, "level", 5);
	add_cell(&t, report, "level");
	out_table_cell(&t, note, strlen(note));
	out_table_print(&t, stdout);
	out_table_done(&t);
	show_rows(report, "layers");
	show_rows(report, "dependencies");
	show_rows(report, "running");
}

static int
examine(struct ctl *c, struct ats_buf *out, struct ats_buf *text)
{
	struct ats_json_val level = { 0 }, confinement = { 0 };
	struct doctor d = { 0 };

	ats_json_w_init(&d.w, out);
	ats_json_w_object(&d.w, NULL);
	ats_json_w_array(&d.w, "layers");
	probe(&d, text, &level, &confinement);
	ats_json_w_end(&d.w);
	ats_json_w_array(&d.w, "dependencies");
	check_dependencies(c, &d);
	ats_json_w_end(&d.w);
	ats_json_w_array(&d.w, "running");
	check_running(c, &d);
	ats_json_w_end(&d.w);
	if (level.raw.p != NULL)
		ats_json_w_raw(&d.w, "level", level.raw.p, level.raw.n);
	if (confinement.raw.p != NULL)
		ats_json_w_raw(&d.w, "confinement", confinement.raw.p, confinement.raw.n);
	ats_json_w_str(&d.w, "result", d.partial ? "partial" : "full");
	ats_json_w_end(&d.w);
	if (d.w.rc < 0)
		return ctl_fail(CTL_FAIL, "doctor: %s", ats_err_text(d.w.rc));
	if (c->json)
		out_result(c, out->data, out->len);
	else
		show((struct ats_slice){ out->data, out->len }, d.partial);
	return d.partial ? CTL_FAIL : CTL_OK;
}

int
cmd_doctor(struct ctl *c, int argc, char **argv)
{
	struct ats_buf out, text;
	int code;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	ats_buf_init(&out, TEXT_MAX);
	ats_buf_init(&text, TEXT_MAX / 2);
	code = examine(c, &out, &text);
	ats_buf_done(&out);
	ats_buf_done(&text);
	return code;
}
