/* SPDX-License-Identifier: Apache-2.0
 *
 * What a workspace and its HOME hold on disk, against disk_mib. Looked at when a command has
 * ended, never meanwhile: a quota would be a wall, this is an account.
 *
 * Counting a tree costs a walk, so it is only done when the file systems have grown, or commands
 * have written, since the last count, as much as was left: until then the budget cannot have been
 * reached. */
#ifndef ATS_HANDS_CONFINE_BUDGET_DISK_H
#define ATS_HANDS_CONFINE_BUDGET_DISK_H

#include <stdbool.h>
#include <stdint.h>

struct box;
/* Shared by a zygote and its monitors; bytes. */
struct budget_disk {
	bool counted;		/* once at least */
	uint64_t held;		/* by the trees, at the last count */
	uint64_t used;		/* of the file systems: then (at first: when the box was made), or
				 * less if it was less since */
	uint64_t written;	/* by commands since then, as the kernel counts */
};

/* Returns owned, or NULL: there is no budget, or no memory. For the life of the process. */
struct budget_disk *budget_disk_new(const struct box *b);
/* True: more is held than may be; *ret_mib is how much. written: bytes, by the command that
 * ended. d may be NULL. */
bool budget_disk_is_exceeded(struct budget_disk *d, const struct box *b, uint64_t written,
    uint64_t *ret_mib);

#endif
