/* SPDX-License-Identifier: Apache-2.0
 *
 * What command lines of all programs have in common. Used in main() before anything else. */
#ifndef ATS_COMMON_OPTIONS_H
#define ATS_COMMON_OPTIONS_H

#include "common/err.h"

/* For --version and --help: prints the text on stdout and exits, 0 or, when it could not be
 * written, 1. */
void ats_options_say(const char *text) __attribute__((noreturn));
/* The descriptor whose number text is (borrowed, still the caller's to judge), or -1: it is no
 * number, or nothing is open there. */
ATS_NODISCARD int ats_options_fd(const char *text);
/* Opens /dev/null (with O_RDWR or O_RDONLY) for each of the descriptors 0, 1 and 2 that is closed:
 * else the first socket that we open would be taken for it. */
void ats_options_standard_fds(int flags);

#endif
