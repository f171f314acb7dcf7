/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HTTP_CONFINE_H
#define ATS_HTTP_CONFINE_H

#include "brain/http/http.h"
#include "common/confine/seccomp.h"

#define HTTP_FILTER_TABLES 3
extern const struct ats_seccomp_table *const http_filter[HTTP_FILTER_TABLES];
/* Once, before the first byte of a client: no file, no program, no socket but brain's two and
 * what listens already. */
ATS_NODISCARD int confine_http(const struct http *h, struct ats_err *err);

#endif
