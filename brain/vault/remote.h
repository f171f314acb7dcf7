/* SPDX-License-Identifier: Apache-2.0
 *
 * A link to a hands that was started elsewhere: connected to, or reached by a command. */
#ifndef ATS_VAULT_REMOTE_H
#define ATS_VAULT_REMOTE_H

#include "brain/vault/children.h"
#include "brain/vault/provider.h"

/* By sandbox.url. *ret_pid is 0 where there is no child; *ret_link is owned. Never waits. */
ATS_NODISCARD int remote_start(const struct config *conf, struct children *k, const char *id,
    pid_t *ret_pid, int *ret_link, struct ats_err *err);

#endif
