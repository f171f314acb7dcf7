/* SPDX-License-Identifier: Apache-2.0
 *
 * Repositories that tools make. What git writes into a new one stays; what else programs of the
 * host would execute or trust in it is moved aside, before it is protected as it is. */
#ifndef ATS_HANDS_CONFINE_MADE_H
#define ATS_HANDS_CONFINE_MADE_H

#include <stdbool.h>
#include <stddef.h>

/* dir/.git was made by a call that has ended: hooks that are no samples, a config with more than
 * git init, clone, remote, branch and user names write, files that lead elsewhere, and .git itself
 * where it is no directory, are renamed to NAME.quarantine. The same in the repositories of its
 * submodules. config_is_open: a
 * config is not looked at. How many names were. */
unsigned made_settle(const char *dir, bool config_is_open);
/* Whether each line of a git configuration is one of those. inner: a submodule's, which may name
 * its work tree. */
bool made_config_is_plain(const char *text, size_t n, bool inner);

#endif
