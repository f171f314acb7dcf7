/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_VAULT_CONFINE_H
#define ATS_VAULT_CONFINE_H

#include <sys/types.h>

#include "common/confine/seccomp.h"
#include "common/path.h"

/* The table that is the vault's own, beside base and noexec, for a vault of that pid whose
 * spawner has that pidfd. Valid as long as *rules is. */
struct vault_rules {
	struct ats_seccomp_rule r[6];
};
struct ats_seccomp_table vault_filter(int spawner_pidfd, pid_t self, struct vault_rules *rules);

/* Confines the vault: limits, no_new_privs, no capabilities (root keeps the one to look at
 * workspaces of others), Landlock to its own directories, no exec, no signal but SIGKILL to
 * the process of spawner_pidfd. Cannot be undone; after an error the process must end. */
ATS_NODISCARD int vault_confine(const struct ats_places *places, int spawner_pidfd,
    struct ats_err *err);

#endif
