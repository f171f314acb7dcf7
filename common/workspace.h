/* SPDX-License-Identifier: Apache-2.0
 *
 * Which directories a sandbox may be given: not the whole machine, not a home, nothing that
 * holds our own files or lies among them, and as a workspace nothing of the system. */
#ifndef ATS_COMMON_WORKSPACE_H
#define ATS_COMMON_WORKSPACE_H

#include "common/path.h"

/* Resolved once at the start: what needs the user database or the environment. */
struct ats_homes {
	char home[2][ATS_PATH_MAX];	/* of the user, and $HOME; "" if there is none */
	char own[3][ATS_PATH_MAX];	/* runtime, state, config */
};
/* The directories must exist, except the config one. */
ATS_NODISCARD int ats_homes_find(struct ats_homes *ret, const struct ats_places *places,
    struct ats_err *err);
/* Resolves path into real. -ATS_E_INVAL, NOENT, PERM with a text that says what to do. */
ATS_NODISCARD int ats_workspace_check(const struct ats_homes *h, const char *path,
    char real[ATS_PATH_MAX], struct ats_err *err);
/* The same for a path that a sandbox may read: files are fine, and so is what belongs to the
 * system. */
ATS_NODISCARD int ats_workspace_check_grant(const struct ats_homes *h, const char *path,
    char real[ATS_PATH_MAX], struct ats_err *err);

/* The same for a workspace on another side, of which nothing is known here: only the form of
 * the path is looked at. */
ATS_NODISCARD int ats_workspace_check_far(const char *path, char real[ATS_PATH_MAX],
    struct ats_err *err);

#endif
