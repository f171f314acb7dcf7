/* SPDX-License-Identifier: Apache-2.0
 *
 * The host configuration. Runs in ats-brain before it has children; the user's own file is
 * the input, and a mistake in it ends the start with a text that names file and key. */
#include "brain/vault/config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/http.h"
#include "brain/vault/permissions.h"
#include "brain/vault/provider.h"
#include "common/fd.h"
#include "common/workspace.h"

const struct ats_conf_row config_rows[] = {
#define CONF(k, member, t, d, lo, hi, text, who, wire, about)                            \
	{ .key = (k), .type = ATS_CONF_##t, .offset = offsetof(struct config, member),   \
		.def = (d), .min = (lo), .max = (hi), .def_str = (text), .doc = (about) },
#include "brain/config.def"
#undef CONF
};
const size_t config_nrows = ATS_ARRAY_LEN(config_rows);

/* Beside each row of config_rows: who is told, and under which name. */
static const struct {
	unsigned who;
	const char *wire;
} told[] = {
#define VAULT CONFIG_VAULT
#define ENGINE CONFIG_ENGINE
#define HANDS CONFIG_HANDS
#define CONF(key, member, type, def, min, max, text, who, wire, doc) { (who), (wire) },
#include "brain/config.def"
#undef CONF
#undef VAULT
#undef ENGINE
#undef HANDS
};

static bool
is_one_of(const char *s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s, words[i]) == 0)
			return true;
	return false;
}

/* Each limit is 0 or in its range. */
static int
check_limits(const struct config *c, const char *name, struct ats_err *err)
{
	const struct {
		const char *key;
		uint64_t value, least;
	} rows[] = {
#define LIMIT(key, normal, check, least, most, whose, what, then)                        \
	{ #key, c->limit_##key, (least) },
#include "proto/limits.def"
#undef LIMIT
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (rows[i].value != 0 && rows[i].value < rows[i].least)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"sandbox.%s\" must be 0 or at least %llu", name, rows[i].key,
			    (unsigned long long)rows[i].least);
	return 0;
}

/* What the types of the rows cannot say. */
static int
check(struct config *c, const char *name, const struct ats_homes *homes, struct ats_err *err)
{
	static const char *const levels[] = { "namespaces", "uid+landlock", "landlock",
		"none" };
	static const char *const limits[] = { "default", "check" };
	static const char *const networks[] = { "off", "host" };

	if (ats_log_level_parse(c->log_level, &c->level) < 0)
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"log_level\" must be error, warn, info or debug", name);
	if (!is_one_of(c->min_level, levels, ATS_ARRAY_LEN(levels)))
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"sandbox.min_level\" must be namespaces, uid+landlock, landlock or none",
		    name);
	if (!is_one_of(c->network, networks, ATS_ARRAY_LEN(networks)))
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"sandbox.network\" must be off or host", name);
	if (!is_one_of(c->limits, limits, ATS_ARRAY_LEN(limits)))
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"sandbox.limits\" must be default or check", name);
	if (check_limits(c, name, err) < 0)
		return -ATS_E_CONFIG;
	for (size_t i = 0; i < c->read_only.n; i++) {
		char real[ATS_PATH_MAX];

		if (strchr(c->read_only.v[i], '\n') != NULL)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"sandbox.read_only\": entry %zu is a path with a newline",
			    name, i + 1);
		if (ats_workspace_check_grant(homes, c->read_only.v[i], real, err) < 0)
			return ats_err_wrap(err, "%s: \"sandbox.read_only\": \"%.200s\"", name,
			    c->read_only.v[i]);
	}
	for (size_t i = 0; i < c->deny_read.n; i++)
		if (strchr("#", c->deny_read.v[i][0]) != NULL ||
		    strchr(c->deny_read.v[i], '\n') != NULL)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"sandbox.deny_read\": entry %zu, \"%.200s\": each is one rule "
			    "as in a .gitignore", name, i + 1, c->deny_read.v[i]);
	for (size_t i = 0; i < c->env.n; i++)
		if (strchr(c->env.v[i], '\n') != NULL)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"sandbox.env\": %.*s has a newline", name,
			    (int)strcspn(c->env.v[i], "=\n"), c->env.v[i]);
	return 0;
}

/* Whether a rule names one tool of g, as text, that g has not. What a server of MCP has is not
 * known here. */
static bool
names_no_tool(const struct gateway_source *g, const char *text)
{
	static const char prefix[] = "mcp__ats__";
	size_t n = strlen(g->conf.name);

	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	return g->conf.kind != ATS_GW_MCP && strncmp(text, g->conf.name, n) == 0 &&
	    strncmp(text + n, "__", 2) == 0 && strpbrk(text, "*?(\\ ") == NULL &&
	    ats_gw_find_tool(&g->conf, text + n + 2) == NULL;
}

/* A rule about a gateway or a tool that there is not would be one that nobody misses. */
static int
check_rules(const struct config *c, struct ats_err *err)
{
	char name[ATS_GW_TOOL_NAME_MAX];
	enum policy_effect effect;
	const struct gateway_source *g;
	const char *text;

	for (size_t i = 0; (text = policy_rules_text(c->rules, i, &effect)) != NULL; i++) {
		if (!policy_rules_gateway(c->rules, i, name, sizeof(name)))
			continue;
		g = sources_gateway(&c->sources, name);
		if (g == NULL)
			return ats_err_set(err, ATS_E_CONFIG, "\"permissions\": \"%.100s\" is "
			    "about the "
			    "gateway %s, which is not in \"gateways\"", text, name);
		if (names_no_tool(g, text))
			return ats_err_set(err, ATS_E_CONFIG, "\"permissions\": \"%.100s\" is "
			    "about a tool that the gateway %s does not have", text, name);
	}
	return 0;
}

static int
read_hooks(struct config *c, const char *name, struct ats_err *err)
{
	struct ats_slice text = { c->hooks_json, c->hooks_json == NULL ? 0 :
	    strlen(c->hooks_json) };
	struct ats_err why = { 0 };
	int rc;

	if (text.p == NULL)
		return 0;
	rc = ats_hooks_read(&c->hooks, "hooks", text, true, &why);
	return rc < 0 ? ats_err_set(err, why.code, "%.200s: %.300s", name, why.text) : 0;
}

int
config_parse(struct config *ret, const char *name, const char *text, size_t len,
    const struct ats_homes *homes, struct ats_err *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = ats_conf_parse(config_rows, config_nrows, ret, name, text, len, err);
	if (rc < 0)
		return rc;
	rc = check(ret, name, homes, err);
	if (rc == 0)
		rc = config_check_provider(ret, name, err);
	if (rc == 0)
		rc = config_check_http(ret, name, homes, err);
	if (rc == 0)
		rc = config_read_permissions(ret, name, err);
	if (rc == 0)
		rc = read_hooks(ret, name, err);
	if (rc == 0) {
		rc = sources_read(&ret->sources, ret->credentials_json, ret->gateways_json, err);
		if (rc == 0)
			rc = check_rules(ret, err);
		if (rc < 0)
			(void)ats_err_wrap(err, "%s", name);
	}
	if (rc < 0)
		config_done(ret);
	return rc;
}

/* It names programs that are started and where credentials go: who may write it is us. */
static int
check_file(const char *path, struct ats_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)		/* whoever opens it says so */
		return 0;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return ats_err_set(err, ATS_E_CONFIG, "%s: belongs to uid %lu, who could make "
		    "brain start any program; chown it", path, (unsigned long)st.st_uid);
	if (S_ISREG(st.st_mode) && (st.st_mode & 022) != 0)
		return ats_err_set(err, ATS_E_CONFIG, "%s: others may write it (mode %04o); "
		    "chmod go-w it", path, (unsigned)st.st_mode & 07777);
	return 0;
}

int
config_load(struct config *ret, const char *path, const struct ats_places *places,
    const struct ats_homes *homes, const char *url, struct ats_err *err)
{
	char fallback[ATS_PATH_MAX + 16];
	struct ats_err why = { 0 };
	char *text = NULL;
	size_t len = 0;
	int rc;

	(void)snprintf(fallback, sizeof(fallback), "%s/brain.json", places->config);
	rc = check_file(path != NULL ? path : fallback, err);
	if (rc < 0)
		return rc;
	rc = ats_fd_slurp(AT_FDCWD, path != NULL ? path : fallback, CONFIG_MAX_BYTES, &text,
	    &len, &why);
	if (rc < 0 && (path != NULL || rc != -ATS_E_NOENT))
		return ats_err_set(err, ATS_E_CONFIG, "%s", why.text);
	rc = config_parse(ret, path != NULL ? path : fallback, text, len, homes, err);
	if (rc < 0 && err != NULL)
		config_add_line(path != NULL ? path : fallback, text, err);
	free(text);
	if (rc == 0 && url != NULL) {
		rc = config_set_url(ret, "REMOTE_TOOLS_URL", url, err);
		if (rc < 0)
			config_done(ret);
	}
	return rc;
}

/* Whether ats-http, which looks closer when it starts, will not take it for certain. */
static bool
is_no_token(const char *path)
{
	struct stat st;

	return path[0] != '\0' && (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & 077) != 0);
}

const char *
config_warning(const struct config *c, size_t n)
{
	const struct {
		bool is_so;
		const char *text;
	} all[] = {
		{ strcmp(c->min_level, "none") == 0, "sandbox.min_level is none: where this "
		    "machine cannot confine them, tools may read and change all that you may" },
		{ strcmp(c->network, "host") == 0, "sandbox.network is host: commands reach "
		    "all that this machine reaches, its own services included" },
		{ c->elicitation, "approvals.elicitation is true: who controls an MCP client that "
		    "shows dialogs can approve the calls of its session" },
		{ c->allow_plain && !ats_addr_has_tls(&c->addr) && !ats_addr_is_local(&c->addr),
		    "sandbox.allow_plain is true: whoever is between brain and its sandboxes can "
		    "read and change all that passes" },
		{ is_no_token(c->http_token_file), "http.token_file is not there, or others may "
		    "read it, so ats-http will not start: (umask 077; openssl rand -hex 32 > FILE) "
		    "makes one" },
		{ is_no_token(c->http_metrics_token_file), "http.metrics_token_file is not there, "
		    "or others may read it, so ats-http will not start: (umask 077; openssl rand "
		    "-hex 32 > FILE) makes one" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(all); i++)
		if (all[i].is_so && n-- == 0)
			return all[i].text;
	return NULL;
}

void
config_say_hooks(const struct config *c, FILE *to)
{
	const struct ats_hooks *h = &c->hooks;
	const char *comma = "";

	if (h->n == 0)
		return;
	(void)fprintf(to, "ats-brain: hooks: ");
	for (unsigned e = 0; e < ATS_HOOK_EVENTS; e++) {
		unsigned n = 0;

		for (size_t i = 0; i < h->n; i++)
			n += h->v[i].event == e;
		if (n == 0)
			continue;
		(void)fprintf(to, "%s%s %u", comma, ats_hook_event_rows[e].name, n);
		comma = ", ";
	}
	(void)fprintf(to, "\n");
}

void
config_done(struct config *c)
{
	policy_rules_free(c->rules);
	c->rules = NULL;
	ats_hooks_done(&c->hooks);
	sources_done(&c->sources);
	ats_conf_done(config_rows, config_nrows, c);
}

static int
add_row(const struct config *c, size_t i, struct ats_buf *out)
{
	const char *at = (const char *)c + config_rows[i].offset, *name = told[i].wire;
	const struct ats_conf_strv *list;
	const char *s;
	uint64_t n;
	int rc = 0;

	switch (config_rows[i].type) {
	case ATS_CONF_U64:
		memcpy(&n, at, sizeof(n));
		return ats_buf_addf(out, "%s=%llu\n", name, (unsigned long long)n);
	case ATS_CONF_BOOL:
		return ats_buf_addf(out, "%s=%d\n", name, *(const bool *)at);
	case ATS_CONF_STR:
		memcpy(&s, at, sizeof(s));
		return s == NULL ? 0 : ats_buf_addf(out, "%s=%s\n", name, s);
	case ATS_CONF_STRV:
	case ATS_CONF_ENV:
		break;
	case ATS_CONF_ARGVS:
	case ATS_CONF_JSON:
		return 0;	/* nobody is told: see spawner.h */
	}
	list = (const struct ats_conf_strv *)(const void *)at;
	for (size_t k = 0; rc == 0 && k < list->n; k++)
		rc = ats_buf_addf(out, "%s=%s\n", name, list->v[k]);
	return rc;
}

bool
config_is_default(const struct config *c, size_t i)
{
	const struct ats_conf_row *r = &config_rows[i];
	const char *at = (const char *)c + r->offset, *s;
	uint64_t n;

	switch (r->type) {
	case ATS_CONF_U64:
		memcpy(&n, at, sizeof(n));
		return n == r->def;
	case ATS_CONF_BOOL:
		return *(const bool *)at == (r->def != 0);
	case ATS_CONF_STR:
	case ATS_CONF_JSON:
		memcpy(&s, at, sizeof(s));
		return s == NULL || (r->def_str != NULL && strcmp(s, r->def_str) == 0);
	case ATS_CONF_STRV:
	case ATS_CONF_ENV:
		return ((const struct ats_conf_strv *)(const void *)at)->n == 0;
	case ATS_CONF_ARGVS:
		break;
	}
	return ((const struct ats_conf_argvs *)(const void *)at)->n == 0;
}

bool
config_is_for(size_t i, enum config_who who)
{
	return (told[i].who & (unsigned)who) != 0;
}

int
config_lines(const struct config *c, enum config_who who, struct ats_buf *out)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < config_nrows; i++)
		if (config_is_for(i, who))
			rc = add_row(c, i, out);
	return rc;
}
