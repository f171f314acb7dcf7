/* SPDX-License-Identifier: Apache-2.0
 *
 * The errors of proto/msg.c that name a field. Each returns -ATS_E_FIELD and writes one line into
 * err, which may be NULL; what it quotes of the input is short and cut on a character. */
#ifndef ATS_PROTO_MSG_WRONG_H
#define ATS_PROTO_MSG_WRONG_H

#include "proto/msg.h"

/* "name: expected this, got that". v is a value of the scanned text, borrowed. */
int ats_msg_mistyped(const struct ats_field *f, const struct ats_json_val *v, struct ats_err *err);
/* "name: too long, at most N bytes". */
int ats_msg_too_long(const struct ats_field *f, struct ats_err *err);
/* "key: unknown; there are: ...". key is still escaped, without quotes. */
int ats_msg_unknown(const struct ats_shape *shape, struct ats_slice key, struct ats_err *err);

#endif
