/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of front. Runs in front before anything else of it; they are init's. */
#include "hands/front/front_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "hands/init/roles.h"

#define RETENTION_S_MAX 86400u
#define HEARTBEAT_S_MAX 3600u

static const struct option table[] = {
	{ "sandbox", required_argument, NULL, 's' },
	{ "workspace", required_argument, NULL, 'w' },
	{ "home", required_argument, NULL, 'h' },
	{ "retention", required_argument, NULL, 'r' },
	{ "confinement", required_argument, NULL, 'c' },
	{ "env", required_argument, NULL, 'e' },
	{ "background", required_argument, NULL, 'b' },
	{ "heartbeat", required_argument, NULL, 'p' },
	{ "listen", required_argument, NULL, 'L' },
	{ "connect", required_argument, NULL, 'C' },
	{ "tools", required_argument, NULL, 'T' },
	{ "hands", required_argument, NULL, 'H' },
	{ "peers", required_argument, NULL, 'U' },
	{ "number", required_argument, NULL, 'n' },
	{ "init", required_argument, NULL, 'i' },
	{ NULL, 0, NULL, 0 },
};

static int
parse_background(const char *text, struct front_options *o)
{
	int end = 0;

	return sscanf(text, "%u,%u%n", &o->background_jobs, &o->background_life_s, &end) == 2 &&
		text[end] == '\0' ? 0 : -ATS_E_INVAL;
}

static int
parse_peers(const char *text, struct front_options *o)
{
	int end = 0;

	return sscanf(text, "%u,%u%n", &o->peers[0], &o->peers[1], &end) == 2 &&
		text[end] == '\0' ? 0 : -ATS_E_INVAL;
}

/* One of the table, whose argument is optarg. */
static int
take(struct front_options *o, int opt)
{
	unsigned long s;

	switch (opt) {
	case 's':
		o->sandbox = optarg;
		break;
	case 'w':
		o->workspace = optarg;
		break;
	case 'h':
		o->home = optarg;
		break;
	case 'r':
		s = strtoul(optarg, NULL, 10);
		o->retention_ms =
		    (s > RETENTION_S_MAX ? RETENTION_S_MAX : s) * 1000;
		break;
	case 'c':
		o->confinement = optarg;
		break;
	case 'p':
		s = strtoul(optarg, NULL, 10);
		if (s < 1 || s > HEARTBEAT_S_MAX)
			return -ATS_E_INVAL;
		o->heartbeat_ms = s * 1000;
		break;
	case 'L':
	case 'C':
		o->connects = opt == 'C';
		o->has_addr = true;
		if (ats_addr_parse(optarg, &o->addr, NULL) < 0)
			return -ATS_E_INVAL;
		break;
	case 'T':
		o->tools = optarg;
		break;
	case 'H':
		o->hands = optarg;
		break;
	case 'U':
		if (parse_peers(optarg, o) < 0)
			return -ATS_E_INVAL;
		break;
	case 'b':
		if (parse_background(optarg, o) < 0)
			return -ATS_E_INVAL;
		break;
	case 'n':
		o->number = (unsigned)strtoul(optarg, NULL, 10);
		break;
	case 'i':
		o->init_version = optarg;
		break;
	case 'e':
		if (o->nenv == FRONT_ENV_MAX)
			return -ATS_E_TOOBIG;
		o->env[o->nenv++] = optarg;
		break;
	default:
		return -ATS_E_INVAL;
	}
	return 0;
}

int
front_options_parse(int argc, char **argv, struct front_options *ret)
{
	int opt, rc = 0;

	*ret = (struct front_options){
		.sandbox = "",
		.home = BOX_HOME,
		.tools = BOX_TOOLS,
		.confinement = "{\"verified\":false}",
		.retention_ms = 300000,
		.heartbeat_ms = 10000,
		.background_jobs = 16,
		.background_life_s = 86400,
		.number = 1,
	};
	optind = 1;
	while (rc == 0 && (opt = getopt_long(argc, argv, "", table, NULL)) != -1)
		rc = take(ret, opt);
	if (rc < 0)
		return rc;
	return ret->workspace == NULL || ret->workspace[0] != '/' ? -ATS_E_INVAL : 0;
}
