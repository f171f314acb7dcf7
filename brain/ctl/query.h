/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that ask a running brain one thing and show the answer. Process: atsctl. */
#ifndef ATS_CTL_QUERY_H
#define ATS_CTL_QUERY_H

#include "brain/ctl/ctl.h"

/* Calls method with {"id": id} (id may be NULL: {}), prints the answer. text_member:
 * prints that string alone instead (without --json), or NULL; "": prints nothing then.
 * Returns the exit code: 0, 1 for an unknown id or any other error, 3 when no brain runs. */
int query(struct ctl *c, const char *method, const char *id, const char *text_member);
/* Says on stderr that brain knows no such id (err is its answer), or knows more to root; lists is
 * the command that shows ids. Returns the exit code. */
int query_unknown(const struct ctl *c, const char *id, const char *lists,
    const struct ats_err *err);

#endif
