/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the command line of ats-hands, and the same flags in the environment. Runs in the
 * launcher, before anything else. */
#include "hands/init/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "hands/init/attach.h"
#include "hands/init/key_wait.h"

#define ENV "ATS_HANDS_"
#define ENV_OPTION "OPTION_"

static int
add_uid(struct hands_options *o, const char *text, struct ats_err *err)
{
	char *end = NULL;
	unsigned long long v = strtoull(text, &end, 10);

	/* The last number stands for "none". */
	if (*text < '0' || *text > '9' || *end != '\0' || v >= UINT32_MAX ||
	    o->nallow_uids == OPTIONS_UIDS_MAX)
		return ats_err_set(err, ATS_E_INVAL, "--allow-uid %s: a user's number, %d at most",
		    text, OPTIONS_UIDS_MAX);
	o->allow_uids[o->nallow_uids++] = (uid_t)v;
	return 0;
}

static int
set_key_wait(struct hands_options *o, const char *text, struct ats_err *err)
{
	int rc = options_number(text, KEY_WAIT_MAX_S, &o->key_wait_s, err);

	return rc < 0 ? ats_err_wrap(err, "--key-wait, seconds") : 0;
}

static int
set_address(const char *flag, const char *text, struct ats_addr *ret, bool *ret_given,
    struct ats_err *err)
{
	int rc = ats_addr_parse(text, ret, err);

	if (rc < 0)
		return ats_err_wrap(err, "%s", flag);
	*ret_given = true;
	return 0;
}

/* ---- what fits together -------------------------------------------------------------- */
static bool
has_key(const struct hands_options *o)
{
	return o->key_file != NULL || o->key_fd >= 0;
}

static int
check_address(const struct hands_options *o, const char *flag, const struct ats_addr *a,
    struct ats_err *err)
{
	if (a->kind == ATS_ADDR_UNIX)
		return 0;
	if (!has_key(o))
		return ats_err_set(err, ATS_E_INVAL, "%s %s: on a network link both sides prove "
		    "who they are; give the line that \"atsctl sandbox enroll\" prints as "
		    "--key-file FILE or --key-fd N", flag, a->text);
	if (!ats_addr_has_tls(a) && !ats_addr_is_local(a) && !o->allow_plain)
		return ats_err_set(err, ATS_E_INVAL, "%s %s: whoever is on the way could read "
		    "and change what tools do; use %s, or give --allow-plain when the network "
		    "itself is protected", flag, a->text, ats_addr_has_ws(a) ? "wss://" : "tls://");
	return 0;
}

static int
check_peer(const struct hands_options *o, struct ats_err *err)
{
	if (!o->stdio && o->link_fd < 0 && o->listen_fd < 0 && !o->listens &&
	    !o->connects)
		return ats_err_set(err, ATS_E_INVAL,
		    "no peer: give --stdio, --listen ADDR, --connect ADDR or --link-fd N");
	if ((o->listens || o->listen_fd >= 0) && o->connects)
		return ats_err_set(err, ATS_E_INVAL, "--listen or --connect, not both");
	if (o->nallow_uids > 0 && (!o->listens || o->listen.kind != ATS_ADDR_UNIX))
		return ats_err_set(err, ATS_E_INVAL, "--allow-uid needs --listen unix:PATH");
	if (o->listens)
		return check_address(o, "--listen", &o->listen, err);
	return o->connects ? check_address(o, "--connect", &o->connect, err) : 0;
}

static int
check(const struct hands_options *o, struct ats_err *err)
{
	if (o->probe || o->help || o->version)
		return 0;
	if (o->workspace == NULL && o->cmd != NULL)
		return ats_err_set(err, ATS_E_INVAL, "%.100s is not attach, take-key or shim, and "
		    "to run it beside a sandbox --workspace DIR is needed; see ats-hands --help",
		    o->cmd[0]);
	if (o->workspace == NULL || o->workspace[0] != '/')
		return ats_err_set(
		    err, ATS_E_INVAL, "--workspace DIR (absolute) is needed");
	if (o->key_wait_s > 0 && o->key_file == NULL)
		return ats_err_set(err, ATS_E_INVAL, "--key-wait needs --key-file: it is what "
		    "is waited for");
	if (o->key_file != NULL && o->key_fd >= 0)
		return ats_err_set(err, ATS_E_INVAL, "--key-file or --key-fd, not both");
	if (o->proxy != NULL && !o->connects)
		return ats_err_set(err, ATS_E_INVAL, "--proxy needs --connect");
	if ((o->tls_cert == NULL) != (o->tls_key == NULL))
		return ats_err_set(err, ATS_E_INVAL, "--tls-cert needs --tls-key, and it that");
	return check_peer(o, err);
}

/* ---- flags --------------------------------------------------------------------------- */
enum {
	O_LINK = 256,
	O_LISTEN_FD,
	O_WORKSPACE,
	O_STATE,
	O_SANDBOX,
	O_OPTION,
	O_PROBE,
	O_STDIO,
	O_LISTEN,
	O_CONNECT,
	O_ALLOW_UID,
	O_ALLOW_PLAIN,
	O_KEY_FILE,
	O_KEY_FD,
	O_KEY_WAIT,
	O_PROXY,
	O_TLS_CERT,
	O_TLS_KEY,
	O_TLS_CA
};

static const struct option longs[] = {
	{ "link-fd", required_argument, NULL, O_LINK },
	{ "listen-fd", required_argument, NULL, O_LISTEN_FD },
	{ "workspace", required_argument, NULL, O_WORKSPACE },
	{ "state-dir", required_argument, NULL, O_STATE },
	{ "sandbox", required_argument, NULL, O_SANDBOX },
	{ "option", required_argument, NULL, O_OPTION },
	{ "probe", no_argument, NULL, O_PROBE },
	{ "stdio", no_argument, NULL, O_STDIO },
	{ "listen", required_argument, NULL, O_LISTEN },
	{ "connect", required_argument, NULL, O_CONNECT },
	{ "allow-uid", required_argument, NULL, O_ALLOW_UID },
	{ "allow-plain", no_argument, NULL, O_ALLOW_PLAIN },
	{ "key-file", required_argument, NULL, O_KEY_FILE },
	{ "key-fd", required_argument, NULL, O_KEY_FD },
	{ "key-wait", required_argument, NULL, O_KEY_WAIT },
	{ "proxy", required_argument, NULL, O_PROXY },
	{ "tls-cert", required_argument, NULL, O_TLS_CERT },
	{ "tls-key", required_argument, NULL, O_TLS_KEY },
	{ "tls-ca", required_argument, NULL, O_TLS_CA },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static bool
is_peer(int c)
{
	return c == O_LINK || c == O_LISTEN_FD || c == O_STDIO || c == O_LISTEN || c == O_CONNECT;
}

static int
one(struct hands_options *o, int c, const char *v, struct ats_err *err)
{
	switch (c) {
	case O_LINK: return options_number(v, 1 << 20, &o->link_fd, err);
	case O_LISTEN_FD: return options_number(v, 1 << 20, &o->listen_fd, err);
	case O_WORKSPACE: o->workspace = v; return 0;
	case O_STATE: o->state_dir = v; return 0;
	case O_SANDBOX: o->sandbox = v; return 0;
	case O_OPTION: return options_set(o, v, err);
	case O_PROBE: o->probe = true; return 0;
	case O_STDIO: o->stdio = true; return 0;
	case O_LISTEN: return set_address("--listen", v, &o->listen, &o->listens, err);
	case O_CONNECT: return set_address("--connect", v, &o->connect, &o->connects, err);
	case O_ALLOW_UID: return add_uid(o, v, err);
	case O_ALLOW_PLAIN: o->allow_plain = true; return 0;
	case O_KEY_FILE: o->key_file = v; return 0;
	case O_KEY_FD: return options_number(v, 1 << 20, &o->key_fd, err);
	case O_KEY_WAIT: return set_key_wait(o, v, err);
	case O_PROXY: o->proxy = v; return 0;
	case O_TLS_CERT: o->tls_cert = v; return 0;
	case O_TLS_KEY: o->tls_key = v; return 0;
	case O_TLS_CA: o->tls_ca = v; return 0;
	case 'h': o->help = true; return 0;
	case 'V': o->version = true; return 0;
	default: return ats_err_set(err, ATS_E_INVAL, "see ats-hands --help");
	}
}

/* ---- the environment ------------------------------------------------------------------ */
/* The variable of a flag: ATS_HANDS_KEY_FILE is --key-file. */
static const struct option *
flag_of(const char *name, size_t n)
{
	const struct option *f = longs;
	size_t i;

	for (; f->name != NULL; f++) {
		for (i = 0; i < n && f->name[i] != '\0'; i++)
			if (name[i] != (f->name[i] == '-' ? '_' : toupper(f->name[i])))
				break;
		if (i == n && f->name[i] == '\0' && f->val != 'h' && f->val != 'V')
			return f;
	}
	return NULL;
}

/* ATS_HANDS_OPTION_NET=host is --option net=host. */
static int
option_of(struct hands_options *o, const char *pair, struct ats_err *err)
{
	char *own = strdup(pair);
	int rc;

	if (own == NULL)
		return -ATS_E_NOMEM;
	for (char *p = own; *p != '=' && *p != '\0'; p++)
		*p = (char)tolower(*p);
	rc = options_set(o, own, err);
	if (rc < 0)
		free(own);
	return rc;		/* else it is kept for ever, as argv is */
}

/* 1: it is one of ours. Others of that prefix are not: an orchestrator may tell of a service of
 * that name. */
static int
take_variable(struct hands_options *o, const char *name, const char *eq, struct ats_err *err)
{
	const struct option *f = flag_of(name, (size_t)(eq - name));
	int rc;

	if (strncmp(name, ENV_OPTION, strlen(ENV_OPTION)) == 0)
		rc = option_of(o, name + strlen(ENV_OPTION), err);
	else if (f == NULL)
		return 0;
	else if (f->has_arg == no_argument && strcmp(eq + 1, "0") != 0 &&
	    strcmp(eq + 1, "1") != 0)
		rc = ats_err_set(err, ATS_E_INVAL, "expected 0 or 1");
	else
		rc = f->has_arg == no_argument && eq[1] == '0' ? 0 : one(o, f->val, eq + 1, err);
	return rc < 0 ? ats_err_wrap(err, ENV "%.*s", (int)(eq - name), name) : 1;
}

/* Nothing that is started here has them. */
static int
take_environment(struct hands_options *o, struct ats_err *err)
{
	char name[64];
	int rc;

	for (char **e = environ; e != NULL && *e != NULL;) {
		const char *eq = strchr(*e, '=');

		rc = eq == NULL || strncmp(*e, ENV, strlen(ENV)) != 0 ? 0 :
		    take_variable(o, *e + strlen(ENV), eq, err);
		if (rc < 0)
			return rc;
		if (rc > 0 && (size_t)(eq - *e) < sizeof(name)) {
			(void)snprintf(name, sizeof(name), "%.*s", (int)(eq - *e), *e);
			(void)unsetenv(name);	/* the next is in its place */
		} else {
			e++;
		}
	}
	return 0;
}

/* A peer, or a key, on the command line is instead of what the environment says of that. */
static void
forget(struct hands_options *o, int c, bool *peers, bool *keys)
{
	if (is_peer(c) && *peers) {
		o->link_fd = o->listen_fd = -1;
		o->listens = o->connects = o->stdio = *peers = false;
	}
	if ((c == O_KEY_FILE || c == O_KEY_FD) && *keys) {
		o->key_file = NULL;
		o->key_fd = -1;
		*keys = false;
	}
}

int
options_parse(int argc, char **argv, struct hands_options *ret, struct ats_err *err)
{
	static struct hands_options o;
	bool peers = true, keys = true;		/* are the environment's */
	int c, rc;

	o = (struct hands_options){ .link_fd = -1, .listen_fd = -1, .key_fd = -1,
		.sandbox = "local", .retention_s = "300", .heartbeat_s = "10" };
	rc = take_environment(&o, err);
	if (rc < 0)
		return rc;
	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
		forget(&o, c, &peers, &keys);
		rc = one(&o, c, optarg, err);
		if (rc < 0)
			return rc;
	}
	if (optind < argc)
		o.cmd = argv + optind;
	rc = check(&o, err);
	if (rc == 0)
		*ret = o;
	return rc;
}

void
options_usage(void)
{
	ats_options_say(
	    "usage: ats-hands --workspace DIR --stdio | --listen ADDR | --connect ADDR |\n"
	    "                 --link-fd N [--allow-uid N]... [--allow-plain]\n"
	    "                 [--key-file FILE [--key-wait SECONDS] | --key-fd N]\n"
	    "                 [--tls-cert FILE --tls-key FILE] [--tls-ca FILE]\n"
	    "                 [--proxy PROXY]\n"
	    "                 [--listen-fd N] [--state-dir DIR]\n"
	    "                 [--sandbox ID] [--option NAME=VALUE]... [-- CMD ARG...]\n"
	    "       ats-hands attach [--socket PATH]\n"
	    "       ats-hands take-key FILE\n"
	    "       ats-hands shim\n"
	    "       ats-hands --probe\n\n"
	    "The sandbox side: runs tools in DIR for a brain, behind every layer of\n"
	    "confinement that this machine has; --probe prints which those are. attach\n"
	    "joins stdin and stdout to one that listens (" ATTACH_SOCKET ").\n"
	    "take-key puts a key from stdin where one with --key-wait looks for it.\n"
	    "shim is an MCP server for agents in the sandbox, with tools of the host.\n\n"
	    "  ADDR    unix:PATH, tcp://H:P, tls://H:P, ws://H:P/PATH, wss://H:P/PATH; all but\n"
	    "          unix need a key, which \"atsctl sandbox enroll\" prints\n"
	    "  --key-file FILE                read once and removed\n"
	    "  --key-wait SECONDS             for that file to come; it stays there then\n"
	    "  --allow-plain                  tcp and ws beyond this machine\n"
	    "  --proxy http://HOST:PORT       or file:/PATH of a file with that, or none; else\n"
	    "                                 HTTPS_PROXY and NO_PROXY count, with TLS\n"
	    "  --tls-cert, --tls-key FILE     PEM, instead of what is made of the key\n"
	    "  --tls-ca FILE                  PEM: who vouches for brain's certificate\n"
	    "  --allow-uid N                  may attach, beside root and this user\n"
	    "  --option min_level=namespaces|uid+landlock|landlock|none   refuse less\n"
	    "  --option net=off|host          host: shells have this machine's network\n"
	    "  --option retention_s=SECONDS   wait so long without a brain\n"
	    "  --option heartbeat_s=SECONDS   ask a silent brain, let it go after two\n"
	    "  --option ro=PATH               more to see, read-only; may be repeated\n"
	    "  --option mask=PATH             not to see in these; * is one name; may be repeated\n"
	    "  --option git_config=0|1        1: shells may write .git/config\n"
	    "  --option deny=RULE             hidden in DIR, as in .gitignore; may be repeated\n"
	    "  --option env=NAME=VALUE        for commands; may be repeated\n"
	    "  --option limits=default|check  check is small\n"
	    "  --option LIMIT=NUMBER          of what tools run: memory_mib, processes,\n"
	    "                 box_processes, cpu_s, open_files, file_mib, disk_mib,\n"
	    "                 background_jobs, background_life_s\n"
	    "  -h, --help  -V, --version\n\n"
	    "A flag is also read from the environment, as ATS_HANDS_LISTEN for --listen, and\n"
	    "ATS_HANDS_OPTION_NET=host for --option net=host; the command line wins.\n");
}
