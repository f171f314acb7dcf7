/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding and encoding with failing allocations. */
#include <string.h>

#include "proto/tools.h"
#include "tests/fault/fault.h"

static void
exec_call(void)
{
	static const char json[] = "{\"argv\":[\"a\",\"b\\n\",\"c\"],\"ctx\":{},\"session\":\"s\","
				   "\"window\":1}";
	const struct ats_shape *shape = &ats_frame_rows[ATS_FRAME_CALL_EXEC].shape;
	struct ats_msg_CALL_EXEC m;
	struct ats_buf arena, out;
	struct ats_err err;

	ats_buf_init(&arena, 1u << 20);
	ats_buf_init(&out, 1u << 20);
	if (fault_ok(ats_msg_decode(shape, json, strlen(json), 0, &m, &arena, &err), "decode"))
		(void)fault_ok(ats_msg_encode(shape, &m, &out, &err), "encode");
	ats_buf_done(&arena);
	ats_buf_done(&out);
}

static void
tool_input(void)
{
	static union ats_tool_input_any in;
	const struct ats_tool_row *row = ats_tool_find("Grep");
	static const char json[] = "{\"pattern\":\"x\",\"glob\":\"*.c\",\"output_mode\":\"count\"}";
	struct ats_buf arena, schema;
	struct ats_err err;

	ats_buf_init(&arena, 1u << 20);
	ats_buf_init(&schema, 1u << 20);
	(void)fault_ok(ats_tool_input(row, json, strlen(json), &in, &arena, &err), "input");
	(void)fault_ok(ats_tool_schema(row, &schema), "schema");
	ats_buf_done(&arena);
	ats_buf_done(&schema);
}

int
main(void)
{
	exec_call();
	tool_input();
	(void)fault_ok(ats_proto_digest()[0] != '\0' ? 0 : -ATS_E_NOMEM, "digest");
	return fault_end();
}
