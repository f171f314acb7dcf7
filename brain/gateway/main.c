/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-gateway: runs the tools of one gateway of the configuration with its one credential, as the
 * vault orders. Started by the spawner; descriptor 3 is its socket to the vault.
 * Order: options, log, setup, parts, confinement, loop, stop. */
#include <event2/event.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/gateway/confine.h"
#include "brain/gateway/fetch.h"
#include "brain/gateway/gateway.h"
#include "brain/gateway/orders.h"
#include "brain/gateway/vault_link.h"
#include "common/log.h"
#include "common/options.h"
#include "common/secret.h"
#include "proto/brain.h"

#define VAULT_FD 3

static const char usage[] =
    "usage: ats-gateway NAME\n"
    "Started by ats-brain, not by hand. -V prints the version.\n";

/* An upgrade has put us beside a brain that is still the old one: it hears why, and we end. */
static void
check_version(const char *brain)
{
	struct ats_err err = { 0 };

	if (brain == NULL || strcmp(brain, ATS_VERSION) == 0)
		return;
	(void)ats_err_set(&err, ATS_E_VERSION, "brain is version %.32s, this ats-gateway "
	    ATS_VERSION ": atsctl shutdown, and the next brain is of one version", brain);
	(void)!ats_brain_send(VAULT_FD, ATS_MSG_GW_READY, 0, NULL, 0, (uint64_t)err.code, err.text);
	ats_fatal("%s", err.text);
}

/* The version of the brain that started this, or NULL. */
static const char *
parse_options(int argc, char **argv)
{
	const char *brain = NULL;
	static const struct option longs[] = {
		{ "brain-version", required_argument, NULL, 'b' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "Vh", longs, NULL)) != -1) {
		switch (opt) {
		case 'b':
			brain = optarg;
			break;
		case 'V':
			ats_options_say("ats-gateway " ATS_VERSION "\n");
		case 'h':
			ats_options_say(usage);
		default:
			(void)fputs(usage, stderr);
			exit(2);
		}
	}
	return brain;
}

static void
check_fd(void)
{
	struct stat st;

	if (fstat(VAULT_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		(void)fputs(usage, stderr);
		ats_fatal("descriptor %d is not a socket; ats-brain starts this program", VAULT_FD);
	}
}

static void
start(struct gateway *g)
{
	struct ats_err err = { 0 };

	g->base = event_base_new();
	g->orders = g->base != NULL ? orders_new(g) : NULL;
	if (g->orders == NULL)
		ats_fatal("out of memory");
	if (g->kind->open(g, &err) < 0)
		ats_fatal("%s: %s", g->conf.name, err.text);
	if (confine_gateway(&g->conf, fetch_ca(&g->conf), &err) < 0)
		ats_fatal("confinement: %s", err.text);
	g->vault = vault_link_new(g, VAULT_FD);
	if (g->vault == NULL)
		ats_fatal("out of memory");
	if (g->kind->run == NULL)
		vault_link_ready(g->vault, 0, "");
	else if (g->kind->run(g, &err) < 0)
		vault_link_ready(g->vault, err.code, err.text);
}

static void
stop(struct gateway *g)
{
	orders_free(g->orders);
	g->kind->close(g);
	vault_link_free(g->vault);
	event_base_free(g->base);
	mask_free(g->mask);
	ats_secret_free(g->credential);
	ats_gw_config_done(&g->conf);
}

int
main(int argc, char **argv)
{
	static struct gateway g;
	struct ats_err err = { 0 };
	const char *brain;

	/* Answers come and go: their memory goes back. */
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
	brain = parse_options(argc, argv);
	ats_log_init("gateway", ATS_LOG_INFO, STDERR_FILENO);
	check_fd();
	check_version(brain);
	if (vault_link_setup(&g, VAULT_FD, &err) < 0)
		ats_fatal("setup: %s", err.text);
	g.kind = kind_of(&g.conf);
	start(&g);
	(void)event_base_dispatch(g.base);
	stop(&g);
	return 0;
}
