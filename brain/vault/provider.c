/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox.url. Runs in ats-brain before it has children; the user's own file and environment
 * are the input. */
#include "brain/vault/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fault.h"
#include "proto/brain.h"

#define URL_MAX 200
#define NAME_MAX_BYTES 32
#define PIN_DIGITS 64

static const char forms[] = "stdio, unix:/PATH, exec:NAME, tcp://HOST:PORT, tls://HOST:PORT, "
	"ws://HOST:PORT/PATH, wss://HOST:PORT/PATH, listen: before one of these four, or "
	"script:NAME";

static bool
is_plain(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && n <= NAME_MAX_BYTES && s[n] == '\0';
}

static int
parse_uid(const char *s, uid_t *ret)
{
	char *end = NULL;
	unsigned long long v = strtoull(s, &end, 10);

	/* The last number stands for "none". */
	if (*s < '0' || *s > '9' || *end != '\0' || v >= UINT32_MAX)
		return -ATS_E_INVAL;
	*ret = (uid_t)v;
	return 0;
}

bool
config_allows_uid(const struct config *c, uid_t uid)
{
	uid_t allowed;

	if (uid == 0 || uid == getuid())
		return true;
	for (size_t i = 0; i < c->allow_uids.n; i++)
		if (parse_uid(c->allow_uids.v[i], &allowed) == 0 && allowed == uid)
			return true;
	return false;
}

const struct ats_conf_strv *
config_command(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->commands.n; i++)
		if (strcmp(c->commands.v[i].name, name) == 0)
			return &c->commands.v[i].argv;
	return NULL;
}

const struct ats_conf_strv *
config_script(const struct config *c, uint64_t step)
{
	static const char *const steps[] = {
		[SCRIPT_BUILD] = "build", [SCRIPT_PROBE] = "probe", [SCRIPT_DESTROY] = "destroy",
	};
	char name[NAME_MAX_BYTES + 16];

	if (c->provider != PROVIDER_SCRIPT || step >= ATS_ARRAY_LEN(steps) || steps[step] == NULL)
		return NULL;
	(void)snprintf(name, sizeof(name), "%s.%s", c->provider_at, steps[step]);
	return config_command(c, name);
}

/* NAME, or NAME.build and its kin. */
static bool
is_command_name(const char *s)
{
	char name[NAME_MAX_BYTES + 16];
	char *dot;

	if (strlen(s) >= sizeof(name))
		return false;
	(void)snprintf(name, sizeof(name), "%s", s);
	dot = strchr(name, '.');
	if (dot == NULL)
		return is_plain(name);
	*dot++ = '\0';
	return is_plain(name) && (strcmp(dot, "build") == 0 || strcmp(dot, "probe") == 0 ||
	    strcmp(dot, "destroy") == 0);
}

static int
check_commands(const struct config *c, const char *name, struct ats_err *err)
{
	for (size_t i = 0; i < c->commands.n; i++) {
		const struct ats_conf_argv *a = &c->commands.v[i];

		if (!is_command_name(a->name))
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"commands\": \"%.60s\": a name has 1 to %d letters, "
			    "digits, _ or -, and for a script .build, .probe or .destroy",
			    name, a->name, NAME_MAX_BYTES);
		if (a->argv.v[0][0] != '/')
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"commands.%s\": \"%.200s\" must be the absolute path "
			    "of a program",
			    name, a->name, a->argv.v[0]);
	}
	return 0;
}

static int
check_uids(const struct config *c, const char *name, struct ats_err *err)
{
	uid_t uid;

	for (size_t i = 0; i < c->allow_uids.n; i++)
		if (parse_uid(c->allow_uids.v[i], &uid) < 0)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"sandbox.allow_uids\": \"%.60s\" must be the number of a user",
			    name, c->allow_uids.v[i]);
	return 0;
}

static int
parse_unix(const char *at, const char *name, struct ats_err *err)
{
	struct sockaddr_un sa;

	if (at[0] != '/' || at[1] == '\0')
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"sandbox.url\": unix: needs an absolute path", name);
	return strlen(at) < sizeof(sa.sun_path) ? 0 : ats_err_set(err, ATS_E_CONFIG,
	    "%s: \"sandbox.url\": the path of a Unix socket has at most %zu bytes", name,
	    sizeof(sa.sun_path) - 1);
}

int
config_check_plain(const struct config *c, const struct ats_addr *a, struct ats_err *err)
{
	if (ats_addr_has_tls(a) || ats_addr_is_local(a) || c->allow_plain)
		return 0;
	return ats_err_set(err, ATS_E_CONFIG, "%s://%s: whoever is between here and there could "
	    "read and change all that passes; use %s://, or set sandbox.allow_plain if the way "
	    "is protected otherwise", ats_addr_has_ws(a) ? "ws" : "tcp", a->host,
	    ats_addr_has_ws(a) ? "wss" : "tls");
}

static int
parse_network(struct config *c, const char *text, const char *name, struct ats_err *err)
{
	int rc = ats_addr_parse(text, &c->addr, err);

	if (rc == 0 && c->addr.kind == ATS_ADDR_UNIX)
		rc = ats_err_set(err, ATS_E_CONFIG, "listen: is for tcp, tls, ws and wss: an "
		    "ats-hands of this machine listens itself, at unix:/PATH");
	if (rc == 0 && c->addr.port == 0)
		rc = ats_err_set(err, ATS_E_CONFIG, "%s: a port is needed", text);
	if (rc == 0)
		rc = config_check_plain(c, &c->addr, err);
	if (rc == 0)
		return 0;
	if (err != NULL)
		err->code = ATS_E_CONFIG;
	(void)ats_err_wrap(err, "%s: \"sandbox.url\"", name);
	return -ATS_E_CONFIG;
}

/* HOST, with a port of 0, or HOST:PORT. */
static int
parse_host(const char *text, struct ats_addr *ret)
{
	char url[ATS_ADDR_MAX];
	int n = snprintf(url, sizeof(url), "tls://%s", text);

	if (n < 0 || (size_t)n >= sizeof(url) - 2)
		return -ATS_E_INVAL;
	if (ats_addr_parse(url, ret, NULL) == 0)
		return ret->port != 0 ? 0 : -ATS_E_INVAL;
	memcpy(url + n, ":0", 3);
	return ats_addr_parse(url, ret, NULL);
}

static int
parse_script(struct config *c, const char *name, struct ats_err *err)
{
	struct ats_addr a;

	if (!is_plain(c->provider_at) || config_script(c, SCRIPT_BUILD) == NULL)
		return ats_err_set(err, ATS_E_CONFIG,
		    "%s: \"sandbox.url\": \"commands\" of the configuration has no \"%s.build\"",
		    name, c->provider_at);
	if (c->script_dir[0] == '\0' && c->script_hosts.n == 0)
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.url\": script: needs "
		    "sandbox.script_dir, where its sockets are, or sandbox.script_hosts", name);
	if (c->script_dir[0] != '\0' && (c->script_dir[0] != '/' ||
	    strcmp(c->script_dir, "/") == 0 || strstr(c->script_dir, "..") != NULL))
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.script_dir\" must be the "
		    "absolute path of the directory where the scripts' sockets are", name);
	for (size_t i = 0; i < c->script_hosts.n; i++)
		if (parse_host(c->script_hosts.v[i], &a) < 0)
			return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.script_hosts\": "
			    "\"%.200s\" must be HOST or HOST:PORT", name, c->script_hosts.v[i]);
	return 0;
}

static int
check_script_host(const struct config *c, const struct ats_addr *a, struct ats_err *err)
{
	struct ats_addr one;

	for (size_t i = 0; i < c->script_hosts.n; i++)
		if (parse_host(c->script_hosts.v[i], &one) == 0 &&
		    strcasecmp(one.host, a->host) == 0 && (one.port == 0 || one.port == a->port))
			return a->port != 0 ? config_check_plain(c, a, err) :
			    ats_err_set(err, ATS_E_PERM, "the script names no port");
	return ats_err_set(err, ATS_E_PERM, "the script names a host that is not in "
	    "sandbox.script_hosts: %s:%u", a->host, a->port);
}

static int
check_script_socket(const struct config *c, const struct ats_addr *a, struct ats_err *err)
{
	size_t n = strlen(c->script_dir);

	while (n > 1 && c->script_dir[n - 1] == '/')
		n--;
	if (n > 0 && strncmp(a->path, c->script_dir, n) == 0 && a->path[n] == '/' &&
	    strstr(a->path, "/..") == NULL)
		return 0;
	return ats_err_set(err, ATS_E_PERM, "the script names a socket outside of "
	    "sandbox.script_dir, %s", n > 0 ? c->script_dir : "which is not set");
}

int
config_check_script_addr(const struct config *c, const struct ats_addr *a, struct ats_err *err)
{
	return a->kind == ATS_ADDR_UNIX ? check_script_socket(c, a, err) :
	    check_script_host(c, a, err);
}

static bool
starts_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

static bool
is_network(const char *url)
{
	return starts_with(url, "tcp://") || starts_with(url, "tls://") ||
	    starts_with(url, "ws://") || starts_with(url, "wss://");
}

/* Sets provider, provider_at and addr by sandbox_url. */
static int
parse_url(struct config *c, const char *name, struct ats_err *err)
{
	const char *url = c->sandbox_url;

	c->provider_at = strchr(url, ':') != NULL ? strchr(url, ':') + 1 : url + strlen(url);
	for (const char *p = url; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || p - url >= URL_MAX)
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"sandbox.url\" must be at most %d bytes, without "
			    "control characters",
			    name, URL_MAX);
	if (strcmp(url, "stdio") == 0) {
		c->provider = PROVIDER_STDIO;
		return 0;
	}
	if (starts_with(url, "unix:")) {
		c->provider = PROVIDER_UNIX;
		return parse_unix(c->provider_at, name, err);
	}
	if (is_network(url)) {
		c->provider = PROVIDER_CONNECT;
		return parse_network(c, url, name, err);
	}
	if (starts_with(url, "listen:")) {
		c->provider = PROVIDER_LISTEN;
		return parse_network(c, c->provider_at, name, err);
	}
	if (starts_with(url, "script:")) {
		c->provider = PROVIDER_SCRIPT;
		return parse_script(c, name, err);
	}
	if (!starts_with(url, "exec:"))
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.url\": \"%s\" must be %s",
		    name, url, forms);
	c->provider = PROVIDER_EXEC;
	if (is_plain(c->provider_at) && config_command(c, c->provider_at) != NULL)
		return 0;
	return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.url\": \"commands\" of the "
	    "configuration has no \"%s\"", name, c->provider_at);
}

static int
check_tls(const struct config *c, const char *name, struct ats_err *err)
{
	if (c->tls_pin[0] != '\0' && (strlen(c->tls_pin) != PIN_DIGITS ||
	    strspn(c->tls_pin, "0123456789abcdef") != PIN_DIGITS))
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.tls_pin\" must be %d "
		    "digits of 0-9 and a-f: the SHA-256 of the server's public key "
		    "(SubjectPublicKeyInfo)", name, PIN_DIGITS);
	if (c->tls_ca[0] != '\0' && c->tls_ca[0] != '/')
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.tls_ca\": \"%.200s\" must "
		    "be the absolute path of a PEM file", name, c->tls_ca);
	return 0;
}

static int
check_proxy(struct config *c, const char *name, struct ats_err *err)
{
	if (ats_proxy_read(c->proxy, &c->via, err) == 0)
		return 0;
	if (err != NULL)
		err->code = ATS_E_CONFIG;
	return ats_err_wrap(err, "%s: \"sandbox.proxy\"", name);
}

bool
config_is_network(const struct config *c)
{
	return c->provider == PROVIDER_CONNECT || c->provider == PROVIDER_LISTEN ||
	    (c->provider == PROVIDER_SCRIPT && c->script_hosts.n > 0);
}

static bool
is_for_scripts(const char *key)
{
	return strcmp(key, "sandbox.script_dir") == 0 ||
	    strcmp(key, "sandbox.script_hosts") == 0 || strcmp(key, "sandbox.warm") == 0 ||
	    strcmp(key, "sandbox.build_timeout_s") == 0;
}

/* Hands' options are said where hands is started: here they would be ignored. */
static int
check_useless(const struct config *c, const char *name, struct ats_err *err)
{
	bool script = c->provider == PROVIDER_SCRIPT, hosts = script && c->script_hosts.n > 0;
	bool network = config_is_network(c);
	bool pins = hosts || (c->provider == PROVIDER_CONNECT && ats_addr_has_tls(&c->addr));

	if (c->provider != PROVIDER_UNIX && !script && c->allow_uids.n > 0)
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.allow_uids\" is for a "
		    "sandbox.url of unix: and script: only", name);
	for (size_t i = 0; i < config_nrows && !script; i++)
		if (is_for_scripts(config_rows[i].key) && !config_is_default(c, i))
			return ats_err_set(err, ATS_E_CONFIG, "%s: \"%s\" is for a sandbox.url "
			    "of script: only", name, config_rows[i].key);
	if (!network && c->allow_plain)
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.allow_plain\" is for a "
		    "sandbox.url of tcp:// and ws://, or sandbox.script_hosts", name);
	if (c->proxy[0] != '\0' && !hosts && c->provider != PROVIDER_CONNECT)
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.proxy\" is for a sandbox.url "
		    "that brain connects to, or sandbox.script_hosts", name);
	if (!pins && (c->tls_ca[0] != '\0' || c->tls_pin[0] != '\0'))
		return ats_err_set(err, ATS_E_CONFIG, "%s: \"sandbox.tls_%s\" is for a "
		    "sandbox.url of tls:// and wss://, or sandbox.script_hosts", name,
		    c->tls_ca[0] != '\0' ? "ca" : "pin");
	for (size_t i = 0; i < config_nrows && c->provider != PROVIDER_STDIO; i++)
		if (config_is_for(i, CONFIG_HANDS) && !config_is_default(c, i))
			return ats_err_set(err, ATS_E_CONFIG,
			    "%s: \"%s\" has no effect with sandbox.url %s: remove it, and give "
			    "ats-hands its --option there", name, config_rows[i].key,
			    c->sandbox_url);
	return 0;
}

int
config_check_provider(struct config *c, const char *name, struct ats_err *err)
{
	int rc = check_commands(c, name, err);

	if (rc == 0)
		rc = check_uids(c, name, err);
	if (rc == 0)
		rc = parse_url(c, name, err);
	if (rc == 0)
		rc = check_tls(c, name, err);
	if (rc == 0)
		rc = check_proxy(c, name, err);
	return rc < 0 ? rc : check_useless(c, name, err);
}

int
config_set_url(struct config *c, const char *name, const char *url, struct ats_err *err)
{
	char *copy = ats_strdup(url);

	if (copy == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	free(c->sandbox_url);
	c->sandbox_url = copy;
	return config_check_provider(c, name, err);
}
