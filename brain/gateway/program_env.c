/* SPDX-License-Identifier: Apache-2.0
 *
 * Environments. Runs in ats-gateway; all in them is the configuration's. */
#include "brain/gateway/program_env.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/gateway/gateway.h"
#include "common/fd.h"
#include "common/secret.h"

#define PATH "/usr/local/bin:/usr/bin:/bin"

static int
add(struct program_env *e, const char *name, const char *value)
{
	size_t n = strlen(name) + strlen(value) + 2;
	char *s = malloc(n);

	if (s == NULL)
		return -ATS_E_NOMEM;
	(void)snprintf(s, n, "%s=%s", name, value);
	e->v[e->n++] = s;
	return 0;
}

static bool
has(const struct ats_gw_config *c, const char *name)
{
	for (size_t i = 0; i < c->env.n; i++)
		if (strcmp(c->env.v[i].name, name) == 0)
			return true;
	return c->credential_env != NULL && strcmp(c->credential_env, name) == 0;
}

static int
add_defaults(struct program_env *e, const struct ats_gw_config *c)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *const rows[][2] = {
		{ "PATH", PATH },
		{ "LANG", "C.UTF-8" },
		{ "HOME", pw != NULL ? pw->pw_dir : "/" },
		{ "USER", pw != NULL ? pw->pw_name : "nobody" },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(rows); i++)
		if (!has(c, rows[i][0]))
			rc = add(e, rows[i][0], rows[i][1]);
	return rc;
}

int
program_env_make(struct gateway *g, struct program_env *ret, struct ats_err *err)
{
	const struct ats_gw_config *c = &g->conf;
	int rc = -ATS_E_NOMEM;

	*ret = (struct program_env){ .v = calloc(c->env.n + 6, sizeof(char *)) };
	if (ret->v != NULL)
		rc = add_defaults(ret, c);
	for (size_t i = 0; rc == 0 && i < c->env.n; i++)
		rc = add(ret, c->env.v[i].name, c->env.v[i].value);
	if (rc == 0 && c->credential_env != NULL && g->credential != NULL)
		rc = add(ret, c->credential_env, ats_secret_bytes(g->credential, NULL));
	return rc < 0 ? ats_err_set(err, -rc, "out of memory") : 0;
}

void
program_env_done(struct program_env *e)
{
	for (size_t i = 0; i < e->n; i++) {
		ats_secret_wipe(e->v[i], strlen(e->v[i]));
		free(e->v[i]);
	}
	free(e->v);
	*e = (struct program_env){ 0 };
}

int
program_env_secret_pipe(struct gateway *g, int *ret_fd, struct ats_err *err)
{
	size_t n;
	const void *secret = ats_secret_bytes(g->credential, &n);
	int fds[2], rc;

	if (ats_fd_pipe(fds, 0) < 0)
		return ats_err_sys(err, "pipe");
	/* ATS_SECRET_MAX is less than a pipe holds. */
	rc = ats_fd_write_all(fds[1], secret, n);
	ats_fd_close(&fds[1]);
	if (rc < 0) {
		ats_fd_close(&fds[0]);
		return ats_err_set(err, ATS_E_SYS, "the credential cannot be written to a pipe");
	}
	*ret_fd = fds[0];
	return 0;
}
