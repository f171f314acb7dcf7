/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits for a newer credential: the upstream has refused the one that there is (401), which
 * changed nothing, and the vault reads it again, not too often. */
#ifndef ATS_GATEWAY_RENEWAL_H
#define ATS_GATEWAY_RENEWAL_H

#include <stdbool.h>

struct gateway;
struct renewal {
	struct renewal *next;
	/* Once: g has another credential, or changed is false and it stays. Not within
	 * renewal_wait. */
	void (*done)(void *ctx, bool changed);
	void *ctx;
};

/* Whether asking the vault may help: there is a credential, and it goes with requests. */
bool renewal_possible(const struct gateway *g);
/* w (borrowed until done or renewal_forget) waits; its done and ctx are set. */
void renewal_wait(struct gateway *g, struct renewal *w);
void renewal_forget(struct gateway *g, struct renewal *w);	/* also of one that does not wait */
/* The vault has answered. */
void renewals_end(struct gateway *g, bool changed);

#endif
