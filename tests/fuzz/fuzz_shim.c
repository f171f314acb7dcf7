/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines that the shim's client sends, and what the host answers. Input: which allocation fails,
 * then lines; one that begins with a byte below 8 is an answer to the call of that number: the
 * next byte says of which form. What the shim says is strict JSON, a line each, and each request
 * has one answer at most. */
#include <event2/event.h>
#include <fcntl.h>
#include <unistd.h>

#include "hands/shim/out.h"
#include "hands/shim/rpc.h"
#include "hands/shim/shim.h"
#include "tests/fuzz/fuzz.h"

static void
call(struct shim *s, struct shim_call *c, const struct ats_spec *spec, struct ats_slice args)
{
	FUZZ_CHECK(shim_call_find(s, c->number) == c);
	FUZZ_CHECK(ats_specs_find(&s->specs, spec->name) == spec);
	FUZZ_CHECK(ats_json_type(args) == ATS_JSON_OBJECT);
}

static void
cancel(struct shim *s, struct shim_call *c)
{
	if (c->number % 2 == 0)
		shim_call_drop(s, c);
}

static const struct shim_way nowhere = { "nowhere", NULL, call, cancel, NULL };

static void
drop_calls(struct shim *s)
{
	while (s->calls != NULL)
		shim_call_drop(s, s->calls);
}

static void
answer(struct shim *s, const char *p, size_t n)
{
	static const char message[] = "half";
	struct shim_call *c = shim_call_find(s, (uint64_t)p[0]);
	struct ats_slice blocks = { NULL, 0 };
	const char *nul = memchr(p, '\0', n);
	struct ats_specs specs;

	if (n < 2 || c == NULL)
		return;
	switch (p[1] % 5) {
	case 0:
		shim_call_text(s, c, (p[1] & 0x40) != 0, p + 2, n - 2);
		break;
	case 1:	/* blocks as front lets pass: an array of them */
		if (nul == NULL || nul < p + 2 ||
		    ats_json_scan(p + 2, (size_t)(nul - p) - 2, NULL) < 0)
			break;
		blocks = (struct ats_slice){ p + 2, (size_t)(nul - p) - 2 };
		if (ats_json_type(blocks) == ATS_JSON_ARRAY)
			shim_call_blocks(s, c, false, blocks, nul + 1, n - (size_t)(nul - p) - 1);
		break;
	case 2:
		shim_call_progress(s, c, message);
		break;
	case 3:
		shim_calls_fail(s, "lost");
		break;
	default:
		if (ats_specs_read(p + 2, n - 2, &specs, NULL) == 0)
			shim_tools_changed(s, &specs);
		break;
	}
}

/* Whole lines of strict JSON, but for the last when memory was out. */
static void
check_said(int fd, bool whole)
{
	ATS_CLEANUP_BUF struct ats_buf all = { 0 };
	char *to;
	ssize_t n;

	ats_buf_init(&all, 64u << 20);
	(void)lseek(fd, 0, SEEK_SET);
	do {
		FUZZ_CHECK(ats_buf_reserve(&all, 65536, &to) == 0);
		n = read(fd, to, 65536);
		FUZZ_CHECK(n >= 0);
		ats_buf_commit(&all, (size_t)n);
	} while (n > 0);
	while (all.len > 0) {
		const char *eol = memchr(all.data, '\n', all.len);

		FUZZ_CHECK(eol != NULL || !whole);
		if (eol == NULL)
			return;
		FUZZ_CHECK(ats_json_scan(all.data, (size_t)(eol - all.data), NULL) == 0);
		ats_buf_consume(&all, (size_t)(eol - all.data) + 1);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char specs[] = "[{\"name\":\"t\",\"description\":\"d\"},{\"name\":\"u\"}]";
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in);
	struct shim s = { .way = &nowhere };
	int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0 && (s.base = event_base_new()) != NULL);
	FUZZ_CHECK(ats_specs_read(specs, sizeof(specs) - 1, &s.specs, NULL) == 0);
	FUZZ_CHECK((s.out = out_new(&s, fd)) != NULL);
	ats_fault_alloc(fault);
	while (in.n > 0 && s.status == 0) {
		const uint8_t *eol = memchr(in.p, '\n', in.n);
		struct ats_slice line = fuzz_bytes(&in, eol != NULL ? (size_t)(eol - in.p) : in.n);
		char *copy;

		(void)fuzz_byte(&in);
		copy = malloc(line.n + 1);
		if (copy == NULL)
			continue;	/* that was the one */
		memcpy(copy, line.p, line.n);
		if (line.n > 0 && (unsigned char)copy[0] < 8)
			answer(&s, copy, line.n);
		else
			shim_line(&s, copy, line.n);
		free(copy);
	}
	ats_fault_alloc(0);
	FUZZ_CHECK(s.ncalls <= SHIM_CALLS);
	FUZZ_CHECK(fault != 0 || s.status == 0);
	check_said(fd, s.status == 0);
	drop_calls(&s);
	out_free(s.out);
	ats_specs_done(&s.specs);
	event_base_free(s.base);
	(void)close(fd);
	return 0;
}
