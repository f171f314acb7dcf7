/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of the user's programs. */
#ifndef ATS_GATEWAY_PROGRAM_ENV_H
#define ATS_GATEWAY_PROGRAM_ENV_H

#include <stddef.h>

#include "common/err.h"

struct gateway;

struct program_env {
	char **v;			/* NULL-terminated */
	size_t n;
};
/* PATH, HOME, USER, LANG unless the configuration has them, what it has, and the credential where
 * it names a variable. program_env_done in any case. -ATS_E_NOMEM. */
ATS_NODISCARD int program_env_make(struct gateway *g, struct program_env *ret,
    struct ats_err *err);
void program_env_done(struct program_env *e);	/* wipes */
/* A pipe that holds the credential and then ends; its reading end is owned. */
ATS_NODISCARD int program_env_secret_pipe(struct gateway *g, int *ret_fd, struct ats_err *err);

#endif
