/* SPDX-License-Identifier: Apache-2.0
 *
 * Scripts that make and remove sandboxes, as the vault sees them: the engine asks for a step,
 * the spawner starts what the configuration has for it, and the descriptor of its stdin and
 * stdout passes through here unread. Runs in the vault. The engine chooses the sandbox, the
 * step and what the script reads, no program and no argument; how many run is bounded. */
#include "brain/vault/scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/vault/children.h"
#include "brain/vault/vault.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"
#include "proto/brain.h"

#define SCRIPTS_MAX 128

struct script {
	uint64_t number;		/* ours, never used twice */
	uint64_t theirs;		/* of the engine that asked */
	bool known;			/* that engine lives */
	bool owe_answer, owe_end, ended;
	int fd;				/* of owe_answer, or -1 */
	struct ats_err why;		/* of owe_answer, code 0: it runs */
	uint64_t exit_code, exit_signal;
	struct script *next;
};

static void
drop(struct vault *v, struct script *s)
{
	struct script **at = &v->scripts;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	v->nscripts--;
	ats_fd_close(&s->fd);
	free(s);
}

static void
refuse(struct vault *v, uint64_t theirs, int code, const char *text)
{
	(void)!ats_brain_send(v->engine.fd, ATS_MSG_SCRIPT, 0, NULL, 0, theirs, (uint64_t)code,
	    text);
}

static void
order_kill(struct vault *v, const struct script *s)
{
	char name[40];

	(void)snprintf(name, sizeof(name), CHILD_SCRIPT "%llu", (unsigned long long)s->number);
	if (ats_brain_send(v->spawner, ATS_MSG_KILL, 0, NULL, 0, name) < 0)
		vault_die(v, "the spawner does not answer");
}

void
scripts_run(struct vault *v, const char *box, uint64_t theirs, uint64_t step)
{
	struct script *s;

	if (v->conf->provider != PROVIDER_SCRIPT || !ats_id_valid(box) ||
	    (step != SCRIPT_DESTROY && reg_find_box(v->reg, box) == NULL)) {
		refuse(v, theirs, ATS_E_UNKNOWN_ID, "no session has this sandbox");
		return;
	}
	s = v->nscripts < SCRIPTS_MAX ? ats_calloc(1, sizeof(*s)) : NULL;
	if (s == NULL) {
		refuse(v, theirs, ATS_E_FULL, "too many scripts run already");
		return;
	}
	s->number = ++v->script_number;
	s->theirs = theirs;
	s->known = true;
	s->fd = -1;
	s->next = v->scripts;
	v->scripts = s;
	v->nscripts++;
	if (ats_brain_send(v->spawner, ATS_MSG_START_SCRIPT, 0, NULL, 0, box, (uint64_t)v->uid,
		s->number, step) == 0)
		return;
	(void)ats_err_set(&s->why, ATS_E_AGAIN, "the script could not be ordered");
	s->owe_answer = s->ended = true;
}

void
scripts_kill(struct vault *v, uint64_t theirs)
{
	for (struct script *s = v->scripts; s != NULL; s = s->next)
		if (s->known && s->theirs == theirs && !s->ended)
			order_kill(v, s);
}

static struct script *
find(struct vault *v, const char *name)
{
	char own[40];

	for (struct script *s = v->scripts; s != NULL; s = s->next) {
		(void)snprintf(own, sizeof(own), CHILD_SCRIPT "%llu",
		    (unsigned long long)s->number);
		if (strcmp(own, name) == 0)
			return s;
	}
	return NULL;
}

bool
scripts_on_spawner(struct vault *v, struct ats_ipc_msg *m)
{
	struct script *s;

	if (strncmp(m->s[0], CHILD_SCRIPT, strlen(CHILD_SCRIPT)) != 0)
		return false;
	s = find(v, m->s[0]);
	if (s == NULL)
		return true;
	if (m->type == ATS_MSG_EXITED) {
		s->ended = s->owe_end = true;
		s->exit_code = m->u[1];
		s->exit_signal = m->u[2];
	} else if (m->u[2] != 0 || m->nfds != 1) {
		(void)ats_err_set(&s->why, m->u[2] == 0 ? ATS_E_PROTO : (int)m->u[2], "%s",
		    m->s[3]);
		s->owe_answer = s->ended = true;
	} else {
		s->fd = ats_steal_fd(&m->fds[0]);
		s->owe_answer = true;
		if (!s->known)
			order_kill(v, s);
	}
	return true;
}

void
scripts_engine_gone(struct vault *v)
{
	for (struct script *s = v->scripts; s != NULL; s = s->next) {
		if (s->known && !s->ended)
			order_kill(v, s);
		s->known = false;
		ats_fd_close(&s->fd);
	}
}

static int
tell(struct vault *v, struct script *s)
{
	int rc = 0;

	if (s->owe_answer) {
		rc = ats_brain_send(v->engine.fd, ATS_MSG_SCRIPT, 0, &s->fd, s->fd >= 0 ? 1 : 0,
		    s->theirs, (uint64_t)s->why.code, s->why.text);
		s->owe_answer = rc < 0;
		if (rc == 0)
			ats_fd_close(&s->fd);
	}
	if (rc == 0 && s->owe_end) {
		rc = ats_brain_send(v->engine.fd, ATS_MSG_SCRIPT_ENDED, 0, NULL, 0, s->theirs,
		    s->exit_code, s->exit_signal);
		s->owe_end = rc < 0;
	}
	return rc;
}

int
scripts_sync(struct vault *v)
{
	struct script *next;
	int rc = 0;

	for (struct script *s = v->scripts; rc == 0 && s != NULL; s = next) {
		next = s->next;
		if (s->known)
			rc = tell(v, s);
		if (rc == 0 && s->ended)
			drop(v, s);
	}
	return rc;
}

void
scripts_free(struct vault *v)
{
	while (v->scripts != NULL)
		drop(v, v->scripts);
}
