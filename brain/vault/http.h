/* SPDX-License-Identifier: Apache-2.0
 *
 * The door over HTTP as the vault sees it: ats-http, which "http" of the configuration has the
 * spawner start, and start again when it ends. */
#ifndef ATS_VAULT_HTTP_H
#define ATS_VAULT_HTTP_H

#include "common/err.h"

struct ats_ipc_msg;
struct ats_json_w;
struct config;
struct ats_homes;
struct vault;

/* What the types of the rows of "http" cannot say. name is the file's, for messages.
 * -ATS_E_CONFIG. */
ATS_NODISCARD int config_check_http(const struct config *c, const char *name,
    const struct ats_homes *homes, struct ats_err *err);
bool config_has_http(const struct config *c);

/* Orders it, if the configuration wants it. -ATS_E_NOMEM. */
ATS_NODISCARD int http_open(struct vault *v, struct ats_err *err);
/* Takes what is of it; false: it is of something else. */
bool http_on_spawner(struct vault *v, const struct ats_ipc_msg *m);
/* The member "http", where there is one: state, where, pid, starts, why. */
void http_json(const struct vault *v, struct ats_json_w *w);
void http_free(struct vault *v);

#endif
