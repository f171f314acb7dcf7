/* SPDX-License-Identifier: Apache-2.0
 *
 * What front is told when it is started: by init, whose words these are. */
#ifndef ATS_HANDS_FRONT_FRONT_OPTIONS_H
#define ATS_HANDS_FRONT_FRONT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/addr.h"

#define FRONT_ENV_MAX 112

/* Texts are borrowed from argv. */
struct front_options {
	const char *sandbox;   /* id */
	const char *workspace; /* absolute */
	const char *home;
	const char *confinement; /* JSON object, unverified */
	const char *tools;	/* as workers see it: the directory of the host's tools */
	const char *hands;	/* this program as they can run it, or NULL */
	uid_t peers[2];		/* who may ask for these */
	uint64_t retention_ms, heartbeat_ms;
	unsigned background_jobs;   /* that run at a time */
	unsigned background_life_s; /* of each */
	bool has_addr, connects;
	struct ats_addr addr;	/* where links come from, or go to */
	const char *env[FRONT_ENV_MAX]; /* K=V, added to every shell */
	size_t nenv;
	unsigned number;	/* of this front, since the start of hands */
	const char *init_version;	/* of the program that init is */
};
/* Reads them all; what is not said has its default. -ATS_E_INVAL, -ATS_E_TOOBIG (of --env): then
 * *ret is of no use. */
ATS_NODISCARD int front_options_parse(int argc, char **argv, struct front_options *ret);

#endif
