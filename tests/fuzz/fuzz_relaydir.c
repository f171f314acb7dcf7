/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in a relay directory, and specs of tools. Input: which allocation fails, what the
 * rest is: a name, a call's id, a request, an answer, specs. What was read can be written, and is
 * the same when it is read again. */
#include "proto/relaydir.h"
#include "proto/specs.h"
#include "tests/fuzz/fuzz.h"

enum { NAME, ID, REQUEST, RESPONSE, SPECS, KINDS };

static bool
within(struct ats_slice part, struct ats_slice all)
{
	return part.p >= all.p && part.p + part.n <= all.p + all.n;
}

static void
try_name(struct ats_slice s)
{
	char *name = fuzz_string(s), id[ATS_RELAYDIR_ID_MAX + 1], again[ATS_RELAYDIR_NAME];
	enum ats_relaydir_kind k = ats_relaydir_kind(name, id);

	FUZZ_CHECK(strlen(id) <= ATS_RELAYDIR_ID_MAX && strchr(id, '/') == NULL);
	if (id[0] != '\0') {
		FUZZ_CHECK(k == ATS_RELAYDIR_REQUEST || k == ATS_RELAYDIR_RESPONSE);
		ats_relaydir_name(k, id, again);
		FUZZ_CHECK(strcmp(again, name) == 0);
	}
	free(name);
}

static void
try_id(struct ats_slice s)
{
	char *call = fuzz_string(s), id[ATS_RELAYDIR_ID_MAX + 1], again[ATS_RELAYDIR_ID_MAX + 1];
	char name[ATS_RELAYDIR_NAME];

	ats_relaydir_id(call, id);
	ats_relaydir_id(id, again);
	FUZZ_CHECK(id[0] != '\0' && strcmp(id, again) == 0);
	ats_relaydir_name(ATS_RELAYDIR_REQUEST, id, name);
	FUZZ_CHECK(ats_relaydir_kind(name, again) == ATS_RELAYDIR_REQUEST &&
	    strcmp(id, again) == 0);
	if (ats_relaydir_temp(ATS_RELAYDIR_RESPONSE, id, name) == 0)
		FUZZ_CHECK(ats_relaydir_kind(name, again) == ATS_RELAYDIR_RESPONSE_TEMP);
	free(call);
}

/* What was written of args: the same bytes, but that a line break outside of strings, the only
 * place for one, became a blank (json.h). */
static bool
is_written_of(struct ats_slice written, struct ats_slice args)
{
	if (written.n != args.n)
		return false;
	for (size_t i = 0; i < args.n; i++)
		if (written.p[i] != (args.p[i] == '\n' || args.p[i] == '\r' ? ' ' : args.p[i]))
			return false;
	return true;
}

static void
try_request(struct ats_slice s, unsigned fault)
{
	struct ats_relaydir_request r, again;
	struct ats_buf b;
	int rc;

	ats_fault_alloc(fault);
	rc = ats_relaydir_request_read(s.p, s.n, &r, NULL);
	ats_fault_alloc(0);
	if (rc < 0)
		return;
	FUZZ_CHECK(r.tool[0] != '\0' && strlen(r.tool) <= ATS_RELAYDIR_TOOL_MAX);
	FUZZ_CHECK(r.args.p == NULL || (within(r.args, s) && *r.args.p == '{'));
	ats_buf_init(&b, 2 * s.n + 4096);
	FUZZ_CHECK(ats_relaydir_request_write(&b, r.tool, "id", r.args) == 0);
	FUZZ_CHECK(ats_relaydir_request_read(b.data, b.len, &again, NULL) == 0);
	FUZZ_CHECK(strcmp(r.tool, again.tool) == 0);
	FUZZ_CHECK(r.args.p == NULL ? again.args.n == 2 : is_written_of(again.args, r.args));
	ats_buf_done(&b);
}

static void
try_response(struct ats_slice s)
{
	enum ats_relaydir_answer a, again;
	struct ats_slice text, other;
	struct ats_buf b;

	/* As a text to be written: any bytes. */
	ats_buf_init(&b, 6 * s.n + 4096);
	FUZZ_CHECK(ats_relaydir_response_write(&b, ATS_RELAYDIR_ERROR, s.p, s.n) == 0);
	FUZZ_CHECK(ats_relaydir_response_read(b.data, b.len, &again, &other, NULL) == 0);
	FUZZ_CHECK(again == ATS_RELAYDIR_ERROR && other.n >= 2);
	ats_buf_done(&b);
	if (ats_relaydir_response_read(s.p, s.n, &a, &text, NULL) < 0)
		return;
	if (a == ATS_RELAYDIR_PAUSED)
		FUZZ_CHECK(text.p == NULL);
	else
		FUZZ_CHECK(within(text, s) && text.n >= 2 && text.p[0] == '"' &&
		    memchr(text.p, '\n', text.n) == NULL);
}

static void
try_specs(struct ats_slice s, unsigned fault)
{
	struct ats_specs a, again;
	struct ats_buf b;
	int rc;

	ats_fault_alloc(fault);
	rc = ats_specs_read(s.p, s.n, &a, NULL);
	ats_fault_alloc(0);
	if (rc < 0)
		return;
	ats_buf_init(&b, 8 * s.n + 4096);
	FUZZ_CHECK(ats_specs_write(&b, &a) == 0);
	FUZZ_CHECK(memchr(b.data, '\n', b.len) == NULL);
	FUZZ_CHECK(ats_specs_read(b.data, b.len, &again, NULL) == 0);
	FUZZ_CHECK(ats_specs_equal(&a, &again));
	for (size_t i = 0; i < a.n; i++)
		FUZZ_CHECK(ats_specs_find(&a, a.v[i].name) == &a.v[i]);
	ats_specs_done(&a);
	ats_specs_done(&again);
	ats_buf_done(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), kind = fuzz_byte(&in) % KINDS;
	struct ats_slice rest = { (const char *)in.p, in.n };
	char *copy = fuzz_copy(rest);

	rest.p = copy;
	if (kind == NAME)
		try_name(rest);
	else if (kind == ID)
		try_id(rest);
	else if (kind == REQUEST)
		try_request(rest, fault);
	else if (kind == RESPONSE)
		try_response(rest);
	else
		try_specs(rest, fault);
	free(copy);
	return 0;
}
