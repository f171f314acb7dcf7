/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting ats-gateway, ats-http and the commands of credentials, and what of its own environment
 * the spawner gives to a program of the user's. Runs in the spawner; names come from the vault,
 * programs and arguments from the configuration. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/children.h"
#include "brain/vault/config.h"
#include "brain/vault/credentials.h"
#include "common/child.h"

#define NAMES_MAX 32

const char *const *
children_env(enum child_env who)
{
	static const struct {
		const char *name;
		unsigned who;
	} all[] = {
#define EACH (ENV_COMMAND | ENV_GATEWAY | ENV_CREDENTIAL | ENV_HOOK)
		/* What podman, docker, ssh, kubectl and servers of MCP need to find their own
		 * configuration. */
		{ "HOME", EACH }, { "PATH", EACH }, { "USER", EACH }, { "LOGNAME", EACH },
		{ "LANG", EACH }, { "TZ", EACH }, { "XDG_RUNTIME_DIR", EACH },
		{ "XDG_CONFIG_HOME", EACH },
		/* What pass, gpg and secret-tool need to reach their agent, and it a person. */
		{ "DBUS_SESSION_BUS_ADDRESS", ENV_CREDENTIAL }, { "GNUPGHOME", ENV_CREDENTIAL },
		{ "GPG_TTY", ENV_CREDENTIAL }, { "PASSWORD_STORE_DIR", ENV_CREDENTIAL },
		{ "SSH_AUTH_SOCK", ENV_CREDENTIAL }, { "DISPLAY", ENV_CREDENTIAL },
		{ "WAYLAND_DISPLAY", ENV_CREDENTIAL }, { "XAUTHORITY", ENV_CREDENTIAL },
		{ "XDG_DATA_HOME", ENV_CREDENTIAL },
		/* Whether the log is the journal's (common/log.h). */
		{ "JOURNAL_STREAM", ENV_GATEWAY },
		/* Of builds for tests. */
		{ "ATS_FAULT", ENV_GATEWAY }, { "ASAN_OPTIONS", ENV_GATEWAY },
		{ "UBSAN_OPTIONS", ENV_GATEWAY }, { "LSAN_OPTIONS", ENV_GATEWAY },
#undef EACH
	};
	static const char *env[NAMES_MAX + 1];
	size_t n = 0;

	_Static_assert(ATS_ARRAY_LEN(all) <= NAMES_MAX, "env");
	for (char **e = environ; *e != NULL && n < NAMES_MAX; e++)
		for (size_t i = 0; i < ATS_ARRAY_LEN(all); i++) {
			size_t len = strlen(all[i].name);

			if ((all[i].who & (unsigned)who) != 0 &&
			    strncmp(*e, all[i].name, len) == 0 && (*e)[len] == '=') {
				env[n++] = *e;
				break;
			}
		}
	env[n] = NULL;
	return env;
}

int
children_start_gateway(struct children *k, const struct gateway_source *g, int vault_fd,
    pid_t *ret_pid, struct ats_err *err)
{
	const char *argv[] = { "ats-gateway", "--brain-version", ATS_VERSION, g->conf.name,
		NULL };
	const struct ats_child_fd fds[] = { { STDERR_FILENO, 2 }, { vault_fd, 3 } };
	struct ats_child what = { .argv = argv, .env = children_env(ENV_GATEWAY), .fds = fds,
		.nfds = ATS_ARRAY_LEN(fds) };
	char id[CHILD_ID_MAX];

	(void)snprintf(id, sizeof(id), CHILD_GATEWAY "%s", g->conf.name);
	return children_start_own(k, id, &what, "ats-gateway", ret_pid, err);
}

int
children_start_credential(struct children *k, const struct credential_source *s, int out_fd,
    int err_fd, pid_t *ret_pid, struct ats_err *err)
{
	const struct ats_child_fd fds[] = { { out_fd, 1 }, { err_fd, 2 } };
	struct ats_child what = { .path = s->argv.v[0],
		.argv = (const char *const *)(const void *)s->argv.v,
		.env = children_env(ENV_CREDENTIAL), .fds = fds, .nfds = ATS_ARRAY_LEN(fds) };
	char id[CHILD_ID_MAX];

	(void)snprintf(id, sizeof(id), CHILD_CREDENTIAL "%s", s->name);
	return children_start(k, id, &what, true, false, ret_pid, err);
}

/* ---- ats-http -------------------------------------------------------------------------- */

#define HTTP_ARGS (13 + 2 * 3 * ATS_CONF_STRV_MAX)

static void
add_each(const char **argv, size_t *n, const char *option, const struct ats_conf_strv *list)
{
	for (size_t i = 0; i < list->n && *n + 2 < HTTP_ARGS; i++) {
		argv[(*n)++] = option;
		argv[(*n)++] = list->v[i];
	}
	argv[*n] = NULL;
}

int
children_start_http(struct children *k, const struct config *conf, int vault_fd,
    pid_t *ret_pid, struct ats_err *err)
{
	const char *argv[HTTP_ARGS + 1] = { "ats-http", "--vault-fd", "3", "--brain-version",
		ATS_VERSION, "--token-file",
		conf->http_token_file, "--workspace", conf->http_workspace, "--runtime",
		k->places->runtime };
	const struct ats_child_fd fds[] = { { STDERR_FILENO, 2 }, { vault_fd, 3 } };
	struct ats_child what = { .argv = argv, .fds = fds, .nfds = ATS_ARRAY_LEN(fds) };
	size_t n = 11;

	add_each(argv, &n, "--listen", &conf->http_listen);
	add_each(argv, &n, "--host", &conf->http_hosts);
	add_each(argv, &n, "--origin", &conf->http_origins);
	if (conf->http_metrics_token_file[0] != '\0' && n + 2 < HTTP_ARGS) {
		argv[n++] = "--metrics-token-file";
		argv[n++] = conf->http_metrics_token_file;
	}
	return children_start_own(k, CHILD_HTTP, &what, "ats-http", ret_pid, err);
}
