/* SPDX-License-Identifier: Apache-2.0
 *
 * One strict decoder and one encoder for everything the .def tables describe: frames,
 * ctx, tool inputs. Structs, enums and tables are made from the tables here; nothing
 * about a message is written twice. Input is a peer's: unknown, missing, doubled, mistyped
 * and out-of-range members are refused with -ATS_E_FIELD and a text that names the member. */
#ifndef ATS_PROTO_MSG_H
#define ATS_PROTO_MSG_H

#include <stdint.h>

#include "common/frame.h"
#include "common/json.h"

#define ATS_PROTO_VERSION 1u

enum ats_field_type {
	ATS_FIELD_U64, ATS_FIELD_BOOL, ATS_FIELD_STR, ATS_FIELD_RAW, ATS_FIELD_STRV,
	ATS_FIELD_ENUM,
	ATS_FIELD_ITEMS			/* an array of objects of one shape */
};
/* What a tool's parameter means to the engine. */
enum ats_field_role {
	ATS_ROLE_NONE,
	ATS_ROLE_FILE,			/* names the file whose read-state goes with the call */
	ATS_ROLE_TIMEOUT		/* the call's own time limit, in milliseconds */
};
struct ats_shape;
struct ats_field {
	const char *name;		/* on the wire */
	enum ats_field_type type;
	bool required;
	size_t name_len;
	size_t offset;			/* of the member */
	enum ats_field_role role;
	size_t has_offset;		/* of has_<member> or n_<member>; else SIZE_MAX */
	uint64_t min, max;		/* see the .def files */
	const struct ats_shape *item;	/* ITEMS: of one; without STRV and ITEMS in it */
	const char *doc;		/* ENUM: begins with its values "a|b|c: " */
};
struct ats_shape {			/* a struct that can travel */
	const char *name;
	const struct ats_field *fields;
	size_t nfields, size;
	const char *doc;
};

/* flags of decode */
#define ATS_DECODE_LENIENT_NUM 1u	/* "5" is a number, "true" a bool: tool inputs */
#define ATS_DECODE_SKIP_UNKNOWN 2u	/* newer peers' optional fields */
#define ATS_DECODE_SCANNED 4u		/* json is (part of) a text that ats_json_scan accepted */
#define ATS_DECODE_NULL_ABSENT 8u	/* a null member counts as absent: tool inputs */
#define ATS_FIELDS_MAX 32u		/* fields of one shape at most */

/* json must be one object. Strings, STRV and ITEMS live in arena (initialised by the caller,
 * reset here, must outlive ret); RAW members point into json. ret is zeroed first; on failure
 * its content is undefined. err text for tools reads like a sentence: "limit: expected an
 * integer of at least 1, got \"x\"". Scans json strictly unless ATS_DECODE_SCANNED is set.
 * 0, -ATS_E_JSON, -ATS_E_UTF8, -ATS_E_FIELD, -ATS_E_TOOBIG or -ATS_E_NOMEM. */
ATS_NODISCARD int ats_msg_decode(const struct ats_shape *shape, const char *json, size_t n,
    unsigned flags, void *ret, struct ats_buf *arena, struct ats_err *err);
/* Appends the JSON object. Absent optionals are left out. -ATS_E_FIELD if a required STR or
 * RAW is NULL or something is over its maximum; out is then as it was before. */
ATS_NODISCARD int ats_msg_encode(const struct ats_shape *shape, const void *msg,
    struct ats_buf *out, struct ats_err *err);

/* ---- frames ---------------------------------------------------------------------- */
enum ats_from { ATS_FROM_BRAIN = 1, ATS_FROM_HANDS = 2, ATS_FROM_EITHER = 3 };
enum ats_state { ATS_STATE_HELLO = 1, ATS_STATE_READY = 2, ATS_STATE_ANY = 3 };
enum ats_frame_id {			/* index into ats_frame_rows */
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc) ATS_FRAME_##name,
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END
	ATS_FRAME_COUNT
};
struct ats_frame_row {
	struct ats_shape shape;		/* shape.name is the wire name */
	uint8_t type, kind;
	enum ats_from from;
	enum ats_state state;
	uint32_t max_json, max_payload;
};
extern const struct ats_frame_row ats_frame_rows[ATS_FRAME_COUNT];
/* The row of a type and kind, or NULL. */
const struct ats_frame_row *ats_frame_row_find(uint8_t type, uint8_t kind);
/* row is one of ats_frame_rows. */
enum ats_frame_id ats_frame_row_id(const struct ats_frame_row *row);
/* The gate: direction, state, size, before JSON. from: who the peer is. 0 or -ATS_E_*. */
ATS_NODISCARD int ats_frame_gate(const struct ats_frame_head *h, enum ats_from peer,
    enum ats_state state, struct ats_err *err);
/* SHA-256 hex over the tables as text; computed once per process. */
const char *ats_proto_digest(void);

/* Member declarations. */
#define ATS_MEMBER_U64(m) uint64_t m; bool has_##m;
#define ATS_MEMBER_BOOL(m) bool m; bool has_##m;
#define ATS_MEMBER_STR(m) const char *m;
#define ATS_MEMBER_ENUM(m) const char *m;
#define ATS_MEMBER_RAW(m) struct ats_slice m;
#define ATS_MEMBER_STRV(m) const char *const *m; size_t n_##m;
#define ATS_MEMBER_ITEMS(m) const struct ats_in_##m *m; size_t n_##m;
#define ATS_MEMBER_FILE(m) ATS_MEMBER_STR(m)
#define ATS_MEMBER_TIMEOUT(m) ATS_MEMBER_U64(m)

/* ISO C has no empty struct; unused makes room for frames without fields. */
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc) struct ats_msg_##name { \
	uint8_t unused;
#define FIELD(frame, member, type, req, max, doc) ATS_MEMBER_##type(member)
#define END(name) };
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END

/* ---- ctx --------------------------------------------------------------------------- */
#define STRUCT(name, wire, doc) struct ats_##name {
#define FIELD(frame, member, type, req, max, doc) ATS_MEMBER_##type(member)
#define END(name) };
#include "proto/ctx.def"
#undef STRUCT
#undef FIELD
#undef END
#define STRUCT(name, wire, doc) extern const struct ats_shape ats_shape_##name;
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/ctx.def"
#undef STRUCT
#undef FIELD
#undef END
extern const struct ats_shape *const ats_ctx_shapes[]; /* NULL-terminated */

#endif
