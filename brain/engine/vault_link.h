/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's end of the vault's socket, by brain.def. The vault is trusted; a message
 * that is not its own to send means another build, and ends the engine. */
#ifndef ATS_ENGINE_VAULT_LINK_H
#define ATS_ENGINE_VAULT_LINK_H

#include <stdint.h>

#include "common/buf.h"

struct engine;
struct sandbox;
struct vault_link;

/* Waits for SETTINGS, blocking, before the loop: fills e->set and e->state_dir. */
ATS_NODISCARD int vault_link_settings(struct engine *e, int fd, struct ats_err *err);
/* Takes fd, says ENGINE_READY and reads on in the loop. The door opens when the vault has said
 * all that there was before us. Returns owned, or NULL: no memory, or the vault takes none. */
struct vault_link *vault_link_new(struct engine *e, int fd);
void vault_link_free(struct vault_link *v);	/* NULL is fine; closes its socket */

/* Orders and news, some answered by messages of the vault's. None of them waits. Those that return
 * nothing log what could not be said; without a link it is not said. */

/* A sandbox is wanted: it is started, or says why not. */
void vault_link_need(struct engine *e, const struct sandbox *box);
/* One that scripts provide is at url: attach to it. */
void vault_link_use(struct engine *e, const struct sandbox *box, const char *url);
/* A script of the provider, under this number; step: enum ats_script_step. */
void vault_link_run_script(struct engine *e, const char *box, uint64_t number, uint64_t step);
void vault_link_kill_script(struct engine *e, uint64_t number);
/* The sandbox of this generation is to end. */
void vault_link_kill(struct engine *e, const struct sandbox *box);
/* Hands has proven itself with the key of this generation: older ones are of no use. */
void vault_link_proven(struct engine *e, const struct sandbox *box, uint64_t generation);
/* Nothing is under way, or something is again. */
void vault_link_idle(struct engine *e, bool idle);

struct gateway_ask {			/* all borrowed */
	uint64_t id, limit_ms;
	bool strict;			/* a person is to decide, whatever allows it */
	const char *session, *tool;
	struct ats_slice args;		/* NUL-terminated */
	const int *files;		/* of memory, in the order of the tool's */
	size_t nfiles;			/* at most ATS_GATEWAY_FILES_MAX */
};
/* A call of a gateway's tool, or one of the sandbox's that a person is to decide. -ATS_E_AGAIN: the
 * socket is full, see vault_link_want_room; -ATS_E_NOMEM, -ATS_E_EOF, -ATS_E_PROTO. */
ATS_NODISCARD int vault_link_gateway_ask(struct engine *e, const struct gateway_ask *ask);
/* The same errors. The engine itself refuses that call, and why: a line of the audit. */
ATS_NODISCARD int vault_link_refused(struct engine *e, uint64_t call, const char *session,
    const char *tool, const char *why);
/* The same errors. The answer to it is in the journal: the vault need not keep it. */
ATS_NODISCARD int vault_link_gateway_noted(struct engine *e, uint64_t call);
/* The same errors. The call is not wanted any more; the tools of the gateway are wanted. */
ATS_NODISCARD int vault_link_gateway_cancel(struct engine *e, uint64_t call);
ATS_NODISCARD int vault_link_gateway_list(struct engine *e, const char *gateway);
/* The link of its process of this generation broke the rules, and is closed. */
void vault_link_gateway_broken(struct engine *e, const char *gateway, uint64_t generation);
/* A hook of the configuration; fds (borrowed) become its stdin, stdout and stderr. -ATS_E_AGAIN. */
ATS_NODISCARD int vault_link_run_hook(struct engine *e, uint64_t number, uint64_t index,
    const char *session, const int fds[3]);
void vault_link_kill_hook(struct engine *e, uint64_t number);
/* hooks_flush and gateway_flush are called when the socket takes messages again. */
void vault_link_want_room(struct engine *e);

#endif
