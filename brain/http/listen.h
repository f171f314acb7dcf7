/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HTTP_LISTEN_H
#define ATS_HTTP_LISTEN_H

#include "brain/http/http.h"
#include "common/buf.h"

/* Makes the listening sockets, before the process is confined. Appends to where, for people, each
 * URL or path, a space between them. listen_close in any case. */
ATS_NODISCARD int listen_open(struct http *h, struct ats_buf *where, struct ats_err *err);
/* Takes connections from now on. */
ATS_NODISCARD int listen_start(struct http *h, struct ats_err *err);
void listen_close(struct http *h);

#endif
