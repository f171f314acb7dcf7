/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages with the vault (proto/brain.def). What is said to it waits for room in the socket. */
#ifndef ATS_GATEWAY_VAULT_LINK_H
#define ATS_GATEWAY_VAULT_LINK_H

#include <stdint.h>

#include "common/err.h"

struct gateway;
struct vault_link;

/* Waits for GW_SETUP: fills conf, credential and mask of g. */
ATS_NODISCARD int vault_link_setup(struct gateway *g, int fd, struct ats_err *err);
/* Takes fd, and messages from now on. NULL when out of memory. QUIT or the end of the socket ends
 * the loop. */
struct vault_link *vault_link_new(struct gateway *g, int fd);
void vault_link_free(struct vault_link *v);	/* NULL is fine */
/* GW_READY. code 0: takes orders. With another the loop ends when it has left. */
void vault_link_ready(struct vault_link *v, int code, const char *why);
/* GW_TOOL for each, GW_TOOLS: a list that replaces the former. begin, add..., end; json is what
 * tools/list says of it. Between begin and end the loop does not turn. */
void vault_link_tools_begin(struct vault_link *v);
ATS_NODISCARD int vault_link_tools_add(struct vault_link *v, unsigned flags, const char *name,
    const char *json);
void vault_link_tools_end(struct vault_link *v);
/* GW_UNAUTHORIZED; renewals_end follows. */
void vault_link_refused(struct vault_link *v);
/* GW_ENDED. */
void vault_link_ended(struct vault_link *v, uint64_t call, int code);

#endif
