/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_VAULT_LOCK_H
#define ATS_VAULT_LOCK_H

#include "common/path.h"

struct locks {
	int state, runtime;
};
/* Takes STATE/brain.lock, which names us, then RUNTIME/brain.lock, for the life of this process
 * and of the spawner, which inherits the descriptors (owned). -ATS_E_BUSY, with a text that says
 * what to do, when another brain has either and answers; one that is ending is waited for. What
 * a killed brain left is no obstacle. */
ATS_NODISCARD int locks_take(const struct ats_places *places, struct locks *ret,
    struct ats_err *err);

#endif
