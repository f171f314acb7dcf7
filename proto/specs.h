/* SPDX-License-Identifier: Apache-2.0
 *
 * Specs of the host's tools, as programs in a sandbox get them: a JSON array of {"name",
 * "description"?, "inputSchema"? or "input_schema"?, "kind"?, "timeoutMs"?}. Written by front
 * and by atsctl, read by the shim; a file in a directory that others may write, or what brain
 * says. */
#ifndef ATS_PROTO_SPECS_H
#define ATS_PROTO_SPECS_H

#include "common/json.h"

#define ATS_SPECS_MAX 512		/* tools */
#define ATS_SPECS_BYTES (2u << 20)	/* of the text */
#define ATS_SPECS_NAME 128		/* bytes of a name */
#define ATS_SPECS_TIMEOUT_MS 86400000u

struct ats_spec {
	char name[ATS_SPECS_NAME + 1];
	struct ats_slice description;	/* a JSON string with its quotes; p is NULL: none */
	struct ats_slice schema;	/* a JSON object; p is NULL: none */
	uint64_t timeout_ms;		/* 0: none */
	bool client;			/* of kind client: done by the agent's own front end */
};
struct ats_specs {
	struct ats_spec *v;
	size_t n;
	char *text;	/* private: what the slices point to, without a line break */
};

/* Strict JSON. Members of a tool that are not known are left out; one that is known and of the
 * wrong type, a name twice, without a name, or over a limit: the whole is refused, by number and
 * never by content. *ret is owned (ats_specs_done). -ATS_E_JSON, -ATS_E_UTF8, -ATS_E_FIELD,
 * -ATS_E_TOOBIG, -ATS_E_NOMEM. */
ATS_NODISCARD int ats_specs_read(const char *text, size_t n, struct ats_specs *ret,
    struct ats_err *err);
void ats_specs_done(struct ats_specs *s);	/* zeroed ones are fine */
/* Or NULL. */
const struct ats_spec *ats_specs_find(const struct ats_specs *s, const char *name);
/* Appends them as a file has them, each of kind "callback" but those of kind client. */
ATS_NODISCARD int ats_specs_write(struct ats_buf *out, const struct ats_specs *s);
/* The same tools with the same members, in the same order. */
bool ats_specs_equal(const struct ats_specs *a, const struct ats_specs *b);

#endif
