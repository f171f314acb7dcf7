/* SPDX-License-Identifier: Apache-2.0
 *
 * Scripts that make, probe and remove sandboxes: which run, and what the engine is owed of them. */
#ifndef ATS_VAULT_SCRIPTS_H
#define ATS_VAULT_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct ats_ipc_msg;
struct vault;

/* theirs is the engine's number of it. */
void scripts_run(struct vault *v, const char *box, uint64_t theirs, uint64_t step);
void scripts_kill(struct vault *v, uint64_t theirs);
/* Takes what is of a script; false: it is of something else. */
bool scripts_on_spawner(struct vault *v, struct ats_ipc_msg *m);
/* What it had asked for is ended. */
void scripts_engine_gone(struct vault *v);
/* Sends what is owed; as ats_brain_send. */
ATS_NODISCARD int scripts_sync(struct vault *v);
void scripts_free(struct vault *v);

#endif
