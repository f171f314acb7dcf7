/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HTTP_LISTEN_H
#define ATS_HTTP_LISTEN_H

#include "brain/http/http.h"

/* Makes the listening socket, before the process is confined. *ret_where: for people, the URL or
 * the path. */
ATS_NODISCARD int listen_open(struct http *h, char *ret_where, size_t size, struct ats_err *err);
/* Takes connections from now on. */
ATS_NODISCARD int listen_start(struct http *h, struct ats_err *err);
void listen_close(struct http *h);

#endif
