/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_VAULT_PERMISSIONS_H
#define ATS_VAULT_PERMISSIONS_H

#include "common/err.h"

struct config;

/* Fills rules and gateway_policy from the rows permissions.*; name is the file's, for messages.
 * -ATS_E_CONFIG names the entry and what is wrong with it; -ATS_E_NOMEM. On failure rules may be
 * filled, and is freed by config_done. */
ATS_NODISCARD int config_read_permissions(struct config *c, const char *name,
    struct ats_err *err);

#endif
