/* SPDX-License-Identifier: Apache-2.0
 *
 * Where clients, and an engine of the service manager, come in. */
#ifndef ATS_VAULT_SOCKETS_H
#define ATS_VAULT_SOCKETS_H

#include <stdbool.h>

#include "common/err.h"

struct ats_places;
struct options;
struct vault_fds;

/* Fills door, listener and engine with what the service manager passed, each -1 where it did not,
 * and engine_uid. *ret_given: it passed some. */
ATS_NODISCARD int sockets_take(struct vault_fds *fds, const struct options *opt, bool *ret_given,
    struct ats_err *err);
/* Listens for what is still -1 and wanted. */
ATS_NODISCARD int sockets_open(struct vault_fds *fds, const struct options *opt,
    const struct ats_places *places, struct ats_err *err);
/* Those that we made, at the end. */
void sockets_remove(const struct ats_places *places);

#endif
