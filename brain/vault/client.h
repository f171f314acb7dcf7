/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of vault.sock: clients.c has its connection, client_status.c what it looks at,
 * follow.c what it hears of approvals. */
#ifndef ATS_VAULT_CLIENT_H
#define ATS_VAULT_CLIENT_H

#include <stdint.h>
#include <sys/types.h>

#include "brain/policy/approvals.h"
#include "brain/vault/register.h"
#include "brain/vault/sources.h"

#define CLIENT_GONE_MAX 64		/* APPROVAL_GONE that it has to read; then it is dropped */

struct ats_ipc_msg;
struct event;
struct vault;

struct client {
	struct vault *v;
	int fd;
	struct event *ev;
	uid_t uid;
	pid_t pid;
	char waits[SESSION_ID_MAX];	/* for the engine's word on this session, or "" */
	char tests[CREDENTIAL_NAME_MAX];	/* waits for this credential to be read, or "" */
	uint32_t seq;			/* of that question */
	bool gone;			/* to be dropped by its callback */
	/* APPROVALS */
	bool lists, follows;		/* OK is owed; what changes is */
	uint32_t follow_seq;
	char follow_session[SESSION_ID_MAX];	/* or "": all */
	uint64_t told;			/* serial of the last ask that it knows of */
	struct {
		char id[APPROVAL_ID_MAX];
		const char *why;	/* static */
	} left[CLIENT_GONE_MAX];
	size_t nleft;
	struct event *wr;		/* made by the first APPROVALS */
	struct client *next;
};

/* Each an answer. One that cannot be sent costs the client its connection. */
void client_ok(struct client *c, uint32_t seq, const char *a, const char *b);
void client_failed(struct client *c, uint32_t seq, int code, const char *text);
void client_err(struct client *c, uint32_t seq, const struct ats_err *err);
/* It is dropped, by its own callback: the list does not change here, another client's callback may
 * be walking it. */
void client_lose(struct client *c);

/* client_status.c: each answers */
void client_on_status(struct client *c, const struct ats_ipc_msg *m);
void client_on_gateways(struct client *c, const struct ats_ipc_msg *m);
/* One that is named is read again first. */
void client_on_credentials(struct client *c, const struct ats_ipc_msg *m);

#endif
