/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of frames.def as C tables, the gate, and the digest of all tables.
 * Runs in engine and front, on each header that a peer sends. */
#include "proto/msg.h"

#include <string.h>

#include "common/digest.h"
#include "proto/rows.h"

/* ---- tables --------------------------------------------------------------------- */
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc)                          \
	static const struct ats_field fields_##name[] = {
#define FIELD(frame, member, type, req, max, doc)                                        \
	ATS_ROW(struct ats_msg_##frame, member, #member, type, req, 0, max, doc)
#define END(name)                                                                        \
	ATS_ROW_LAST                                                                     \
	}                                                                                \
	;                                                                                \
	ATS_SHAPE_CHECK(fields_##name);
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END

#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#define FRAME(name, ftype, fkind, wire, who, when, mj, mp, doc)                          \
	[ATS_FRAME_##name] = {                                                           \
		.shape = ATS_SHAPE(wire, fields_##name, struct ats_msg_##name, doc),     \
		.type = (ftype),                                                         \
		.kind = (fkind),                                                         \
		.from = ATS_FROM_##who,                                                  \
		.state = ATS_STATE_##when,                                               \
		.max_json = (mj),                                                        \
		.max_payload = (mp),                                                     \
	},
const struct ats_frame_row ats_frame_rows[ATS_FRAME_COUNT] = {
#include "proto/frames.def"
};
#undef FRAME

#define KIND_MAX 32u
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc)                          \
	_Static_assert((type) >= 1 && (type) <= 4 && (kind) < KIND_MAX, #name ": number"); \
	_Static_assert(ATS_FRAME_HEAD + (mj) + (mp) <= ATS_FRAME_MAX, #name ": size");
#include "proto/frames.def"
#undef FRAME

/* A number that is used twice is a doubled case label: it does not compile. */
const struct ats_frame_row *
ats_frame_row_find(uint8_t type, uint8_t kind)
{
	if (kind >= KIND_MAX)
		return NULL;
	switch (type * KIND_MAX + kind) {
#define FRAME(name, ftype, fkind, wire, from, state, mj, mp, doc)                        \
	case (ftype) * KIND_MAX + (fkind):                                               \
		return &ats_frame_rows[ATS_FRAME_##name];
#include "proto/frames.def"
#undef FRAME
	default:
		return NULL;
	}
}
#undef FIELD
#undef END

enum ats_frame_id
ats_frame_row_id(const struct ats_frame_row *row)
{
	return (enum ats_frame_id)(row - ats_frame_rows);
}

/* The same for errors.def, whose users need no look-up by number here. */
enum errors_are_unique {
#define ATS_ERROR(name, number, wire, retry, text) ERROR_NUMBER_##number,
#include "proto/errors.def"
#undef ATS_ERROR
};

/* ---- gate ----------------------------------------------------------------------- */
int
ats_frame_gate(const struct ats_frame_head *h, enum ats_from peer, enum ats_state state,
    struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(h->type, h->kind);

	if (row == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "frame type %u kind %u is unknown",
		    h->type, h->kind);
	if ((row->from & peer) == 0)
		return ats_err_set(err, ATS_E_PROTO, "%s: not for this side to send",
		    row->shape.name);
	if ((row->state & state) == 0)
		return ats_err_set(err, ATS_E_STATE, "%s: not in this state of the connection",
		    row->shape.name);
	if (h->json_len > row->max_json)
		return ats_err_set(err, ATS_E_TOOBIG, "%s: %u bytes of JSON, at most %u",
		    row->shape.name, h->json_len, row->max_json);
	if (h->payload_len > row->max_payload)
		return ats_err_set(err, ATS_E_TOOBIG, "%s: %u bytes of payload, at most %u",
		    row->shape.name, h->payload_len, row->max_payload);
	return 0;
}

/* ---- digest --------------------------------------------------------------------- */
/* What two ends must agree on: every column but the texts for people. */
static const char *const digest_lines[] = {
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc)                          \
	"F " #name " " #type " " #kind " " wire " " #from " " #state " " #mj " " #mp "\n",
#define STRUCT(name, wire, doc) "S " #name " " wire "\n",
#define FIELD(frame, member, type, req, max, doc)                                        \
	"f " #member " " #type " " #req " " #max "\n",
#define END(name)
#include "proto/ctx.def"
#include "proto/frames.def"
#undef FRAME
#undef STRUCT
#undef FIELD
#undef END
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)                         \
	"T " #sym " " name " " #class " " #profile " " #dt " " #mt " " #out " " #hints "\n",
#define PARAM(sym, member, wire, type, req, min, max, doc)                               \
	"p " wire " " #type " " #req " " #min " " #max "\n",
#define END(sym)
#define ALIAS(name, target) "A " name " " target "\n",
#define ITEM(sym, doc) "I " #sym "\n",
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
#define ATS_ERROR(name, number, wire, retry, text) "E " #number " " wire " " #retry "\n",
#include "proto/errors.def"
#undef ATS_ERROR
};

const char *
ats_proto_digest(void)
{
	static char hex[ATS_SHA256_HEX];
	struct ats_sha256 *s;
	size_t i;

	if (hex[0] != '\0')
		return hex;
	s = ats_sha256_new();
	if (s == NULL)
		return "";	/* no memory: the hello names no digest and is refused */
	for (i = 0; i < ATS_ARRAY_LEN(digest_lines); i++)
		ats_sha256_add(s, digest_lines[i], strlen(digest_lines[i]));
	ats_sha256_finish(s, hex);
	return hex;
}
