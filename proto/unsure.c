/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure. Lines are the engine's; texts in them may be anybody's. */
#include "proto/unsure.h"

#include <string.h>

bool
ats_unsure_at(struct ats_slice line, size_t *ret_at)
{
	struct ats_json_val error, data, v;

	if (ats_json_type(line) != ATS_JSON_OBJECT || !ats_json_get(line, "error", &error) ||
	    error.type != ATS_JSON_OBJECT || !ats_json_get(error.raw, "message", &v) ||
	    v.type != ATS_JSON_STRING)
		return false;
	/* The engine has looked for it: it is new. */
	if (ats_json_get(error.raw, "data", &data) && data.type == ATS_JSON_OBJECT &&
	    ats_json_member_is(data.raw, "code", "table_full"))
		return false;
	*ret_at = (size_t)(v.raw.p - line.p) + 1;
	return true;
}

int
ats_unsure_add(struct ats_slice line, size_t at, struct ats_buf *out)
{
	int rc = ats_buf_add(out, line.p, at);

	if (rc == 0)
		rc = ats_buf_add_str(out, ATS_UNSURE ": ");
	return rc < 0 ? rc : ats_buf_add(out, line.p + at, line.n - at);
}
