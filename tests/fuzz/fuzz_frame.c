/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a hostile peer through head, gate and decoder. Input: which allocation fails,
 * a byte that says who the peer is and in which state, then the frame. With the top bit
 * of that byte the head is left out and the next byte picks the row, so that each decoder
 * is reached without a good head; with the next bit the rest is what JSON is made from.
 * What decodes must encode again, and decode to the same. */
#include "proto/msg.h"
#include "tests/fuzz/proto_input.h"

enum {
	BRAIN = 1,
	GREETING = 2,
	SKIP_UNKNOWN = 2,
	NARROW = 0x20,
	MADE = 0x40,
	NO_HEAD = 0x80
};

static void
headless(struct fuzz_in *in, unsigned flags, unsigned fault)
{
	const struct ats_shape *shape =
	    &ats_frame_rows[fuzz_byte(in) % ATS_FRAME_COUNT].shape;
	size_t room = (flags & NARROW) != 0 ? fuzz_byte(in) : 1u << 20;
	struct ats_slice json;
	struct ats_json_w w;
	struct ats_buf made;

	ats_buf_init(&made, 1u << 20);
	if ((flags & MADE) != 0) {
		ats_json_w_init(&w, &made);
		ats_json_w_object(&w, NULL);
		proto_members(&w, shape, in, 0);
		ats_json_w_end(&w);
		json = (struct ats_slice){ made.data, made.len };
	} else {
		json = fuzz_bytes(in, in->n);
	}
	proto_check(shape, json, flags & SKIP_UNKNOWN, fault, room);
	proto_encode_empty(shape);
	ats_buf_done(&made);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	enum ats_from peer = (flags & BRAIN) != 0 ? ATS_FROM_BRAIN : ATS_FROM_HANDS;
	enum ats_state state =
	    (flags & GREETING) != 0 ? ATS_STATE_HELLO : ATS_STATE_READY;
	unsigned char head[ATS_FRAME_HEAD], again[ATS_FRAME_HEAD];
	const struct ats_frame_row *row;
	struct ats_frame_head h;
	struct ats_err err = { 0 };
	int rc;

	if (size < 3)
		return 0;
	if ((flags & NO_HEAD) != 0) {
		headless(&in, flags, fault);
		return 0;
	}
	if (in.n < sizeof(head))
		return 0;
	memcpy(head, fuzz_bytes(&in, sizeof(head)).p, sizeof(head));
	rc = ats_frame_head_get(head, &h, &err);
	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	if (rc < 0)
		return 0;
	FUZZ_CHECK(ATS_FRAME_HEAD + h.json_len + h.payload_len == h.len);
	ats_frame_head_put(&h, again);
	FUZZ_CHECK(memcmp(head, again, sizeof(head)) == 0);
	row = ats_frame_row_find(h.type, h.kind);
	rc = ats_frame_gate(&h, peer, state, &err);
	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	FUZZ_CHECK((rc == -ATS_E_UNKNOWN_FRAME) == (row == NULL));
	if (rc < 0)
		return 0;
	FUZZ_CHECK((row->from & peer) != 0 && (row->state & state) != 0);
	FUZZ_CHECK(h.json_len <= row->max_json && h.payload_len <= row->max_payload);
	FUZZ_CHECK(&ats_frame_rows[ats_frame_row_id(row)] == row);
	FUZZ_CHECK(strlen(ats_proto_digest()) == 64);
	if (h.json_len <= in.n)
		proto_check(&row->shape, fuzz_bytes(&in, h.json_len), 0, fault, 1u << 20);
	return 0;
}
