/* SPDX-License-Identifier: Apache-2.0
 *
 * "credentials" and "gateways" of the configuration. Runs in ats-brain before it has children;
 * the user's own file is the input. */
#include "brain/vault/sources.h"

#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "common/json.h"
#include "common/path.h"

static int
wrong(struct ats_err *err, const char *name, const char *what)
{
	return ats_err_set(err, ATS_E_CONFIG, "credentials.%.64s: %s", name, what);
}

static bool
is_plain(const char *s, size_t max)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_.-";
	size_t n = strspn(s, letters);

	return n > 0 && n < max && s[n] == '\0' && s[0] != '.' && s[0] != '-';
}

static int
read_argv(struct credential_source *to, const struct ats_json_val *v, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val e;

	if (v->type != ATS_JSON_ARRAY)
		return wrong(err, to->name, "\"command\" must be an array of strings");
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &key, &e)) {
		char *s = to->argv.n < ATS_CONF_STRV_MAX ? ats_json_dup_str(&e) : NULL;

		if (s == NULL)
			return wrong(err, to->name, "\"command\" must be at most 64 strings");
		to->argv.v[to->argv.n++] = s;
	}
	if (to->argv.n == 0 || to->argv.v[0][0] != '/')
		return wrong(err, to->name,
		    "\"command\" must be a program's absolute path and its arguments");
	return 0;
}

static int
read_source(struct credential_source *to, const struct ats_json_val *v, struct ats_err *err)
{
	static const char forms[] = "must be {\"file\": PATH}, {\"systemd\": NAME} or "
				    "{\"command\": [PATH, ...]}, with nothing else";
	struct ats_json_iter it;
	struct ats_slice key, rest;
	struct ats_json_val e, more;

	if (v->type != ATS_JSON_OBJECT)
		return wrong(err, to->name, forms);
	ats_json_iter_init(&it, v->raw);
	if (!ats_json_next(&it, &key, &e) || ats_json_next(&it, &rest, &more))
		return wrong(err, to->name, forms);
	if (ats_json_key_is(key, "command")) {
		to->kind = CREDENTIAL_COMMAND;
		return read_argv(to, &e, err);
	}
	to->kind = ats_json_key_is(key, "file") ? CREDENTIAL_FILE : CREDENTIAL_SYSTEMD;
	if (to->kind == CREDENTIAL_SYSTEMD && !ats_json_key_is(key, "systemd"))
		return wrong(err, to->name, forms);
	to->at = ats_json_dup_str(&e);
	if (to->at == NULL)
		return wrong(err, to->name, forms);
	if (to->kind == CREDENTIAL_FILE && (to->at[0] != '/' ||
	    strlen(to->at) >= ATS_PATH_MAX || to->at[strlen(to->at) - 1] == '/'))
		return wrong(err, to->name, "\"file\" must be a file's absolute path");
	if (to->kind == CREDENTIAL_SYSTEMD && !is_plain(to->at, 256))
		return wrong(err, to->name,
		    "\"systemd\" must be the name of a LoadCredential= of the unit");
	return 0;
}

static int
read_credentials(struct sources *g, const char *text, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	int rc = 0;

	g->credentials = ats_calloc(CREDENTIALS_MAX, sizeof(*g->credentials));
	if (g->credentials == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "credentials: out of memory");
	ats_json_iter_init(&it, (struct ats_slice){ text, strlen(text) });
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		char *name = ats_json_dup_key(key);

		if (g->ncredentials >= CREDENTIALS_MAX)
			rc = ats_err_set(err, ATS_E_CONFIG, "credentials: at most %d",
			    CREDENTIALS_MAX);
		else if (name == NULL || !is_plain(name, CREDENTIAL_NAME_MAX))
			rc = wrong(err, name != NULL ? name : "", "a name is at most 32 letters, "
			    "digits, '_', '.' and '-', and begins with neither of the last two");
		if (rc == 0) {
			struct credential_source *to = &g->credentials[g->ncredentials++];

			memcpy(to->name, name, strlen(name) + 1);
			rc = read_source(to, &v, err);
		}
		free(name);
	}
	return rc;
}

static int
read_gateway(struct sources *g, const char *name, const struct ats_json_val *v,
    struct ats_err *err)
{
	struct gateway_source *to = &g->v[g->n];
	const char *cred;
	int rc = ats_gw_config_read(&to->conf, name, v->raw, err);

	if (rc < 0)
		return rc;
	g->n++;
	to->json = ats_malloc(v->raw.n + 1);
	if (to->json == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "gateways: out of memory");
	memcpy(to->json, v->raw.p, v->raw.n);
	to->json[v->raw.n] = '\0';
	cred = to->conf.credential;
	if (cred != NULL && sources_credential(g, cred) == NULL)
		return ats_err_set(err, ATS_E_CONFIG, "gateways.%s.credential: \"%.64s\" is not in "
		    "\"credentials\"; add it there, or name another", name, cred);
	return 0;
}

static int
read_gateways(struct sources *g, const char *text, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	int rc = 0;

	g->v = ats_calloc(GATEWAYS_MAX, sizeof(*g->v));
	if (g->v == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "gateways: out of memory");
	ats_json_iter_init(&it, (struct ats_slice){ text, strlen(text) });
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		char *name = ats_json_dup_key(key);

		if (g->n >= GATEWAYS_MAX)
			rc = ats_err_set(err, ATS_E_CONFIG, "gateways: at most %d", GATEWAYS_MAX);
		else
			rc = read_gateway(g, name != NULL ? name : "", &v, err);
		free(name);
	}
	return rc;
}

int
sources_read(struct sources *ret, const char *credentials, const char *gateways,
    struct ats_err *err)
{
	int rc = 0;

	*ret = (struct sources){ 0 };
	if (credentials != NULL)
		rc = read_credentials(ret, credentials, err);
	if (rc == 0 && gateways != NULL)
		rc = read_gateways(ret, gateways, err);
	return rc;
}

void
sources_done(struct sources *g)
{
	for (size_t i = 0; i < g->ncredentials; i++) {
		free(g->credentials[i].at);
		for (size_t k = 0; k < g->credentials[i].argv.n; k++)
			free(g->credentials[i].argv.v[k]);
	}
	for (size_t i = 0; i < g->n; i++) {
		ats_gw_config_done(&g->v[i].conf);
		free(g->v[i].json);
	}
	free(g->credentials);
	free(g->v);
	*g = (struct sources){ 0 };
}

const struct credential_source *
sources_credential(const struct sources *g, const char *name)
{
	for (size_t i = 0; i < g->ncredentials; i++)
		if (strcmp(g->credentials[i].name, name) == 0)
			return &g->credentials[i];
	return NULL;
}

const struct gateway_source *
sources_gateway(const struct sources *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->v[i].conf.name, name) == 0)
			return &g->v[i];
	return NULL;
}
