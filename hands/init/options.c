/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the command line of ats-hands. Runs in the launcher, before anything else. */
#include "hands/init/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hands/init/attach.h"
#include "hands/match/ignore.h"

static int
number(const char *text, int max, int *ret, struct ats_err *err)
{
	char *end = NULL;
	long v = strtol(text, &end, 10);

	if (end == text || *end != '\0' || v < 0 || v > max)
		return ats_err_set(
		    err, ATS_E_INVAL, "%s: not a number from 0 to %d", text, max);
	*ret = (int)v;
	return 0;
}

static int
set_level(struct hands_options *o, const char *v, struct ats_err *err)
{
	static const char *const names[] = { "namespaces", "uid+landlock", "landlock",
		"none" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++)
		if (strcmp(v, names[i]) == 0) {
			o->min_level = (enum options_level)i;
			return 0;
		}
	return ats_err_set(err, ATS_E_INVAL,
	    "min_level=%s: namespaces, uid+landlock, landlock or none", v);
}

static int
add_deny(struct hands_options *o, const char *v, struct ats_err *err)
{
	struct ignore_rules *rule = ignore_parse(v, strlen(v));

	ignore_free(rule);
	if (rule == NULL || strchr(v, '\n') != NULL || o->ndeny == OPTIONS_DENY_MAX)
		return ats_err_set(err, ATS_E_INVAL,
		    "deny=%s: one rule as in a .gitignore, %d at most", v, OPTIONS_DENY_MAX);
	o->deny[o->ndeny++] = v;
	return 0;
}

static int
set_option(struct hands_options *o, const char *kv, struct ats_err *err)
{
	const char *v = strchr(kv, '=');
	size_t n = v != NULL ? (size_t)(v - kv) : 0;
	int seconds = 0, rc;

	if (v == NULL)
		return ats_err_set(
		    err, ATS_E_INVAL, "--option %s: expected name=value", kv);
	v++;
	if (n == 9 && memcmp(kv, "min_level", n) == 0)
		return set_level(o, v, err);
	if (n == 11 && memcmp(kv, "retention_s", n) == 0) {
		o->retention_s = v;
		return number(v, 86400, &seconds, err);
	}
	if (n == 11 && memcmp(kv, "heartbeat_s", n) == 0) {
		o->heartbeat_s = v;
		return *v == '0' ? ats_err_set(err, ATS_E_INVAL, "heartbeat_s=%s: from 1", v) :
		    number(v, 3600, &seconds, err);
	}
	if (n == 6 && memcmp(kv, "limits", n) == 0) {
		o->small = strcmp(v, "check") == 0;
		if (!o->small && strcmp(v, "default") != 0)
			return ats_err_set(
			    err, ATS_E_INVAL, "limits=%s: check or default", v);
		return 0;
	}
	if (n == 3 && memcmp(kv, "net", n) == 0) {
		o->net_host = strcmp(v, "host") == 0;
		return o->net_host || strcmp(v, "off") == 0 ? 0 :
		    ats_err_set(err, ATS_E_INVAL, "net=%s: off or host", v);
	}
	if (n == 2 && memcmp(kv, "ro", n) == 0) {
		if (*v != '/' || o->nro == BOX_GRANTS_MAX)
			return ats_err_set(err, ATS_E_INVAL,
			    "ro=%s: an absolute path, %d at "
			    "most",
			    v, BOX_GRANTS_MAX);
		o->ro[o->nro++] = v;
		return 0;
	}
	if (n == 10 && memcmp(kv, "git_config", n) == 0) {
		o->git_config = strcmp(v, "1") == 0;
		return o->git_config || strcmp(v, "0") == 0 ? 0 :
		    ats_err_set(err, ATS_E_INVAL, "git_config=%s: 0 or 1", v);
	}
	if (n == 4 && memcmp(kv, "mask", n) == 0) {
		if (*v != '/' || o->nmask == BOX_MASKS_MAX)
			return ats_err_set(err, ATS_E_INVAL,
			    "mask=%s: an absolute path, %d at most", v, BOX_MASKS_MAX);
		o->mask[o->nmask++] = v;
		return 0;
	}
	if (n == 4 && memcmp(kv, "deny", n) == 0)
		return add_deny(o, v, err);
	if (n == 3 && memcmp(kv, "env", n) == 0) {
		if (strchr(v, '=') == NULL || o->nenv == OPTIONS_ENV_MAX)
			return ats_err_set(err, ATS_E_INVAL,
			    "env=%s: expected K=V, %d at most", v, OPTIONS_ENV_MAX);
		o->env[o->nenv++] = v;
		return 0;
	}
	rc = budget_take(&o->budget, kv, n, err);
	return rc > 0 ? 0 : rc < 0 ? rc :
	    ats_err_set(err, ATS_E_INVAL, "unknown option %s", kv);
}

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
check(const struct hands_options *o, struct ats_err *err)
{
	if (o->probe || o->help || o->version)
		return 0;
	if (o->workspace == NULL || o->workspace[0] != '/')
		return ats_err_set(
		    err, ATS_E_INVAL, "--workspace DIR (absolute) is needed");
	if (!o->stdio && o->link_fd < 0 && o->listen_fd < 0 && o->listen_path == NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "no peer: give --stdio, --listen unix:PATH or --link-fd N");
	if (o->nallow_uids > 0 && o->listen_path == NULL)
		return ats_err_set(err, ATS_E_INVAL, "--allow-uid needs --listen unix:PATH");
	return 0;
}

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
	O_ALLOW_UID
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
	{ "allow-uid", required_argument, NULL, O_ALLOW_UID },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static int
one(struct hands_options *o, int c, struct ats_err *err)
{
	switch (c) {
	case O_LINK: return number(optarg, 1 << 20, &o->link_fd, err);
	case O_LISTEN_FD: return number(optarg, 1 << 20, &o->listen_fd, err);
	case O_WORKSPACE: o->workspace = optarg; return 0;
	case O_STATE: o->state_dir = optarg; return 0;
	case O_SANDBOX: o->sandbox = optarg; return 0;
	case O_OPTION: return set_option(o, optarg, err);
	case O_PROBE: o->probe = true; return 0;
	case O_STDIO: o->stdio = true; return 0;
	case O_LISTEN:
		if (strncmp(optarg, "unix:/", 6) != 0)
			return ats_err_set(
			    err, ATS_E_INVAL, "--listen %s: unix:PATH", optarg);
		o->listen_path = optarg + 5;
		return 0;
	case O_ALLOW_UID: return add_uid(o, optarg, err);
	case 'h': o->help = true; return 0;
	case 'V': o->version = true; return 0;
	default: return ats_err_set(err, ATS_E_INVAL, "see ats-hands --help");
	}
}

int
options_parse(int argc, char **argv, struct hands_options *ret, struct ats_err *err)
{
	struct hands_options o = { .link_fd = -1, .listen_fd = -1, .sandbox = "local",
		.retention_s = "300", .heartbeat_s = "10" };
	int c, rc;

	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
		rc = one(&o, c, err);
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
	(void)puts(
	    "usage: ats-hands --workspace DIR --stdio | --listen unix:PATH | --link-fd N\n"
	    "                 [--allow-uid N]... [--listen-fd N] [--state-dir DIR]\n"
	    "                 [--sandbox ID] [--option NAME=VALUE]... [-- CMD ARG...]\n"
	    "       ats-hands attach [--socket PATH]\n"
	    "       ats-hands --probe\n\n"
	    "The sandbox side: runs tools in DIR for a brain, behind every layer of\n"
	    "confinement that this machine has; --probe prints which those are. attach\n"
	    "joins stdin and stdout to one that listens (" ATTACH_SOCKET ").\n\n"
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
	    "  -h, --help  -V, --version");
}
