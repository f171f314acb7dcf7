/* SPDX-License-Identifier: Apache-2.0
 *
 * A link to a hands that was started elsewhere: connected to, here or over a network, or reached
 * by a command. */
#ifndef ATS_VAULT_REMOTE_H
#define ATS_VAULT_REMOTE_H

#include "brain/vault/children.h"
#include "brain/vault/provider.h"

/* By sandbox.url, and with script: by url, which is looked at first. *ret_pid is 0 where no child
 * carries the link; *ret_link is owned, and -1 when a dialer is under way to it (dialer.h). Never
 * waits. */
ATS_NODISCARD int remote_start(const struct config *conf, struct children *k, const char *id,
    const char *url, pid_t *ret_pid, int *ret_link, struct ats_err *err);
/* The user's script for the step, all of it but its id; argv is of conf, box is kept.
 * -ATS_E_NOENT when there is none. */
ATS_NODISCARD int remote_script(const struct config *conf, const char *box, uint64_t step,
    struct child_command *ret, struct ats_err *err);

#endif
