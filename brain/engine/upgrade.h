/* SPDX-License-Identifier: Apache-2.0
 *
 * ats/sandbox.upgrade: hands is asked to put a newer file in front's place. New calls wait, the
 * link ends and comes again, and the request is answered when it is ready, or when hands says
 * why not. */
#ifndef ATS_ENGINE_UPGRADE_H
#define ATS_ENGINE_UPGRADE_H

#include "common/err.h"

struct client;
struct rpc;
struct sandbox;
struct upgrade;			/* of a sandbox, while it is under way */

#define UPGRADE_MOST_MS 45000u	/* hands gives it up itself before that */

/* Asks hands, and answers the request now or later. */
void upgrade_ask(struct rpc *r, struct sandbox *box);
/* Hands goes on as it was. */
void upgrade_unchanged(struct sandbox *box, int code, const char *text);
/* The link is there again. */
void upgrade_ready(struct sandbox *box);
/* The sandbox is lost, or freed. */
void upgrade_lost(struct sandbox *box, const char *why);
/* Nobody waits for the answer any more; what is under way goes on. */
void upgrade_client_gone(struct client *c);

#endif
