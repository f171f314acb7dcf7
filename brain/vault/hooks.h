/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of the configuration that run, and what the engine is owed of them. */
#ifndef ATS_VAULT_HOOKS_H
#define ATS_VAULT_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct ats_ipc_msg;
struct vault;

void hooks_run(struct vault *v, struct ats_ipc_msg *m);	/* RUN_HOOK */
/* theirs is the engine's number of it. */
void hooks_kill(struct vault *v, uint64_t theirs);
/* Takes what is of a hook; false: it is of something else. */
bool hooks_on_spawner(struct vault *v, struct ats_ipc_msg *m);
/* Those that it had asked for are ended. */
void hooks_engine_gone(struct vault *v);
/* Sends what is owed; as ats_brain_send. */
ATS_NODISCARD int hooks_sync(struct vault *v);
void hooks_free(struct vault *v);

#endif
