/* SPDX-License-Identifier: Apache-2.0
 *
 * "http" of the configuration. Runs in ats-brain before it has children; the user's own file is
 * the input. */
#include <string.h>
#include <unistd.h>

#include "brain/vault/config.h"
#include "brain/vault/http.h"
#include "common/workspace.h"

#define LISTEN_MAX 4u			/* as brain/http/limits.def */
#define NAMES_MAX 16u

bool
config_has_http(const struct config *c)
{
	return c->http_listen.n > 0;
}

static int
wrong(struct ats_err *err, const char *name, const char *key, const char *what)
{
	return ats_err_set(err, ATS_E_CONFIG, "%.200s: \"http.%s\" %s", name, key, what);
}

static int
check_listen(const struct config *c, const char *name, struct ats_err *err)
{
	const struct ats_conf_strv *l = &c->http_listen;
	struct ats_err why = { 0 };
	struct ats_addr a;

	if (l->n > LISTEN_MAX)
		return wrong(err, name, "listen", "has at most 4 entries");
	for (size_t i = 0; i < l->n; i++) {
		if (ats_addr_parse_own(l->v[i], &a, &why) < 0)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%.200s: \"http.listen\": entry %zu: %s", name, i + 1, why.text);
		for (size_t k = 0; k < i; k++)
			if (strcmp(l->v[i], l->v[k]) == 0)
				return wrong(err, name, "listen", "has an entry twice");
	}
	return 0;
}

static int
check_names(const struct ats_conf_strv *l, const char *key, const char *name,
    struct ats_err *err)
{
	if (l->n > NAMES_MAX)
		return wrong(err, name, key, "has at most 16 entries");
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i][0] == '\0' || strpbrk(l->v[i], " \t\r\n,") != NULL)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%.200s: \"http.%s\": entry %zu is not one name", name, key, i + 1);
	return 0;
}

/* A token that its own sandbox can read protects nothing. */
static bool
lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int
config_check_http(const struct config *c, const char *name, const struct ats_homes *homes,
    struct ats_err *err)
{
	const char *token = c->http_token_file, *ws = c->http_workspace;
	const char *metrics = c->http_metrics_token_file;
	char real[ATS_PATH_MAX];

	if (!config_has_http(c)) {
		if (token[0] != '\0' || metrics[0] != '\0' || ws[0] != '\0' ||
		    c->http_hosts.n + c->http_origins.n > 0)
			return wrong(err, name, "listen", "is missing, and without it nothing of "
			    "\"http\" is used; \"127.0.0.1:8765\" is usual");
		return 0;
	}
	if (check_listen(c, name, err) < 0 ||
	    check_names(&c->http_hosts, "hosts", name, err) < 0 ||
	    check_names(&c->http_origins, "origins", name, err) < 0)
		return -ATS_E_CONFIG;
	if (token[0] != '/' || strlen(token) >= ATS_PATH_MAX)
		return wrong(err, name, "token_file", "must be the absolute path of a file that "
		    "holds what clients send as Authorization: Bearer; openssl rand -hex 32 makes "
		    "some");
	if (metrics[0] != '\0' && (metrics[0] != '/' || strlen(metrics) >= ATS_PATH_MAX))
		return wrong(err, name, "metrics_token_file", "must be an absolute path");
	if (strcmp(metrics, token) == 0)
		return wrong(err, name, "metrics_token_file",
		    "must be another file than token_file");
	if (ws[0] != '/')
		return wrong(err, name, "workspace", "must be an absolute path");
	if (ats_workspace_check(homes, ws, real, err) < 0)
		return ats_err_wrap(err, "%.200s: \"http.workspace\"", name);
	if (lies_in(token, real) || lies_in(token, ws))
		return wrong(err, name, "token_file", "must not lie in the workspace, whose "
		    "sandbox could read it");
	if (lies_in(metrics, real) || lies_in(metrics, ws))
		return wrong(err, name, "metrics_token_file",
		    "must not lie in the workspace, whose "
		    "sandbox could read it");
	return 0;
}
