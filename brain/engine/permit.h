/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions for tools of the sandbox: every call passes here before it is sent, by
 * whichever way it came in. Tools of gateways are the vault's to decide. */
#ifndef ATS_ENGINE_PERMIT_H
#define ATS_ENGINE_PERMIT_H

#include "brain/engine/call.h"

/* RULE of the vault. Negative: it is none, or comes when a session is known already; to go on
 * without it could run what it denies. */
ATS_NODISCARD int permit_on_rule(struct engine *e, uint64_t effect, const char *text);
/* True: the call may run. False: it was answered, or a person is asked and dispatch_submit comes
 * again; c may be gone then. Only the words of the call are looked at, and where its paths begin
 * now. */
bool permit_check(struct call *c);
/* The same when it is sent, for paths that begin where the session is by now. 0 or
 * -ATS_E_DENIED. */
ATS_NODISCARD int permit_check_again(struct call *c, struct ats_err *err);

#endif
