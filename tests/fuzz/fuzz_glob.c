/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns from anybody over paths from anybody. Input: which allocation fails, flags,
 * pattern, NUL, path. What matches is what a slow matcher says, and a directory that may
 * not be entered holds no match. */
#include "hands/match/glob.h"
#include "tests/fuzz/glob_reference.h"

enum { REPEATED = 0x40, DEEP = 0x20 }; /* the pattern again and again: too large a one */

/* 1, 0, or -1: this pattern or path is too large for the slow one. */
static int
expected(const char *pattern, unsigned flags, struct ats_slice path)
{
	struct reference_words words = { .n = 0 };
	int want = 0;

	/* The slow matcher goes by bytes, as git does; a whole pattern by characters. */
	for (size_t i = 0; i < path.n; i++)
		if ((path.p[i] & 0x80) != 0)
			return -1;
	for (const char *p = pattern; *p != '\0'; p++)
		if ((*p & 0x80) != 0)
			return -1;
	if (!reference_is_path(path))
		return -1;
	reference_expand("", 0, pattern, &words);
	for (size_t i = 0; i < words.n && want == 0; i++) {
		const char *w = words.w[i];
		bool anywhere = (flags & GLOB_ANYWHERE) != 0 && strchr(w, '/') == NULL;
		struct ats_buf all;

		while (!anywhere && (*w == '/' || strncmp(w, "./", 2) == 0))
			w++;
		ats_buf_init(&all, 1u << 20);
		FUZZ_CHECK(ats_buf_addf(&all, "%s%s", anywhere ? "**/" : "", w) == 0);
		want = reference_path((struct ats_slice){ all.data, all.len }, path);
		/* a component that is its own text is not in the slow matcher */
		if ((flags & GLOB_BRACKET_NAMES) != 0 && want == 0 &&
		    strchr(w, '[') != NULL)
			want = -1;
		ats_buf_done(&all);
	}
	if (words.full && want == 0)
		want = -1;
	reference_words_done(&words);
	return want;
}

static void
whole(const char *pattern, unsigned flags, struct ats_slice path, unsigned fault)
{
	struct glob *g = NULL;
	struct ats_err err = { 0 };
	int rc, want;

	ats_fault_alloc(fault);
	rc = glob_new(pattern, flags, &g, &err);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -err.code && err.text[0] != '\0'));
	FUZZ_CHECK(rc == 0 || rc == -ATS_E_INVAL || (rc == -ATS_E_NOMEM && fault > 0));
	if (rc < 0)
		return;
	want = expected(pattern, flags, path);
	FUZZ_CHECK(want < 0 || (want == 1) == glob_match(g, path.p, path.n));
	if (glob_match(g, path.p, path.n)) {
		FUZZ_CHECK(glob_may_descend(g, path.p, 0));
		for (size_t i = 1; i + 1 < path.n; i++)
			FUZZ_CHECK(path.p[i] != '/' || glob_may_descend(g, path.p, i));
	}
	glob_free(g);
}

static void
parts(struct ats_slice pattern, struct ats_slice path, unsigned fault)
{
	struct glob_seq seq;
	bool magic = false;
	int rc, want;

	for (size_t i = 0; i < pattern.n; i++)
		magic = magic || strchr("*?[\\", pattern.p[i]) != NULL;
	FUZZ_CHECK(glob_has_magic(pattern.p, pattern.n) == magic);
	want = memchr(pattern.p, '/', pattern.n) == NULL &&
		       memchr(path.p, '/', path.n) == NULL
		   ? reference_path(pattern, path)
		   : -1;
	FUZZ_CHECK(want < 0 ||
		   (want == 1) == glob_segment(pattern.p, pattern.n, path.p, path.n));
	ats_fault_alloc(fault);
	rc = glob_seq_init(&seq, pattern.p, pattern.n);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || rc == -ATS_E_TOOBIG || (rc == -ATS_E_NOMEM && fault > 0));
	if (rc < 0)
		return;
	want = reference_is_path(path) ? reference_path(pattern, path) : -1;
	FUZZ_CHECK(want < 0 || (want == 1) == glob_seq_match(&seq, path.p, path.n));
	glob_seq_done(&seq);
}

static char *
repeat(const char *pattern, unsigned flags)
{
	struct ats_buf out;
	char *text;

	ats_buf_init(&out, 1u << 20);
	for (unsigned i = 0; i < ((flags & DEEP) != 0 ? 300u : 12u); i++)
		FUZZ_CHECK(ats_buf_add_str(&out, pattern) == 0);
	text = ats_buf_steal(&out, NULL);
	FUZZ_CHECK(text != NULL);
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	const uint8_t *nul = in.n > 0 ? memchr(in.p, 0, in.n) : NULL;
	struct ats_slice text, path;
	char *pattern, *copy;

	if (nul == NULL || size > 1024)
		return 0;
	text = fuzz_bytes(&in, (size_t)(nul - in.p));
	(void)fuzz_byte(&in);
	path = fuzz_bytes(&in, in.n);
	path.p = copy = fuzz_copy(path);
	pattern = fuzz_string(text);
	if ((flags & REPEATED) != 0) {
		char *longer = repeat(pattern, flags);

		free(pattern);
		pattern = longer;
	}
	whole(pattern, flags & (GLOB_ANYWHERE | GLOB_BRACKET_NAMES), path, fault);
	parts((struct ats_slice){ pattern, strlen(pattern) }, path, fault);
	free(pattern);
	free(copy);
	return 0;
}
