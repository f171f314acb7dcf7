/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-brain: the steps of the start, in order. Runs as the user (or root, as root's own
 * brain); its environment and arguments are the user's. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/confine.h"
#include "brain/vault/format.h"
#include "brain/vault/lock.h"
#include "brain/vault/options.h"
#include "brain/vault/places.h"
#include "brain/vault/sockets.h"
#include "brain/vault/spawner.h"
#include "brain/vault/vault.h"
#include "common/confine/limits.h"
#include "common/fd.h"
#include "common/options.h"

static struct options opt;

#define EXIT_CONFIG 2		/* of which the units say that another start does not help */

static void
tell_starter(const struct ats_err *err)
{
	if (opt.ready_fd < 0)
		return;
	(void)!ats_fd_write_all(opt.ready_fd, err->text, strlen(err->text));
	(void)!ats_fd_write_all(opt.ready_fd, "\n", 1);
}

/* Before the loop there is one way out: a line on the log and to who waits for us. */
static void __attribute__((noreturn))
give_up(const struct ats_err *err)
{
	tell_starter(err);
	ats_fatal("%s", err->text);
}

/* The same for what a person has to change first; who only asks gets it without a log's words. */
static void __attribute__((noreturn))
wrong_config(const struct ats_err *err)
{
	tell_starter(err);
	if (opt.check_only)
		(void)fprintf(stderr, "ats-brain: %s\n", err->text);
	else
		ats_log(ATS_LOG_ERROR, err->text, NULL);
	exit(EXIT_CONFIG);
}

/* What stands for a configuration that is not there must not look like one that is. */
static int
say_checked(const struct ats_places *places)
{
	char path[ATS_PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/brain.json", places->config);
	if (opt.config == NULL && access(path, F_OK) < 0)
		return printf("no configuration at %s: defaults\n", path) < 0 ? -1 :
		    fflush(stdout);
	return printf("configuration OK: %s\n", opt.config != NULL ? opt.config : path) < 0 ?
	    -1 : fflush(stdout);
}

static void
load_config(struct config *conf, const struct ats_places *places, const struct ats_homes *homes)
{
	struct ats_err err = { 0 };
	int rc;

	rc = config_load(conf, opt.config, places, homes, getenv("REMOTE_TOOLS_URL"), &err);
	if (rc == -ATS_E_NOMEM || rc == -ATS_E_SYS)	/* another start can help */
		give_up(&err);
	if (rc < 0)
		wrong_config(&err);
	if (opt.system && conf->provider == PROVIDER_STDIO) {
		(void)ats_err_set(&err, ATS_E_CONFIG, "sandbox.url: a brain of the system starts "
		    "no sandboxes; name where they are, or let each user run a brain");
		wrong_config(&err);
	}
	if (opt.check_only && conf->provider != PROVIDER_STDIO)
		(void)fprintf(stderr, "ats-brain: sandbox.url: %s\n", conf->sandbox_url);
	if (opt.check_only)
		config_say_hooks(conf, stderr);
	for (size_t i = 0; opt.check_only && config_warning(conf, i) != NULL; i++)
		(void)fprintf(stderr, "ats-brain: warning: %s\n", config_warning(conf, i));
	if (opt.check_only)
		exit(say_checked(places) < 0);
	ats_log_level_set(conf->level);
	for (size_t i = 0; config_warning(conf, i) != NULL; i++)
		ats_log(ATS_LOG_WARN, config_warning(conf, i), NULL);
}

int
main(int argc, char **argv)
{
	static struct ats_places places;
	static struct ats_homes homes;
	struct config conf;
	struct vault_fds fds = { .listener = -1, .door = -1, .engine = -1 };
	struct vault *vault;
	struct ats_err err = { 0 };
	bool activated;
	struct locks locks;
	int pidfd, code;

	options_parse(argc, argv, &opt);
	ats_options_standard_fds(O_RDWR);
	ats_log_init("vault", ATS_LOG_INFO, STDERR_FILENO);
	ats_limits_raise_files();
	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
	if (opt.ready_fd >= 0)
		(void)!ats_fd_cloexec(opt.ready_fd, true);
	if (sockets_take(&fds, &opt, &activated, &err) < 0)
		give_up(&err);
	ats_notify_open(&fds.notify);
	if (places_find(&opt, &places, &homes, &err) < 0)
		give_up(&err);
	load_config(&conf, &places, &homes);
	if (locks_take(&places, &locks, &err) < 0 || format_check(places.state, &err) < 0)
		give_up(&err);
	if (spawner_start(&places, &conf, &locks, &fds.spawner_pid, &pidfd, &fds.spawner, &err) < 0)
		give_up(&err);
	(void)prctl(PR_SET_NAME, "ats-vault");
	if (sockets_open(&fds, &opt, &places, &err) < 0)
		give_up(&err);
	fds.ready = opt.ready_fd;
	if (vault_new(&conf, &places, &homes, &fds, &vault, &err) < 0)
		ats_fatal("%s", err.text);
	if (vault_confine(&places, pidfd, &err) < 0)
		give_up(&err);
	ats_log(ATS_LOG_INFO, "brain runs", "runtime=%s spawner=%d", places.runtime,
	    (int)fds.spawner_pid);
	code = vault_run(vault);
	if (!activated)
		sockets_remove(&places);
	vault_free(vault);		/* the spawner sees it and ends what is left */
	spawner_end(pidfd);
	config_done(&conf);
	return code;
}
