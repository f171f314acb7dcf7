/* SPDX-License-Identifier: Apache-2.0
 *
 * Percent-encoding (RFC 3986, 2.1), and templates filled with a call's arguments. Pure. The
 * templates are the configuration's, the arguments anybody's. */
#ifndef ATS_GATEWAY_ENCODE_H
#define ATS_GATEWAY_ENCODE_H

#include "common/json.h"
#include "proto/gateway_config.h"

#define ENCODE_FORM 1u			/* a space is '+' */
#define ENCODE_LOWER 2u			/* digits a-f */

/* Appends the bytes; all but A-Z a-z 0-9 - . _ ~ are encoded. -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int encode_percent(struct ats_buf *out, const char *s, size_t n, unsigned how);
/* Appends the value of an argument as text: a string, a number as it was written, true or false.
 * -ATS_E_INVAL for anything else and for a string that holds a NUL, with a text that names it. */
ATS_NODISCARD int encode_value(struct ats_buf *out, const char *name,
    const struct ats_json_val *v, struct ats_err *err);
/* Appends the path of a tool: each argument is encoded within its segment. args is the scanned
 * object. -ATS_E_INVAL, with a text: an argument is absent, empty, holds a slash, a backslash or a
 * control character, or makes a segment "." or "..". */
ATS_NODISCARD int encode_path(struct ats_buf *out, const struct ats_gw_template *t,
    struct ats_slice args, struct ats_err *err);
/* Appends "name=value&..." of the tool's query; a parameter with an absent argument is left out. */
ATS_NODISCARD int encode_query(struct ats_buf *out, const struct ats_gw_tool *t,
    struct ats_slice args, struct ats_err *err);
/* Appends the arguments that neither path nor query has taken: a JSON object, or a form. */
ATS_NODISCARD int encode_rest(struct ats_buf *out, const struct ats_gw_tool *t,
    struct ats_slice args, bool form, struct ats_err *err);

#endif
