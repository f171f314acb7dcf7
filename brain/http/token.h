/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens that clients of ats-http must have. */
#ifndef ATS_HTTP_TOKEN_H
#define ATS_HTTP_TOKEN_H

#include "common/err.h"

struct http;

/* Reads those that h->opt names into h->token and h->metrics_token (owned by h; the second one
 * stays NULL when it is not named). -ATS_E_PERM, -ATS_E_INVAL and the like, with what to do. */
ATS_NODISCARD int tokens_read(struct http *h, struct ats_err *err);

#endif
