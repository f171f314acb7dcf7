/* SPDX-License-Identifier: Apache-2.0
 *
 * Between what the vault says (vault_link.c) and what it is told (vault_link_say.c). */
#ifndef ATS_ENGINE_VAULT_LINK_PRIVATE_H
#define ATS_ENGINE_VAULT_LINK_PRIVATE_H

#include "brain/engine/sessions.h"
#include "brain/engine/vault_link.h"
#include "proto/brain.h"

struct vault_link {
	struct engine *e;
	int fd;
	struct event *readable, *writable, *settle;
	bool open;			/* the door is */
	bool settled;
	struct {			/* of the last SESSION, while the socket takes no more */
		bool due;
		uint32_t seq;
		char session[SESSION_ID_MAX + 1];
		struct ats_err verdict;
	} answer;
	struct ats_ipc_msg m;
};

/* The answer to ARE_YOU_THERE, with its number. */
void vault_link_here(struct engine *e, uint64_t number);

#endif
