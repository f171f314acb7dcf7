/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame table, its look-up and its gate (proto/frames.c), and brain.def's rows. */
#include "tests/lib/unit.h"

#include <sys/socket.h>

#include "proto/brain.h"
#include "proto/msg.h"

START_TEST(row_find_finds_each_row_and_nothing_else)
{
	unsigned type, kind, found = 0;
	const struct ats_frame_row *row;
	size_t i;

	for (i = 0; i < ATS_FRAME_COUNT; i++) {
		row = &ats_frame_rows[i];
		ck_assert_ptr_eq(ats_frame_row_find(row->type, row->kind), row);
		ck_assert_uint_eq(ats_frame_row_id(row), i);
		ck_assert_uint_gt(strlen(row->shape.doc), 0);
	}
	for (type = 0; type < 256; type++) {
		for (kind = 0; kind < 256; kind++)
			found += ats_frame_row_find((uint8_t)type, (uint8_t)kind) != NULL;
	}
	ck_assert_uint_eq(found, ATS_FRAME_COUNT);
}
END_TEST

static const struct {
	uint8_t type, kind;
	enum ats_from peer;
	enum ats_state state;
	uint32_t json_len, payload_len;
	int code;
} gates[] = {
	{ 4, 1, ATS_FROM_HANDS, ATS_STATE_HELLO, 49152, 0, 0 },
	{ 4, 1, ATS_FROM_HANDS, ATS_STATE_HELLO, 49153, 0, ATS_E_TOOBIG },
	{ 4, 1, ATS_FROM_HANDS, ATS_STATE_HELLO, 10, 1, ATS_E_TOOBIG },
	{ 4, 1, ATS_FROM_HANDS, ATS_STATE_READY, 10, 0, ATS_E_STATE },
	{ 4, 2, ATS_FROM_BRAIN, ATS_STATE_HELLO, 10, 0, ATS_E_PROTO },
	{ 4, 13, ATS_FROM_BRAIN, ATS_STATE_HELLO, 10, 0, 0 },
	{ 4, 13, ATS_FROM_HANDS, ATS_STATE_READY, 10, 0, 0 },
	{ 1, 1, ATS_FROM_BRAIN, ATS_STATE_READY, 10, 0, 0 },
	{ 1, 1, ATS_FROM_BRAIN, ATS_STATE_HELLO, 10, 0, ATS_E_STATE },
	{ 1, 1, ATS_FROM_HANDS, ATS_STATE_READY, 10, 0, ATS_E_PROTO },
	{ 1, 3, ATS_FROM_BRAIN, ATS_STATE_READY, 10, 0, 0 },
	{ 1, 6, ATS_FROM_BRAIN, ATS_STATE_READY, 10, 0, ATS_E_UNKNOWN_FRAME },
	{ 0, 0, ATS_FROM_BRAIN, ATS_STATE_READY, 10, 0, ATS_E_UNKNOWN_FRAME },
	{ 2, 2, ATS_FROM_HANDS, ATS_STATE_READY, 20, 65536, 0 },
	{ 2, 2, ATS_FROM_HANDS, ATS_STATE_READY, 20, 65537, ATS_E_TOOBIG },
	{ 3, 0, ATS_FROM_HANDS, ATS_STATE_READY, 20, 3u << 20, 0 },
	{ 255, 255, ATS_FROM_HANDS, ATS_STATE_READY, 20, 0, ATS_E_UNKNOWN_FRAME },
};

START_TEST(gate_checks_direction_state_and_size)
{
	struct ats_frame_head h = { 0 };
	struct ats_err err;
	size_t i;
	int rc;

	for (i = 0; i < ATS_ARRAY_LEN(gates); i++) {
		h.type = gates[i].type;
		h.kind = gates[i].kind;
		h.json_len = gates[i].json_len;
		h.payload_len = gates[i].payload_len;
		rc = ats_frame_gate(&h, gates[i].peer, gates[i].state, &err);
		ck_assert_msg(rc == -gates[i].code, "row %zu: %d", i, rc);
		ck_assert_int_eq(ats_frame_gate(&h, gates[i].peer, gates[i].state, NULL), rc);
	}
}
END_TEST

START_TEST(digest_is_sha256_hex_and_stable)
{
	const char *d = ats_proto_digest();

	ck_assert_uint_eq(strlen(d), 64);
	ck_assert_uint_eq(strspn(d, "0123456789abcdef"), 64);
	ck_assert_ptr_eq(ats_proto_digest(), d);
}
END_TEST

START_TEST(ctx_shapes_hold_their_structs)
{
	struct ats_CTX_IN in;
	struct ats_buf arena;

	ck_assert_ptr_eq(ats_ctx_shapes[0], &ats_shape_CTX_IN);
	ck_assert_ptr_null(ats_ctx_shapes[3]);
	ats_buf_init(&arena, 4096);
	ck_assert_int_eq(ats_msg_decode(&ats_shape_CTX_IN, "{\"cwd\":\"/w\",\"env\":[\"A=1\"]}",
	    strlen("{\"cwd\":\"/w\",\"env\":[\"A=1\"]}"), 0, &in, &arena, NULL), 0);
	ck_assert_str_eq(in.cwd, "/w");
	ck_assert_str_eq(in.env[0], "A=1");
	ck_assert_ptr_null(in.reads.p);
	ats_buf_done(&arena);
}
END_TEST

START_TEST(brain_rows_name_a_sender_and_known_letters)
{
	size_t i;

	for (i = 0; i < ats_brain_nrows; i++) {
		const struct ats_ipc_row *r = &ats_brain_rows[i];

		ck_assert_uint_gt(r->type, 0);
		ck_assert_uint_ne(r->from, 0);
		ck_assert_uint_eq(strspn(r->sig, "us"), strlen(r->sig));
	}
}
END_TEST

START_TEST(brain_send_arrives_as_it_was_sent)
{
	struct ats_ipc_msg m;
	int sv[2];

	ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET, sv), 0);
	ck_assert_int_eq(ats_brain_send(sv[0], ATS_MSG_SANDBOX_EXITED, 9, NULL, 0, "b-1",
	    (uint64_t)7, (uint64_t)1, (uint64_t)15), 0);
	ck_assert_int_eq(ats_ipc_recv(sv[1], ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT,
	    &m), 1);
	ck_assert_uint_eq(m.type, ATS_MSG_SANDBOX_EXITED);
	ck_assert_uint_eq(m.seq, 9);
	ck_assert_str_eq(m.s[0], "b-1");
	ck_assert_uint_eq(m.u[1], 7);
	ck_assert_uint_eq(m.u[3], 15);
	ats_ipc_done(&m);
	ck_assert_int_eq(ats_brain_send(sv[0], ATS_MSG_KILL, 1, NULL, 0, "b-1"), 0);
	ck_assert_int_eq(ats_ipc_recv(sv[1], ats_brain_rows, ats_brain_nrows,
	    ATS_BRAIN_ENGINE, &m), -ATS_E_PROTO);
	ats_fd_close(&sv[0]);
	ats_fd_close(&sv[1]);
}
END_TEST

ATS_UNIT_MAIN("frames", row_find_finds_each_row_and_nothing_else,
    gate_checks_direction_state_and_size, digest_is_sha256_hex_and_stable,
    ctx_shapes_hold_their_structs, brain_rows_name_a_sender_and_known_letters,
    brain_send_arrives_as_it_was_sent)
