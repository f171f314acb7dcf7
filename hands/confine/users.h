/* SPDX-License-Identifier: Apache-2.0
 *
 * The box's own /etc/passwd and /etc/group: the worker's uid is called agent, the host's
 * people are not named. And the start-up files of shells in its home directory, which no
 * tool can change. */
#ifndef ATS_HANDS_CONFINE_USERS_H
#define ATS_HANDS_CONFINE_USERS_H

#include "hands/confine/box.h"

/* Writes the files into dir (relative to the new root); passwd and group from the host's
 * system accounts. */
ATS_NODISCARD int users_write(const struct box *b, const char *dir, struct ats_err *err);
/* Binds them, read-only, over /etc/passwd and /etc/group where these exist, and over each
 * start-up file in the home directory. */
ATS_NODISCARD int users_mask(const struct box *b, struct ats_err *err);

#endif
