/* SPDX-License-Identifier: Apache-2.0
 *
 * Repositories that tools make. What git writes into a new one stays; what else programs of the
 * host would execute or trust in it is moved aside, before it is protected as it is. */
#ifndef ATS_HANDS_CONFINE_MADE_H
#define ATS_HANDS_CONFINE_MADE_H

#include <stdbool.h>
#include <stddef.h>

/* dir/.git was made by a call that has ended: hooks that are no samples, a config with more than
 * git init, clone, remote, branch and user names write, and files that lead elsewhere are renamed
 * to NAME.quarantine; the same in the repositories of its submodules. So is .git itself where it
 * is no directory, or not all of it can be looked at. config_is_open: a config is not looked at.
 * How many names were. ret_stays: set when some of it could not be, to a name that lives for
 * ever. */
unsigned made_settle(const char *dir, bool config_is_open, const char **ret_stays);
/* Whether each line of a git configuration is one of those. inner: a submodule's, which may name
 * its work tree. */
bool made_config_is_plain(const char *text, size_t n, bool inner);

#endif
