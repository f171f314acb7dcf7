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
/* Whether dir is a repository itself, by the names in it: git looks at it where dir/.git is
 * none. */
bool made_is_bare(const char *dir);
/* A call that has ended made dir one, and what stands there by the names of hooks, config and
 * the like is not what git writes into a new one: HEAD is renamed, so that it is none any more.
 * The rest may be a project's own. How many names were; ret_stays as above. */
unsigned made_settle_bare(const char *dir, bool config_is_open, const char **ret_stays);
/* Whether each line of a git configuration is one of those. inner: a submodule's, which may name
 * its work tree. */
bool made_config_is_plain(const char *text, size_t n, bool inner);

#endif
