/* SPDX-License-Identifier: Apache-2.0
 *
 * Toolchains below $HOME that PATH reaches: which of their directories a sandbox may read,
 * which files in them stay covered, and the variables they need. */
#ifndef ATS_VAULT_TOOLCHAINS_H
#define ATS_VAULT_TOOLCHAINS_H

#include "common/buf.h"
#include "common/workspace.h"

struct ats_conf_strv;

/* Appends options of hands, a line each: ro=, mask= and env=. home and path are the user's
 * $HOME and $PATH (NULL: nothing is found); env has the configured K=V, which win. The file
 * system is asked anew each time, so that the next sandbox sees what was installed.
 * -ATS_E_NOMEM, -ATS_E_TOOBIG (of out). */
ATS_NODISCARD int toolchains_lines(const struct ats_homes *homes, const char *home,
    const char *path, const struct ats_conf_strv *env, struct ats_buf *out);

#endif
