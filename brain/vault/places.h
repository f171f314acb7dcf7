/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a brain keeps what it has: found once, at its start. */
#ifndef ATS_VAULT_PLACES_H
#define ATS_VAULT_PLACES_H

#include "brain/vault/options.h"
#include "common/workspace.h"

/* From the options, else from the environment; makes the directories of runtime and state. Fills
 * homes, too. -ATS_E_INVAL and the like, with what is wrong. */
ATS_NODISCARD int places_find(const struct options *opt, struct ats_places *ret,
    struct ats_homes *ret_homes, struct ats_err *err);

#endif
