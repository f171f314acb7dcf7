/* SPDX-License-Identifier: Apache-2.0
 *
 * One gateway of the configuration. Runs in ats-brain at its start, in ats-gateway, and where a
 * file is checked; the user's own file is the input. */
#include "proto/gateway_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "proto/brain.h"
#include "proto/gateway_config_in.h"

#define HTTP ATS_GW_HTTP
#define COMMAND ATS_GW_COMMAND
#define MCP ATS_GW_MCP
#define ANY (HTTP | COMMAND | MCP)
#define FD_LEAST 3
#define FD_MOST 9

static int
take_fd(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	uint64_t n;

	if (ats_json_to_u64(v, &n) < 0 || n < FD_LEAST || n > FD_MOST)
		return ats_gw_wrong(in, key, "must be a number from %d to %d", FD_LEAST, FD_MOST);
	*(int *)to = (int)n;
	return 0;
}

static bool
is_variable(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static int
take_variable(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	char **at = to;
	int rc = ats_gw_take_str(in, key, v, to);

	return rc < 0 || is_variable(*at) ? rc :
	    ats_gw_wrong(in, key, "\"%.100s\" names no variable", *at);
}

static int
take_env(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	const struct ats_gw_pairs *p = to;
	int rc = ats_gw_take_pairs(in, key, v, to);

	for (size_t i = 0; rc == 0 && i < p->n; i++)
		if (!is_variable(p->v[i].name))
			rc = ats_gw_wrong(in, key, "\"%.100s\" names no variable", p->v[i].name);
	return rc;
}

static int
take_allow(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	struct ats_gw_config *c = to;

	c->has_allow = true;
	return ats_gw_take_words(in, key, v, &c->allow);
}

#define AT(member) offsetof(struct ats_gw_config, member)
static const struct ats_gw_key keys[] = {
	{ "kind", ANY, 0, NULL },		/* read first, it says which keys there are */
	{ "credential", ANY, AT(credential), ats_gw_take_str },
	{ "timeout_ms", ANY, AT(timeout_ms), ats_gw_take_ms },
	{ "url", HTTP | MCP, 0, ats_gw_take_url },
	{ "auth", HTTP | MCP, 0, ats_gw_take_auth },
	{ "headers", HTTP | MCP, AT(headers), ats_gw_take_headers },
	{ "allow_private", HTTP | MCP, AT(allow_private), ats_gw_take_bool },
	{ "ca", HTTP | MCP, AT(ca), ats_gw_take_path },
	{ "argv", MCP, AT(argv), ats_gw_take_argv },
	{ "env", COMMAND | MCP, AT(env), take_env },
	{ "cwd", COMMAND | MCP, AT(cwd), ats_gw_take_path },
	{ "credential_env", COMMAND | MCP, AT(credential_env), take_variable },
	{ "credential_fd", COMMAND | MCP, AT(credential_fd), take_fd },
	{ "allow", MCP, 0, take_allow },
	{ "tools", ANY, 0, ats_gw_take_tools },
};

void
ats_gw_config_done(struct ats_gw_config *c)
{
	free(c->name);
	free(c->credential);
	free(c->url.path);
	free(c->auth_name);
	ats_gw_pairs_done(&c->headers);
	free(c->ca);
	ats_gw_words_done(&c->argv);
	ats_gw_pairs_done(&c->env);
	free(c->cwd);
	free(c->credential_env);
	ats_gw_words_done(&c->allow);
	for (size_t i = 0; i < c->ntools; i++)
		ats_gw_tool_done(&c->tools[i]);
	free(c->tools);
	memset(c, 0, sizeof(*c));
}

int
ats_gw_check_name(const char *name, struct ats_err *err)
{
	static const char *const reserved[] = { "ats", "ats-tools" };
	size_t n = strlen(name);

	for (size_t i = 0; i < ATS_ARRAY_LEN(reserved); i++)
		if (strcmp(name, reserved[i]) == 0)
			return ats_err_set(err, ATS_E_CONFIG,
			    "gateways.%s: the name is brain's own; choose another", name);
	if (n == 0 || n > ATS_GATEWAY_NAME_MAX || !islower((unsigned char)name[0]) ||
	    strstr(name, "__") != NULL || name[n - 1] == '_' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != n)
		return ats_err_set(err, ATS_E_CONFIG,
		    "gateways.%.100s: a name is at most %d of a-z, 0-9, _ and -, begins with a "
		    "letter, "
		    "does not end with _ and has no __", name, ATS_GATEWAY_NAME_MAX);
	return 0;
}

/* What one key says of another: of all that sends requests. */
static int
check_http(const struct ats_gw_in *in, struct ats_gw_config *c, bool says_auth)
{
	const char *own = c->auth == ATS_GW_AUTH_HEADER ? c->auth_name : "Authorization";

	if (!says_auth && c->credential != NULL)
		c->auth = ATS_GW_AUTH_BEARER;
	if (c->auth != ATS_GW_AUTH_NONE && c->credential == NULL)
		return ats_gw_wrong(in, "auth", "needs a \"credential\"");
	if (c->auth == ATS_GW_AUTH_NONE && c->credential != NULL)
		return ats_gw_wrong(in, "credential", "is not used: \"auth\" is none");
	if (!c->url.tls && c->credential != NULL && !c->allow_private)
		return ats_gw_wrong(in, "url", "http:// shows the credential to whoever is "
		    "between; "
		    "use https://, or for a server of your own network \"allow_private\": true");
	for (size_t i = 0; c->credential != NULL && c->auth != ATS_GW_AUTH_QUERY &&
	     i < c->headers.n; i++)
		if (strcasecmp(c->headers.v[i].name, own) == 0)
			return ats_gw_wrong(in, "headers", "%.100s is the credential's place",
			    c->headers.v[i].name);
	for (size_t t = 0; c->auth == ATS_GW_AUTH_QUERY && t < c->ntools; t++)
		for (size_t i = 0; i < c->tools[t].nquery; i++)
			if (strcmp(c->tools[t].query[i].name, c->auth_name) == 0)
				return ats_gw_wrong(in, "tools", "query of %.64s: %.100s is the "
				    "credential's place", c->tools[t].name, c->auth_name);
	return 0;
}

/* Of all that runs programs. */
static int
check_command(const struct ats_gw_in *in, const struct ats_gw_config *c)
{
	bool by_env = c->credential_env != NULL, by_fd = c->credential_fd >= 0;

	if (by_env && by_fd)
		return ats_gw_wrong(in, "credential_fd", "use it or credential_env, not both");
	if ((by_env || by_fd) && c->credential == NULL)
		return ats_gw_wrong(in, by_env ? "credential_env" : "credential_fd",
		    "needs a \"credential\"");
	if (c->credential != NULL && !by_env && !by_fd)
		return ats_gw_wrong(in, "credential", "needs a \"credential_env\" or a "
		    "\"credential_fd\", by which the program gets it");
	for (size_t i = 0; by_env && i < c->env.n; i++)
		if (strcmp(c->env.v[i].name, c->credential_env) == 0)
			return ats_gw_wrong(in, "env", "%.100s is the credential's place",
			    c->credential_env);
	return 0;
}

/* An upstream is a program or a server; the keys of the other would do nothing. */
static int
check_mcp(const struct ats_gw_in *in, struct ats_gw_config *c, bool says_auth)
{
	if (c->has_url == (c->argv.n > 0))
		return ats_gw_wrong(in, "", "needs an \"argv\" (a program) or a \"url\" (a "
		    "server), "
		    "and not both");
	if (c->has_url) {
		if (c->env.n > 0 || c->cwd != NULL || c->credential_env != NULL ||
		    c->credential_fd >= 0)
			return ats_gw_wrong(in, "url", "env, cwd, credential_env and credential_fd "
			    "are for a program; remove them");
		return check_http(in, c, says_auth);
	}
	if (says_auth || c->headers.n > 0 || c->allow_private || c->ca != NULL)
		return ats_gw_wrong(in, "argv", "auth, headers, allow_private and ca are for a "
		    "server; remove them");
	return check_command(in, c);
}

static int
check(const struct ats_gw_in *in, struct ats_gw_config *c, bool says_auth)
{
	if (c->kind != ATS_GW_MCP && c->ntools == 0)
		return ats_gw_wrong(in, "tools", "is missing or empty");
	if (c->kind == ATS_GW_HTTP && !c->has_url)
		return ats_gw_wrong(in, "url", "is missing");
	if (c->kind == ATS_GW_HTTP)
		return check_http(in, c, says_auth);
	return c->kind == ATS_GW_COMMAND ? check_command(in, c) : check_mcp(in, c, says_auth);
}

static int
read_kind(const struct ats_gw_in *in, struct ats_slice object, enum ats_gw_kind *ret)
{
	if (ats_json_type(object) != ATS_JSON_OBJECT)
		return ats_gw_wrong(in, "", "must be an object");
	if (ats_json_member_is(object, "kind", "http"))
		*ret = ATS_GW_HTTP;
	else if (ats_json_member_is(object, "kind", "command"))
		*ret = ATS_GW_COMMAND;
	else if (ats_json_member_is(object, "kind", "mcp"))
		*ret = ATS_GW_MCP;
	else
		return ats_gw_wrong(in, "kind", ats_json_member_is(object, "kind", "client") ?
		    "client: what an agent's own front end answers is no tool of the host; declare "
		    "it to that agent" : "must be http, command or mcp");
	return 0;
}

int
ats_gw_config_read(struct ats_gw_config *ret, const char *name, struct ats_slice object,
    struct ats_err *err)
{
	struct ats_gw_config c = { .timeout_ms = ATS_GW_TIMEOUT_MS, .credential_fd = -1 };
	char where[ATS_GATEWAY_NAME_MAX + 16];
	struct ats_gw_in in = { where, 0, err };
	struct ats_json_val auth;
	int rc = ats_gw_check_name(name, err);

	if (rc < 0)
		return rc;
	(void)snprintf(where, sizeof(where), "gateways.%s", name);
	rc = read_kind(&in, object, &c.kind);
	if (rc < 0)
		return rc;
	if (object.n > ATS_GW_OBJECT_MAX)
		return ats_gw_wrong(&in, "", "is longer than %u bytes; make two gateways of it",
		    ATS_GW_OBJECT_MAX);
	in.kind = c.kind;
	c.name = ats_strdup(name);
	rc = c.name == NULL ? ats_gw_nomem(&in) :
	    ats_gw_read(&in, keys, ATS_ARRAY_LEN(keys), object, &c);
	if (rc == 0)
		rc = check(&in, &c, ats_json_get(object, "auth", &auth));
	if (rc < 0)
		ats_gw_config_done(&c);
	else
		*ret = c;
	return rc;
}

const struct ats_gw_tool *
ats_gw_find_tool(const struct ats_gw_config *c, const char *name)
{
	for (size_t i = 0; i < c->ntools; i++)
		if (strcmp(c->tools[i].name, name) == 0)
			return &c->tools[i];
	return NULL;
}

int
ats_gw_tool_json(const struct ats_gw_config *c, const struct ats_gw_tool *t, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "description", t->description);
	ats_json_w_raw(&w, "inputSchema", t->input, strlen(t->input));
	ats_json_w_object(&w, "annotations");
	ats_json_w_bool(&w, "readOnlyHint", (t->flags & GATEWAY_READ_ONLY) != 0);
	ats_json_w_bool(&w, "destructiveHint", (t->flags & GATEWAY_DESTRUCTIVE) != 0);
	ats_json_w_bool(&w, "idempotentHint", (t->flags & GATEWAY_IDEMPOTENT) != 0);
	ats_json_w_bool(&w, "openWorldHint", true);
	ats_json_w_end(&w);
	ats_json_w_u64(&w, "timeoutMs", ats_gw_timeout_ms(c, t));
	if (t->files.n > 0)
		ats_json_w_array(&w, "files");
	for (size_t i = 0; i < t->files.n; i++)
		ats_json_w_str(&w, NULL, t->files.v[i]);
	if (t->files.n > 0)
		ats_json_w_end(&w);
	ats_json_w_end(&w);
	return w.rc;
}

uint64_t
ats_gw_timeout_ms(const struct ats_gw_config *c, const struct ats_gw_tool *t)
{
	return t != NULL && t->timeout_ms != 0 ? t->timeout_ms : c->timeout_ms;
}

int
ats_gw_whole_name(const char *gateway, const char *tool, char *out)
{
	int n = snprintf(out, ATS_GATEWAY_TOOL_MAX, "%s__%s", gateway, tool);

	if (tool[0] == '\0' || n < 0 || n >= ATS_GATEWAY_TOOL_MAX)
		return -ATS_E_TOOBIG;
	for (char *p = out; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			*p = '_';
	return 0;
}
