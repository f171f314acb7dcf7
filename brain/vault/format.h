/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_VAULT_FORMAT_H
#define ATS_VAULT_FORMAT_H

#include "common/err.h"

/* Goes up when an older version would misread what is in the state directory. */
#define STATE_FORMAT 1

/* Whether dir is of a format that we know; a new one gets ours, when there is room for it. To be
 * called with dir's lock. -ATS_E_VERSION: a newer version wrote it. */
ATS_NODISCARD int format_check(const char *dir, struct ats_err *err);

#endif
