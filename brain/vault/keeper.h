/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper of one hook of the configuration: a process of ours that starts the hook, waits for
 * it, and ends with all that it has started. */
#ifndef ATS_VAULT_KEEPER_H
#define ATS_VAULT_KEEPER_H

#include "brain/vault/children.h"
#include "proto/hooks.h"

#define KEEPER_TIMED_OUT 124		/* its exit code when the hook's time was over */

/* Forks it in the spawner. The hook is run in "/" with a clean environment and CLAUDE_PROJECT_DIR,
 * its stdin, stdout and stderr are fds[3] (borrowed). The keeper's exit code is the hook's, 128 and
 * the number of a signal, or KEEPER_TIMED_OUT; 127 when it cannot be run, with why on its stderr.
 * SIGTERM ends it early. */
ATS_NODISCARD int keeper_start(struct children *k, const char *id, const struct ats_hook *hook,
    const char *workspace, const int fds[3], pid_t *ret_pid, struct ats_err *err);

#endif
