/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that come with a request, and what is made of them. */
#ifndef ATS_ENGINE_CALLS_FDS_H
#define ATS_ENGINE_CALLS_FDS_H

#include "common/buf.h"
#include "common/err.h"

struct call_ask;
struct exec;
struct exec_ask;
struct rpc;

/* Closes those that the request names, where it is refused before they were taken: left behind
 * they would cost the connection. */
void calls_drop_fds(struct rpc *r);
/* fds: names, raw. Makes ask->exec (owned) of the one pipe that is for the bytes of ask's tool.
 * The descriptor is taken, whatever is returned: 0, or -ATS_E_* with a text for the client. */
ATS_NODISCARD int calls_take_data(struct rpc *r, struct call_ask *ask, struct ats_slice fds,
    struct ats_err *err);
/* Makes *ret (owned) of argv, of want (fds and argv of it are filled here, and of no use
 * afterwards) and of fds: names, raw, or p == NULL. Descriptors as above. */
ATS_NODISCARD int calls_take_exec(struct rpc *r, struct ats_slice argv, struct ats_slice fds,
    struct exec_ask *want, struct exec **ret, struct ats_err *err);

#endif
