/* SPDX-License-Identifier: Apache-2.0
 *
 * What an upstream says of a tool. Input: which allocation fails, the length of the name, the
 * name, the JSON, behind a NUL arguments. What is taken is written as one line of JSON, also
 * inside of what stands around it on its way to a sandbox, and its name is one that clients
 * take. */
#include "brain/engine/gateway_private.h"
#include "common/json.h"
#include "tests/fuzz/fuzz.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static void
check_written(const struct gateway_tool *t, bool with_limit)
{
	struct ats_json_w w;
	struct ats_buf out;

	ats_buf_init(&out, 1u << 20);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_object(&w, "result");
	ats_json_w_array(&w, "tools");
	gateway_tool_write(&w, t, with_limit);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	FUZZ_CHECK(w.rc == 0);
	FUZZ_CHECK(ats_json_scan(out.data, out.len, NULL) == 0);
	FUZZ_CHECK(memchr(out.data, '\n', out.len) == NULL);
	FUZZ_CHECK(memchr(out.data, '\r', out.len) == NULL);
	ats_buf_done(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in);
	size_t name_len = fuzz_byte(&in);
	char *name, *json, *args;
	struct gateway_tool *t, *again;
	struct ats_err err = { 0 };
	struct ats_slice rest;

	if (size > 65536)
		return 0;
	name = fuzz_string(fuzz_bytes(&in, name_len));
	rest = fuzz_bytes(&in, in.n);
	json = fuzz_string(rest);
	args = strlen(json) < rest.n ? fuzz_string((struct ats_slice){ rest.p + strlen(json) + 1,
	    rest.n - strlen(json) - 1 }) : strdup("{}");
	t = gateway_tool_new("git", name, json, (unsigned)size & 7u, &err);
	FUZZ_CHECK((t == NULL) == (err.code != 0));
	ats_fault_alloc(fault);
	again = gateway_tool_new("git", name, json, (unsigned)size & 7u, &err);
	ats_fault_alloc(0);
	FUZZ_CHECK((again == NULL) == (t == NULL) || (fault > 0 && again == NULL));
	gateway_tool_let_go(again);
	if (t != NULL) {
		FUZZ_CHECK(strlen(t->name) <= 64 && strncmp(t->name, "git__", 5) == 0);
		FUZZ_CHECK(strspn(t->name, PLAIN) == strlen(t->name));
		check_written(t, false);
		check_written(t, true);
		if (ats_json_scan(args, strlen(args), NULL) == 0 && args[0] == '{')
			FUZZ_CHECK(gateway_tool_check(t,
			    (struct ats_slice){ args, strlen(args) }, &err) <= 0);
	}
	gateway_tool_let_go(t);
	free(name);
	free(json);
	free(args);
	return 0;
}
