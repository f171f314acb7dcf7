/* SPDX-License-Identifier: Apache-2.0
 *
 * The process between us and a program that ends with all that it started. Of common/child. */
#ifndef ATS_COMMON_CHILD_TREE_H
#define ATS_COMMON_CHILD_TREE_H

#include <stdbool.h>

/* Between fork and exec: splits in two. True in the one that is to run the program, in a session of
 * its own. The other never returns: when that has ended, or at SIGTERM, it kills what is below it
 * and ends as the program did. False: errno. */
bool ats_child_split(void);

#endif
