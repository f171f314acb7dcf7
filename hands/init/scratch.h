/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory for a start of hands that was given none. */
#ifndef ATS_HANDS_INIT_SCRATCH_H
#define ATS_HANDS_INIT_SCRATCH_H

#include <stddef.h>

#include "common/err.h"

/* Makes PLACE/name-XXXXXX (0700) in the first of /tmp, /run, /, /var/tmp and /dev/shm that takes
 * it: an image made from scratch has little of that, and its user may write in less. Tools are
 * granted none of these places whole. What killed ones have left there is removed. out gets the
 * path, *ret_lock a descriptor that says that it is in use as long as it is open. */
ATS_NODISCARD int scratch_make(const char *name, char *out, size_t size, int *ret_lock,
    struct ats_err *err);
/* Removes it with all that is in it, on its own file system and without following links. */
void scratch_remove(const char *path);

#endif
