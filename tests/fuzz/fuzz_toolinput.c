/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's arguments through the lenient decoder of each tool. Input: which allocation
 * fails, how (room for the strings; with the top bit the rest is not JSON but what JSON
 * is made from), which tool, then the arguments. What decodes is encoded and decoded
 * strictly to the same; what does not names a parameter. The tool's schema is made, too,
 * and lists the same parameters. */
#include "proto/tools.h"
#include "tests/fuzz/proto_input.h"

enum { MADE = 0x80, NARROW = 0x40 }; /* NARROW: the other bits say how much room */

static void
check_schema(const struct ats_tool_row *row, unsigned fault, size_t room)
{
	struct ats_json_val properties, p, v;
	struct ats_buf out;
	int rc;

	FUZZ_CHECK(ats_tool_find(row->name) == row && ats_tool_id(row) < ATS_TOOL_COUNT);
	for (const struct ats_tool_alias *a = ats_tool_aliases; a->name != NULL; a++)
		FUZZ_CHECK(
		    strcmp(a->target, row->name) != 0 || ats_tool_find(a->name) == row);
	ats_buf_init(&out, room);
	ats_fault_alloc(fault);
	rc = ats_tool_schema(row, &out);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -ATS_E_NOMEM && fault > 0) || rc == -ATS_E_TOOBIG);
	if (rc == 0) {
		struct ats_slice whole = { out.data, out.len };

		FUZZ_CHECK(ats_json_scan(out.data, out.len, NULL) == 0);
		FUZZ_CHECK(ats_json_get(whole, "properties", &properties));
		for (size_t i = 0; i < row->input.nfields; i++)
			FUZZ_CHECK(
			    ats_json_get(properties.raw, row->input.fields[i].name, &p) &&
			    ats_json_get(p.raw, "type", &v) &&
			    ats_json_get(p.raw, "description", &v));
	}
	ats_buf_done(&out);
}

static void
check_input(const struct ats_tool_row *row, struct ats_slice json)
{
	static union ats_tool_input_any in;
	struct ats_buf arena;
	struct ats_err err;
	int rc, want;

	ats_buf_init(&arena, 32u << 20);
	rc = ats_tool_input(row, json.p, json.n, &in, &arena, &err);
	want = ats_msg_decode(&row->input, json.p, json.n,
	    ATS_DECODE_LENIENT_NUM | ATS_DECODE_NULL_ABSENT, proto_first, &arena, NULL);
	FUZZ_CHECK(rc == want);
	ats_buf_done(&arena);
}

/* A name is found, or the one it may be meant for is; that of a tool with a letter added is. */
static void
check_names(const struct ats_tool_row *row, struct ats_slice bytes)
{
	char name[64];
	int n = snprintf(name, sizeof(name), "%.*s", (int)(bytes.n < 60 ? bytes.n : 60),
	    bytes.n > 0 ? bytes.p : "");
	const struct ats_tool_row *near = ats_tool_nearest(name);

	FUZZ_CHECK(n >= 0);
	FUZZ_CHECK(near == NULL || ats_tool_find(near->name) == near);
	(void)snprintf(name, sizeof(name), "%sx", row->name);
	FUZZ_CHECK(ats_tool_find(name) == NULL && ats_tool_nearest(name) == row);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	const struct ats_tool_row *row = &ats_tool_rows[fuzz_byte(&in) % ATS_TOOL_COUNT];
	size_t room = (flags & NARROW) != 0 ? 8 * (flags & 0x3fu) : 1u << 20;
	struct ats_slice json;
	struct ats_json_w w;
	struct ats_buf made;

	if (size < 3 || size > 4096)
		return 0;
	ats_buf_init(&made, 1u << 20);
	if ((flags & MADE) != 0) {
		ats_json_w_init(&w, &made);
		ats_json_w_object(&w, NULL);
		proto_members(&w, &row->input, &in, 0);
		ats_json_w_end(&w);
		json = (struct ats_slice){ made.data, made.len };
	} else {
		json = fuzz_bytes(&in, in.n);
	}
	check_schema(row, fault, room > 512 ? room : room * 16);
	check_input(row, json);
	check_names(row, json);
	proto_check(&row->input, json, ATS_DECODE_LENIENT_NUM | ATS_DECODE_NULL_ABSENT,
	    fault, room);
	proto_encode_empty(&row->input);
	ats_buf_done(&made);
	return 0;
}
