/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands, and where brain's sockets are. Process: atsctl. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/ctl/ctl.h"

const struct ctl_command ctl_commands[] = {
#define COMMAND(ident, name, usage_exit, least, most, usage, doc)                        \
	{ (name), (usage_exit), (least), (most), (usage), (doc), cmd_##ident },
#include "brain/ctl/commands.def"
#undef COMMAND
};
const size_t ctl_ncommands = ATS_ARRAY_LEN(ctl_commands);

void
ctl_help(FILE *to)
{
	(void)fprintf(
	    to, "usage: atsctl [--socket PATH] [--json] [--no-start] COMMAND\n\n");
	for (size_t i = 0; i < ctl_ncommands; i++) {
		const char *doc = ctl_commands[i].doc;
		size_t n = strcspn(doc, ".;");

		(void)fprintf(to, "  %-11s %.*s\n", ctl_commands[i].name, (int)n, doc);
	}
	(void)fprintf(to, "\natsctl COMMAND --help says more.\n");
}

const struct ctl_command *
ctl_find_command(const char *name)
{
	for (size_t i = 0; i < ctl_ncommands; i++) {
		if (strcmp(ctl_commands[i].name, name) == 0)
			return &ctl_commands[i];
	}
	return NULL;
}

static int
put(char out[ATS_PATH_MAX], const char *dir, size_t n, const char *name,
    struct ats_err *err)
{
	int len = snprintf(out, ATS_PATH_MAX, "%.*s/%s", (int)n, dir, name);

	if (len < 0 || len >= ATS_PATH_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "%.64s...: path too long", dir);
	return 0;
}

int
ctl_find_places(struct ctl *c, struct ats_err *err)
{
	char cwd[ATS_PATH_MAX], full[ATS_PATH_MAX];
	const char *slash;
	struct stat st;
	size_t n;
	int rc;

	if (c->socket == NULL) {
		rc = ats_places_find(&c->places, err);
		n = strlen(c->places.runtime);
		if (rc == 0)
			rc = put(c->vault_path, c->places.runtime, n, "vault.sock", err);
		if (rc == 0)
			rc = put(c->door_path, c->places.runtime, n, "brain.sock", err);
		return rc;
	}
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return ats_err_sys(err, "current directory");
	rc = ats_path_join(cwd, c->socket, full, sizeof(full));
	if (rc < 0)
		return ats_err_set(err, -rc, "--socket %.64s: not a path", c->socket);
	if (stat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
		rc = put(c->vault_path, full, strlen(full), "vault.sock", err);
		return rc < 0 ? rc : put(c->door_path, full, strlen(full), "brain.sock", err);
	}
	slash = strrchr(full, '/');
	n = (size_t)(slash - full);
	rc = put(c->vault_path, full, n, "vault.sock", err);
	if (rc == 0)
		rc = put(c->door_path, full, n, slash + 1, err);
	return rc;
}
