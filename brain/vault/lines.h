/* SPDX-License-Identifier: Apache-2.0
 *
 * The vault's small files of lines: what they hold is our own, but a person may have edited it. */
#ifndef ATS_VAULT_LINES_H
#define ATS_VAULT_LINES_H

#include <stddef.h>

#include "common/err.h"

/* Gives each line of the file name in dir, without its end, to take, which may change it; those
 * that it refuses are counted in the log. No file: nothing to take, 0. As ats_fd_slurp. */
ATS_NODISCARD int lines_load(int dir, const char *name, size_t max,
    bool (*take)(void *ctx, char *line), void *ctx, struct ats_err *err);

#endif
