/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl config check: lets ats-brain itself read the file (-n), so that there is one
 * opinion. Process: atsctl. */
#include <string.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"
#include "brain/ctl/run.h"
#include "common/json.h"

/* A line each; in place. */
static void
write_warnings(struct ats_json_w *w, char *lines)
{
	char *line, *save = NULL;

	ats_json_w_array(w, "warnings");
	for (line = strtok_r(lines, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		ats_json_w_str(w, NULL, line);
	ats_json_w_end(w);
}

static int
check(struct ctl *c, const char *file)
{
	struct config_verdict v;
	char *line, *save = NULL;
	struct ats_buf out;
	struct ats_json_w w;

	config_verdict(file, &v);
	if (!v.ok)
		return ctl_fail_code(CTL_USAGE, ats_err_name(ATS_E_CONFIG), "config: %s", v.why);
	if (!c->json) {
		(void)fputs(v.exists ? "configuration OK: " : "no configuration at ", stdout);
		out_safe(stdout, v.file, strlen(v.file));
		(void)puts(v.exists ? "" : ": defaults");
		if (v.url[0] != '\0') {
			(void)fputs("sandboxes are elsewhere: ", stdout);
			out_safe(stdout, v.url, strlen(v.url));
			(void)puts("");
		}
		if (v.hooks[0] != '\0') {
			(void)fputs("hooks run on this machine: ", stdout);
			out_safe(stdout, v.hooks, strlen(v.hooks));
			(void)puts("");
		}
		for (line = strtok_r(v.warnings, "\n", &save); line != NULL;
		    line = strtok_r(NULL, "\n", &save))
			(void)ctl_fail(CTL_OK, "config: warning: %s", line);
		return CTL_OK;
	}
	ats_buf_init(&out, 1 << 16);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_bool(&w, "ok", true);
	ats_json_w_str(&w, "file", v.file);
	ats_json_w_bool(&w, "exists", v.exists);
	if (v.url[0] != '\0')
		ats_json_w_str(&w, "sandbox_url", v.url);
	if (v.hooks[0] != '\0')
		ats_json_w_str(&w, "hooks", v.hooks);
	if (v.warnings[0] != '\0')
		write_warnings(&w, v.warnings);
	ats_json_w_end(&w);
	out_result(c, out.data, out.len);
	ats_buf_done(&out);
	return CTL_OK;
}

int
cmd_config(struct ctl *c, int argc, char **argv)
{
	char cwd[ATS_PATH_MAX], file[ATS_PATH_MAX];
	int code, n = ctl_args(c, NULL, 0, argc, argv, &code);

	if (n < 0)
		return code;
	if (strcmp(argv[1], "check") != 0)
		return ctl_fail(CTL_USAGE, "config %s: unknown; usage: atsctl config %s", argv[1],
		    c->command->usage);
	if (n == 1)
		return check(c, NULL);
	/* ats-brain runs in /, so the name must be whole */
	if (getcwd(cwd, sizeof(cwd)) == NULL ||
	    ats_path_join(cwd, argv[2], file, sizeof(file)) < 0)
		return ctl_fail(CTL_USAGE, "config: %s: not a usable path", argv[2]);
	return check(c, file);
}
