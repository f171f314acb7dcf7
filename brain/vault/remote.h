/* SPDX-License-Identifier: Apache-2.0
 *
 * A link to a hands that was started elsewhere: connected to, here
 * or over a network, or reached by a command. */
#ifndef ATS_VAULT_REMOTE_H
#define ATS_VAULT_REMOTE_H

#include "brain/vault/children.h"
#include "brain/vault/provider.h"

/* By sandbox.url, and with script: by url, which is looked at first. *ret_pid is 0 where no child
 * carries the link; *ret_link is owned, and -1 when a dialer is under way to it (dialer.h). Never
 * waits. */
ATS_NODISCARD int remote_start(const struct config *conf, struct children *k, const char *id,
    const char *url, pid_t *ret_pid, int *ret_link, struct ats_err *err);
/* Starts the script of the step as the child script-NUMBER. -ATS_E_NOENT when the user has none
 * for it; *ret_link is owned. */
ATS_NODISCARD int remote_script(const struct config *conf, struct children *k, const char *box,
    uint64_t number, uint64_t step, pid_t *ret_pid, int *ret_link, struct ats_err *err);

#endif
