/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-engine: the process that parses what clients and sandboxes say. Started by the
 * spawner with two descriptors, or by a service manager (service.c); holds no credential and can
 * start nothing.
 * Order: options, log, descriptors, settings, journal, parts, confinement, loop, stop. */
#include <event2/event.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/arrivals.h"
#include "brain/engine/call.h"
#include "brain/engine/call_resume.h"
#include "brain/engine/calls.h"
#include "brain/engine/confine.h"
#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/mcp_list.h"
#include "brain/engine/observe.h"
#include "brain/engine/options.h"
#include "brain/engine/provider.h"
#include "brain/engine/refused.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/script.h"
#include "brain/engine/service.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/vault_link.h"
#include "brain/policy/rules.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"

#define PRUNE_S 3600

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

	e->observed = calloc(1, sizeof(*e->observed));
	e->events = events_new(e);
	e->gateways = gateways_new(e);
	e->refusals = refusals_new();
	e->hooks = hooks_new(e);
	e->lists = mcp_lists_new(e);
	e->boxes = sandboxes_new(e);
	e->sessions = sessions_new(e);
	e->calls = calls_new(e);
	e->door = door_new(e, o->door_fd);
	e->scripts = scripts_new();
	e->provider = provider_new(e);
	if (e->observed == NULL || e->events == NULL || e->gateways == NULL ||
	    e->refusals == NULL || e->hooks == NULL || e->lists == NULL || e->boxes == NULL ||
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
	calls_stop(e->calls);
	door_flush(e->door);
	door_free(e->door);
	e->door = NULL;
	mcp_lists_free(e->lists);
	arrivals_free(e->arrivals);
	calls_free(e->calls);
	e->calls = NULL;
	hooks_free(e->hooks);
	e->hooks = NULL;
	gateways_free(e->gateways);
	refusals_free(e->refusals);
	e->gateways = NULL;
	sandboxes_free(e->boxes);
	scripts_free(e->scripts);
	provider_free(e->provider);
	sessions_free(e->sessions);
	events_free(e->events);
	free(e->observed);
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
	struct event *prune, *alive;
	static struct ats_notify notify;
	struct timeval each = { PRUNE_S, 0 };
	struct options o;
	struct ats_err err = { 0 };
	uid_t brain;

	/* Answers come and go in the heap: a mapping for each costs faults for all its pages. */
	(void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
	options_parse(argc, argv, &o);
	ats_log_init("engine", ATS_LOG_INFO, STDERR_FILENO);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
	options_check(&o);
	ats_notify_open(&notify);
	if (o.connect != NULL &&
	    service_connect(o.connect, &notify, &o.vault_fd, &o.door_fd, &err) < 0)
		ats_fatal("%s", err.text);
	if (ats_fd_peer(o.vault_fd, &brain, NULL, NULL) < 0)
		ats_fatal("whose brain this is cannot be seen");
	e.brain_uid = brain;
	e.started_us = ats_clock_us();
	e.idle = true;			/* as the vault takes it of a new engine */
	if (vault_link_settings(&e, o.vault_fd, &err) < 0)
		ats_fatal("settings: %s", err.text);
	if (o.state != NULL && service_state(&e, o.state, &err) < 0)
		ats_fatal("%s", err.text);
	(void)snprintf(e.boxes_dir, sizeof(e.boxes_dir), "%.*s/sandbox",
	    (int)(strrchr(e.state_dir, '/') - e.state_dir), e.state_dir);
	e.base = event_base_new();
	if (e.base == NULL || store_open(e.state_dir, &e.store, &err) < 0)
		ats_fatal("start: %s", err.text);
	make_parts(&e, &o);
	prune = event_new(e.base, -1, EV_PERSIST, on_prune, &e);
	alive = service_alive(e.base, &notify);
	if (prune == NULL || event_add(prune, &each) < 0 || alive == NULL)
		ats_fatal("out of memory");
	if (confine_engine(&e, o.door_fd, &err) < 0)
		ats_fatal("confinement: %s", err.text);
	e.vault = vault_link_new(&e, o.vault_fd);
	if (e.vault == NULL)
		ats_fatal("the vault does not take messages");
	(void)event_base_dispatch(e.base);
	ats_log(ATS_LOG_INFO, "stop", NULL);
	event_free(prune);
	event_free(alive);
	stop(&e);
	return 0;
}
