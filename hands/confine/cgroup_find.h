/* SPDX-License-Identifier: Apache-2.0
 *
 * Where this process stands in the cgroup hierarchies, from the kernel's own tables. Pure. */
#ifndef ATS_HANDS_CONFINE_CGROUP_FIND_H
#define ATS_HANDS_CONFINE_CGROUP_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* cgroup: text of /proc/self/cgroup; mountinfo: of /proc/self/mountinfo; controller: its name
 * in cgroup v1, or NULL for the unified hierarchy. Writes the directory of this process's group
 * as it can be opened. False: there is none, or it lies outside of what is mounted. */
bool cgroup_find(const char *cgroup, const char *mountinfo, const char *controller, char *out,
    size_t size);
/* Whether word stands in the list, words being separated by any of separators. */
bool cgroup_list_has(const char *list, size_t n, const char *word, const char *separators);

#endif
