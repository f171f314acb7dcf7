/* SPDX-License-Identifier: Apache-2.0
 *
 * All processes of a call. In a pid namespace that is everybody but us; elsewhere the
 * descendants of this process, which must be a subreaper. */
#ifndef ATS_COMMON_TREE_H
#define ATS_COMMON_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* What there is to reach them by. */
struct tree {
	bool namespaced;
	pid_t ender;		/* see ender.h; 0 none */
	int ender_sock;		/* owned, -1 none */
};
#define TREE_OF_SUBREAPER { .namespaced = false, .ender = 0, .ender_sock = -1 }

/* Sends the signal to all. */
void tree_signal(const struct tree *t, int sig);
/* Writes the names of living ones, "sleep (3), tail", cut, into out; returns their
 * number. */
uint32_t tree_names(const struct tree *t, char *out, size_t size);
/* SIGKILL until nobody is left, at most about a second; reaps. */
void tree_end(const struct tree *t);
/* Without a namespace, for a subreaper one of whose children died before it had ended its own
 * tree: the same for its descendants that are neither one of keep nor below one. Reaps none. */
void tree_end_orphans(const pid_t *keep, size_t nkeep);

#endif
