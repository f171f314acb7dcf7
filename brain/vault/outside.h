/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that the service manager starts, not the spawner. */
#ifndef ATS_VAULT_OUTSIDE_H
#define ATS_VAULT_OUTSIDE_H

#include <sys/types.h>

#include "common/err.h"

struct event;
struct vault;

struct outside {			/* an engine of the service manager */
	int listener;			/* -1: the spawner starts it */
	uid_t uid;			/* who may come */
	struct event *come, *late, *gone;
};

/* Takes listener, where an engine of the service manager comes in; -1: the spawner starts it. */
ATS_NODISCARD int outside_open(struct vault *v, int listener, uid_t uid, struct ats_err *err);
/* Takes the next one that comes, which must be soon. */
ATS_NODISCARD int outside_wait(struct vault *v, struct ats_err *err);
/* Its link is gone: vault_engine_exited, soon, and not from within what called this. */
void outside_lost(struct vault *v);
void outside_free(struct vault *v);

#endif
