/* SPDX-License-Identifier: Apache-2.0
 *
 * -- CMD: a container's own program, beside the box and not in it. */
#ifndef ATS_HANDS_INIT_COMMAND_H
#define ATS_HANDS_INIT_COMMAND_H

#include <sys/types.h>

#include "common/err.h"

/* Starts it under the base filter and no_new_privs, with the environment as it is and none of
 * our descriptors but 0, 1 and 2; those of --stdio are the link: it gets /dev/null and stderr
 * then. It is a process group of its own, the terminal's foreground one where we are that.
 * Returns the pid, or a negative code. That it could not be run is its exit status, as in a
 * shell: 127 not found, 126 not runnable, 125 not confined. */
ATS_NODISCARD pid_t command_start(char *const *argv, bool stdio_is_link);

#endif
