/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding one JSON object by a table, for the fuzz targets of tools and of frames, and a
 * writer that makes objects from bytes: members of the table in any order with values of
 * any kind, so that few inputs fail for a missing bracket. */
#ifndef ATS_TESTS_PROTO_INPUT_H
#define ATS_TESTS_PROTO_INPUT_H

#include <stddef.h>

#include "tests/fuzz/fuzz.h"

#include "proto/msg.h"

static max_align_t proto_first[128], proto_second[128];

static inline void proto_members(struct ats_json_w *w, const struct ats_shape *shape,
    struct fuzz_in *in, unsigned depth);

static inline void
proto_string(struct ats_json_w *w, const char *key, struct fuzz_in *in)
{
	struct ats_slice s = fuzz_bytes(in, fuzz_byte(in) % 64u);

	ats_json_w_strn(w, key, s.p, s.n);
}

/* A value that may be what f wants. */
static inline void
proto_value(struct ats_json_w *w, const char *key, const struct ats_field *f,
    struct fuzz_in *in, unsigned depth)
{
	static const char *const odd[] = { "5.0", "5.5", "1e3", "-1", "\"12\"",
		"\"true\"", "\"false\"", "\"012\"", "\"\"", "18446744073709551615",
		"18446744073709551616", "\"18446744073709551615\"", "{\"a\":[1,{}]}",
		"[[],{},null]", "\"\\u0000\"", "\"\\ud83d\\ude00\\n\"" };
	unsigned kind = fuzz_byte(in), n;

	switch (kind % 8) {
	case 0:
		ats_json_w_u64(w, key, fuzz_byte(in));
		break;
	case 1:
		ats_json_w_bool(w, key, (kind & 8) != 0);
		break;
	case 2:
		ats_json_w_null(w, key);
		break;
	case 3:
		n = fuzz_byte(in);
		ats_json_w_raw(w, key, odd[n % ATS_ARRAY_LEN(odd)],
		    strlen(odd[n % ATS_ARRAY_LEN(odd)]));
		break;
	case 4: /* one of an enum's words, or another */
		n = f->type == ATS_FIELD_ENUM ? (unsigned)strcspn(f->doc, "|:") : 0;
		ats_json_w_strn(w, key, f->doc, n);
		break;
	case 5:
	case 6:
		ats_json_w_array(w, key);
		for (n = kind / 8 % 8; n > 0; n--) {
			if (f->type != ATS_FIELD_ITEMS || depth > 0) {
				proto_string(w, NULL, in);
				continue;
			}
			ats_json_w_object(w, NULL);
			proto_members(w, f->item, in, depth + 1);
			ats_json_w_end(w);
		}
		ats_json_w_end(w);
		break;
	default:
		proto_string(w, key, in);
		break;
	}
}

static inline void
proto_members(struct ats_json_w *w, const struct ats_shape *shape, struct fuzz_in *in,
    unsigned depth)
{
	static const struct ats_field none = {
		.name = "x", .doc = "", .type = ATS_FIELD_RAW
	};
	unsigned n = fuzz_byte(in) % 16u;

	while (n-- > 0) {
		unsigned i = fuzz_byte(in);
		const struct ats_field *f =
		    i % 32 < shape->nfields ? &shape->fields[i % 32] : &none;

		proto_value(w, f->name, f, in, depth);
	}
}

/* Whether an error begins with the name of a member that there is, or says there is none.
 */
static inline bool
proto_names(const struct ats_shape *shape, const char *text)
{
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct ats_field *f = &shape->fields[i];
		const char *more = text + f->name_len;

		if (strncmp(text, f->name, f->name_len) != 0)
			continue;
		if (strncmp(more, ": ", 2) == 0)
			return true;
		if (f->type == ATS_FIELD_ITEMS && *more == '[' &&
		    (more = strstr(more, "]: ")) != NULL)
			return proto_names(f->item, more + 3);
	}
	return strstr(text, ": unknown; there are: ") != NULL ||
	       (strncmp(text, shape->name, strlen(shape->name)) == 0 &&
		   strstr(text, ": expected an object") != NULL);
}

/* What was decoded, encoded, is decoded again by the strictest of rules to the same. */
static inline void
proto_round_trip(const struct ats_shape *shape)
{
	struct ats_buf one, two, arena;

	ats_buf_init(&one, 64u << 20);
	ats_buf_init(&two, 64u << 20);
	ats_buf_init(&arena, 64u << 20);
	FUZZ_CHECK(ats_msg_encode(shape, proto_first, &one, NULL) == 0);
	FUZZ_CHECK(
	    ats_msg_decode(shape, one.data, one.len, 0, proto_second, &arena, NULL) == 0);
	FUZZ_CHECK(ats_msg_encode(shape, proto_second, &two, NULL) == 0);
	FUZZ_CHECK(fuzz_same(&one, &two));
	ats_buf_done(&one);
	ats_buf_done(&two);
	ats_buf_done(&arena);
}

/* room: bytes that the strings may take, of the decoded and of the encoded form. */
static inline void
proto_check(const struct ats_shape *shape, struct ats_slice json, unsigned flags,
    unsigned fault, size_t room)
{
	struct ats_err err = { 0 };
	struct ats_buf arena, out;
	int rc, want;

	FUZZ_CHECK(shape->size <= sizeof(proto_first));
	ats_buf_init(&arena, 32u << 20);
	want = ats_msg_decode(shape, json.p, json.n, flags, proto_first, &arena, &err);
	FUZZ_CHECK(want == 0 || (err.code == -want && err.text[0] != '\0'));
	FUZZ_CHECK(want == 0 || want == -ATS_E_JSON || want == -ATS_E_UTF8 ||
		   want == -ATS_E_FIELD);
	FUZZ_CHECK(want != -ATS_E_FIELD || proto_names(shape, err.text));
	FUZZ_CHECK(ats_msg_decode(
		       shape, json.p, json.n, flags, proto_second, &arena, NULL) == want);
	if (want == 0) {
		FUZZ_CHECK(ats_msg_decode(shape, json.p, json.n, flags, proto_first,
			       &arena, &err) == 0);
		proto_round_trip(shape);
	}
	ats_buf_done(&arena);
	/* once more, with little */
	ats_buf_init(&arena, room);
	ats_buf_init(&out, room);
	ats_fault_alloc(fault);
	rc = ats_msg_decode(shape, json.p, json.n, flags, proto_first, &arena, &err);
	FUZZ_CHECK(rc == want || rc == -ATS_E_NOMEM || rc == -ATS_E_TOOBIG);
	if (rc == 0) {
		rc = ats_msg_encode(shape, proto_first, &out, &err);
		FUZZ_CHECK(rc == 0 || (out.len == 0 && err.code == -rc));
		FUZZ_CHECK(rc == 0 || rc == -ATS_E_NOMEM || rc == -ATS_E_TOOBIG);
	}
	ats_fault_alloc(0);
	ats_buf_done(&arena);
	ats_buf_done(&out);
}

/* What is no message of ours may be given to the encoder too: too long, missing, out of
 * range. It is refused and nothing is written. */
static inline void
proto_encode_empty(const struct ats_shape *shape)
{
	bool needs = false;
	struct ats_err err = { 0 };
	struct ats_buf out;
	int rc;

	memset(proto_first, 0, sizeof(proto_first));
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct ats_field *f = &shape->fields[i];

		needs =
		    needs || (f->required && (f->type != ATS_FIELD_U64 || f->min > 0) &&
				 f->type != ATS_FIELD_BOOL);
	}
	ats_buf_init(&out, 4096);
	rc = ats_msg_encode(shape, proto_first, &out, &err);
	FUZZ_CHECK(rc == (needs ? -ATS_E_FIELD : 0) && (rc == 0 || out.len == 0));
	ats_buf_done(&out);
}

#endif
