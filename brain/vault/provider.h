/* SPDX-License-Identifier: Apache-2.0
 *
 * Where sandboxes come from: sandbox.url of the configuration, and the commands that it may
 * name. With all but stdio hands is not ours: it was started elsewhere, has options of its
 * own, and its workspace is a path on its side. */
#ifndef ATS_VAULT_PROVIDER_H
#define ATS_VAULT_PROVIDER_H

#include "brain/vault/config.h"

/* The rest of the checks of a configuration: sandbox.url, what it needs, and what would be
 * ignored with it. name is for messages. -ATS_E_CONFIG. */
ATS_NODISCARD int config_check_provider(struct config *c, const char *name,
    struct ats_err *err);
/* Another sandbox.url than that of the file; name is of where it comes from. Whatever it
 * returns, c is to be freed by config_done. */
ATS_NODISCARD int config_set_url(struct config *c, const char *name, const char *url,
    struct ats_err *err);
/* The argv of a command, or NULL. */
const struct ats_conf_strv *config_command(const struct config *c, const char *name);
/* The argv of a step of the script of sandbox.url, or NULL: the user has none for it. */
const struct ats_conf_strv *config_script(const struct config *c, uint64_t step);
/* Whether sandboxes may be at the other end of a network: then they have keys. */
bool config_is_network(const struct config *c);
/* Whether a script may name this address for its sandbox: whoever says it may be a compromised
 * engine, which must not reach other services by it. -ATS_E_PERM. */
ATS_NODISCARD int config_check_script_addr(const struct config *c, const struct ats_addr *a,
    struct ats_err *err);
/* Whether a hands of this uid is one to attach to. */
bool config_allows_uid(const struct config *c, uid_t uid);
/* Whether an address may be used: without TLS only on this machine, or with
 * sandbox.allow_plain. -ATS_E_CONFIG. */
ATS_NODISCARD int config_check_plain(const struct config *c, const struct ats_addr *a,
    struct ats_err *err);

#endif
