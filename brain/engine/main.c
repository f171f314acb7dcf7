/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-engine: the process that parses what clients and sandboxes say. Started by the
 * spawner with two descriptors; holds no credential and can start nothing.
 * Order: options, log, descriptors, settings, journal, parts, confinement, loop, stop. */
#include <event2/event.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/engine/arrivals.h"
#include "brain/engine/call.h"
#include "brain/engine/confine.h"
#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/mcp_list.h"
#include "brain/engine/provider.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/script.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/vault_link.h"
#include "brain/policy/rules.h"
#include "common/clock.h"
#include "common/log.h"

#define PRUNE_S 3600

struct options {
	int vault_fd, door_fd;
};

static void
usage(FILE *to)
{
	(void)fprintf(to,
	    "usage: ats-engine --vault-fd N --door-fd N\n"
	    "Started by ats-brain, not by hand. -V prints the version.\n");
}

/* -1 unless it is the number of a descriptor */
static int
descriptor(const char *text)
{
	char *end = NULL;
	long n = strtol(text, &end, 10);

	return end == text || *end != '\0' || n < 0 || n > 1 << 20 ? -1 : (int)n;
}

static void
parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "vault-fd", required_argument, NULL, 'v' },
		{ "door-fd", required_argument, NULL, 'd' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	o->vault_fd = o->door_fd = -1;
	while ((opt = getopt_long(argc, argv, "Vh", longs, NULL)) != -1) {
		switch (opt) {
		case 'v':
			o->vault_fd = descriptor(optarg);
			break;
		case 'd':
			o->door_fd = descriptor(optarg);
			break;
		case 'V':
			(void)puts("ats-engine " ATS_VERSION);
			exit(0);
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
}

static void
check_fds(const struct options *o)
{
	struct stat st;

	if (o->vault_fd < 3 || o->door_fd < 3 || fstat(o->vault_fd, &st) < 0 ||
	    !S_ISSOCK(st.st_mode) || fstat(o->door_fd, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		usage(stderr);
		ats_fatal("not two sockets; ats-brain starts this program");
	}
}

static void
on_prune(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;

	(void)fd;
	(void)what;
	store_prune(e->store, ats_clock_wall_ms(), e->set.journal_days, e->set.journal_rows);
}

static void
make_parts(struct engine *e, const struct options *o)
{
	struct ats_err err = { 0 };

	e->events = events_new(e);
	e->gateways = gateways_new(e);
	e->hooks = hooks_new(e);
	e->lists = mcp_lists_new(e);
	e->boxes = sandboxes_new(e);
	e->sessions = sessions_new(e);
	e->calls = calls_new(e);
	e->door = door_new(e, o->door_fd);
	e->scripts = scripts_new();
	e->provider = provider_new(e);
	if (e->events == NULL || e->gateways == NULL || e->hooks == NULL || e->lists == NULL ||
	    e->boxes == NULL ||
	    e->sessions == NULL || e->calls == NULL || e->scripts == NULL ||
	    e->provider == NULL || e->door == NULL)
		ats_fatal("out of memory");
	if (calls_resume(e->calls, &err) < 0)
		ats_log(ATS_LOG_ERROR, "open calls not read from the journal", "why=\"%s\"",
		    err.text);
}

static void
stop(struct engine *e)
{
	sessions_flush(e->sessions);
	door_free(e->door);
	e->door = NULL;
	mcp_lists_free(e->lists);
	arrivals_free(e->arrivals);
	calls_free(e->calls);
	e->calls = NULL;
	hooks_free(e->hooks);
	e->hooks = NULL;
	gateways_free(e->gateways);
	e->gateways = NULL;
	sandboxes_free(e->boxes);
	scripts_free(e->scripts);
	provider_free(e->provider);
	sessions_free(e->sessions);
	events_free(e->events);
	vault_link_free(e->vault);
	policy_rules_free(e->rules);
	free(e->trust.ca_pem);
	store_close(e->store);
	event_base_free(e->base);
}

int
main(int argc, char **argv)
{
	static struct engine e;
	struct event *prune;
	struct timeval each = { PRUNE_S, 0 };
	struct options o;
	struct ats_err err = { 0 };

	/* Answers come and go in the heap: a mapping for each costs faults for all its pages. */
	(void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
	parse_options(argc, argv, &o);
	ats_log_init("engine", ATS_LOG_INFO, STDERR_FILENO);
	check_fds(&o);
	e.started_us = ats_clock_us();
	e.idle = true;			/* as the vault takes it of a new engine */
	if (vault_link_settings(&e, o.vault_fd, &err) < 0)
		ats_fatal("settings: %s", err.text);
	(void)snprintf(e.boxes_dir, sizeof(e.boxes_dir), "%.*s/sandbox",
	    (int)(strrchr(e.state_dir, '/') - e.state_dir), e.state_dir);
	e.base = event_base_new();
	if (e.base == NULL || store_open(e.state_dir, &e.store, &err) < 0)
		ats_fatal("start: %s", err.text);
	make_parts(&e, &o);
	prune = event_new(e.base, -1, EV_PERSIST, on_prune, &e);
	if (prune == NULL || event_add(prune, &each) < 0)
		ats_fatal("out of memory");
	if (confine_engine(&e, o.door_fd, &err) < 0)
		ats_fatal("confinement: %s", err.text);
	e.vault = vault_link_new(&e, o.vault_fd);
	if (e.vault == NULL)
		ats_fatal("the vault does not take messages");
	(void)event_base_dispatch(e.base);
	ats_log(ATS_LOG_INFO, "stop", NULL);
	event_free(prune);
	stop(&e);
	return 0;
}
