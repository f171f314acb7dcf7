/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes as the vault knows them: which run, of which generation, and what the engine is owed
 * of each. */
#ifndef ATS_VAULT_BOXES_H
#define ATS_VAULT_BOXES_H

#include <sys/types.h>

#include "brain/vault/register.h"
#include "common/addr.h"

struct ats_ipc_msg;
struct vault;

enum box_state { BOX_DOWN, BOX_STARTING, BOX_UP };
struct box {				/* one sandbox */
	char id[SESSION_ID_MAX];
	uint64_t uid;			/* whose sessions it serves */
	enum box_state state;
	uint64_t generation;
	pid_t pid;
	dev_t dev;			/* of the workspace that it was started in, */
	ino_t ino;			/* 0: not known */
	bool asked;			/* by this engine: it waits for SANDBOX */
	uint64_t wanted_ms;		/* asked for while it was up; maybe it is ending */
	/* Owed to the engine, in this order. */
	bool owe_moved, owe_exit, owe_answer, owe_alive;
	uint64_t exit_generation, exit_code, exit_signal;
	char url[ATS_ADDR_MAX];		/* what a script said, or "" */
	int link;			/* of owe_answer, or -1 */
	struct ats_err why;		/* of owe_answer, code 0: it runs */
	struct box *next;
};

/* What the spawner says of one. */
void boxes_on_spawner(struct vault *v, struct ats_ipc_msg *m);
/* url: where a script says that it is; NULL where no script is asked. */
void boxes_need(struct vault *v, const char *id, const char *url);
void boxes_kill(struct vault *v, const char *id, uint64_t generation);
/* Where another directory than the sandbox was started in is at the session's path by now, the
 * engine is told to end it, and of the session anew: what the client is to wait for. */
void boxes_look(struct vault *v, struct session *s);
/* Sends the first of that; as ats_brain_send. */
ATS_NODISCARD int boxes_tell_moved(struct vault *v);
/* The last session of the sandbox is gone. */
void boxes_unused(struct vault *v, const char *id);
/* A new engine knows of nothing. */
void boxes_engine_gone(struct vault *v);
/* Sends what is owed; as ats_brain_send. */
ATS_NODISCARD int boxes_sync(struct vault *v);
void boxes_free(struct vault *v);

#endif
