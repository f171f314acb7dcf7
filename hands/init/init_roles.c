/* SPDX-License-Identifier: Apache-2.0
 *
 * What init starts: front and the zygotes, each with its arguments and descriptors. Runs in init;
 * what it gives them is the launcher's plan. */
#include "hands/init/init_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/fd.h"
#include "hands/confine/apply.h"
#include "hands/confine/vector.h"
#include "hands/init/roles.h"
#include "hands/init/start.h"

const char *const init_profile_names[ZYGOTES] = { "read", "write", "shell" };

/* ---- zygotes ----------------------------------------------------------------------- */
int
init_zygote_socket(int *ret_front, int *ret_zygote)
{
	int pair[2];

	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return -ATS_E_SYS;
	*ret_front = pair[0];
	*ret_zygote = pair[1];
	return 0;
}

int
init_start_zygote(struct init *in, unsigned profile, int sock)
{
	char word[4096 + 128 + BUDGET_WORD];
	const struct hands_options *o = in->plan->options;
	const struct cgroups *g = in->plan->groups;
	size_t nenv = profile == ATS_PROFILE_SHELL ? o->nenv : 0;
	char number[16];
	const char *argv[9 + OPTIONS_ENV_MAX + OPTIONS_DENY_MAX] = { "ats-hands", ROLE_ZYGOTE,
		init_profile_names[profile], word, in->box.workspace, in->box.git_dir,
		in->box.hands, number };
	const struct start_plan p = { .box = &in->box,
		.profile = (enum ats_profile)profile,
		.exe = in->plan->exe,
		.argv = argv,
		.fds = { { sock, ZYGOTE_FD_FRONT }, { g != NULL ? g->oom : -1, ZYGOTE_FD_OOM },
		    { g != NULL ? g->forks : -1, ZYGOTE_FD_FORKS } },
		.nfds = profile == ATS_PROFILE_SHELL ? 3 : 1 };
	pid_t pid;

	(void)snprintf(number, sizeof number, "%zu", nenv);
	memcpy(argv + 8, o->env, nenv * sizeof o->env[0]);
	memcpy(argv + 8 + nenv, o->deny, o->ndeny * sizeof o->deny[0]);
	if (box_to_word(&in->box, word, sizeof word) < 0 || (pid = start_role(&p)) < 0)
		return -ATS_E_SYS;
	in->zygotes[profile] = pid;
	return 0;
}

/* Init and what it starts from here on have the base filter for ever. */
static int
load_base(struct ats_err *err)
{
	int rc = ats_caps_no_new_privs(err);

	return rc < 0 ? rc : filter_install(FILTER_BASE, err);
}

int
init_start_zygotes(struct init *in, struct ats_err *err)
{
	int rc = load_base(err);

	for (unsigned i = 0; rc == 0 && i < ZYGOTES; i++) {
		if (init_start_zygote(in, i, in->socks[i]) < 0)
			rc = ats_err_set(err, ATS_E_SYS, "start of a zygote");
		(void)close(in->socks[i]);
	}
	return rc;
}

/* ---- front ------------------------------------------------------------------------- */
/* sock: of FRONT_FD_INIT. Only the first front has the link and the key from here. */
static void
give_fds(const struct init *in, struct start_plan *p, const int *socks, int upgrade, int sock)
{
	bool first = upgrade < 0;

	p->fds[0] = (struct start_fd){ first ? in->plan->link : -1, FRONT_FD_LINK };
	p->fds[1] = (struct start_fd){ in->plan->listen, FRONT_FD_LISTEN };
	for (int i = 0; i < ZYGOTES; i++)
		p->fds[2 + i] = (struct start_fd){ socks == NULL ? -1 : socks[i],
			FRONT_FD_READ + i };
	p->fds[5] = (struct start_fd){ in->spill, FRONT_FD_SPILL };
	p->fds[6] = (struct start_fd){ sock, FRONT_FD_INIT };
	p->fds[7] = (struct start_fd){ first ? in->plan->key : -1, FRONT_FD_KEY };
	p->fds[8] = (struct start_fd){ in->tools, FRONT_FD_TOOLS };
	p->fds[9] = (struct start_fd){ in->plan->relay, FRONT_FD_RELAY };
	p->fds[10] = (struct start_fd){ upgrade, FRONT_FD_UPGRADE };
	p->nfds = 11;
}

static pid_t
run_front(struct init *in, int exe, const int *socks, int upgrade, const char *confinement,
    int *ret_sock)
{
	const struct hands_options *o = in->plan->options;
	char background[32], peers[32], number[16];
	const char *argv[32 + 2 * OPTIONS_ENV_MAX] = { "ats-hands", ROLE_FRONT,
		"--sandbox", o->sandbox, "--workspace", in->box.workspace, "--home",
		in->box.home, "--retention", o->retention_s, "--confinement",
		confinement, "--background", background, "--heartbeat", o->heartbeat_s,
		"--tools", in->box.tools, "--peers", peers, "--number", number, "--init",
		ATS_VERSION };
	struct start_plan p = { .box = &in->box, .profile = ATS_PROFILE_FRONT,
		.exe = exe, .argv = argv,
		.await_exec = in->plan->groups != NULL };
	size_t n = 24;
	pid_t pid;
	int pair[2];

	if (o->listens || o->connects) {
		argv[n++] = o->connects ? "--connect" : "--listen";
		argv[n++] = o->connects ? o->connect.text : o->listen.text;
	}
	if (in->box.hands[0] != '\0') {
		argv[n++] = "--hands";
		argv[n++] = in->box.hands;
	}
	(void)snprintf(peers, sizeof peers, "%u,%u", in->box.worker_uid, in->plan->uid);
	(void)snprintf(background, sizeof background, "%u,%u",
	    (unsigned)in->box.budget.background_jobs,
	    (unsigned)in->box.budget.background_life_s);
	for (size_t i = 0; i < o->nenv; i++) {
		argv[n++] = "--env";
		argv[n++] = o->env[i];
	}
	(void)snprintf(number, sizeof(number), "%u", in->fronts + 1);
	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return -ATS_E_SYS;
	give_fds(in, &p, socks, upgrade, pair[1]);
	pid = start_role(&p);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return -ATS_E_SYS;
	}
	in->fronts++;
	*ret_sock = pair[0];
	return pid;
}

pid_t
init_start_front(struct init *in, int exe, const int socks[ZYGOTES], int upgrade,
    int *ret_sock)
{
	struct ats_buf vector = { 0 };
	pid_t pid = -ATS_E_NOMEM;

	ats_buf_init(&vector, 8192);
	if (vector_make(&in->box, NULL, FILTER_SHELL, NULL, &vector) == 0)
		pid = run_front(in, exe, socks, upgrade, vector.data, ret_sock);
	ats_buf_done(&vector);
	return pid;
}

int
init_start_greeter(struct init *in, struct ats_err *err)
{
	int front_socks[ZYGOTES], rc = 0;

	for (unsigned i = 0; rc == 0 && i < ZYGOTES; i++)
		rc = init_zygote_socket(&front_socks[i], &in->socks[i]);
	if (rc == 0)
		in->front = init_start_front(in, in->plan->exe, front_socks, -1, &in->front_sock);
	if (rc < 0 || in->front < 0)
		return ats_err_set(err, ATS_E_SYS, "start of front");
	if (in->plan->key >= 0)
		(void)close(in->plan->key);	/* nobody else has it */
	for (unsigned i = 0; i < ZYGOTES; i++)
		(void)close(front_socks[i]);
	return 0;
}
