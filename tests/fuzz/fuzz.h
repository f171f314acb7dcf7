/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets share. An input is read from its front: how it is to be worked on
 * first, then the strings. The first byte of most says which allocation fails: with it
 * each answer is the same as without, or says that memory was out. */
#ifndef ATS_TESTS_FUZZ_H
#define ATS_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the code under test. */
#define FUZZ_CHECK(x)                                                                 \
	do {                                                                          \
		if (!(x)) {                                                           \
			(void)fprintf(                                                \
			    stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                      \
		}                                                                     \
	} while (0)

struct fuzz_in {
	const uint8_t *p;
	size_t n;
};

/* 0 when there is none left. */
static inline uint8_t
fuzz_byte(struct fuzz_in *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

/* The next n bytes, or what there is. */
static inline struct ats_slice
fuzz_bytes(struct fuzz_in *in, size_t n)
{
	struct ats_slice s = { (const char *)in->p, n < in->n ? n : in->n };

	in->p += s.n;
	in->n -= s.n;
	return s;
}

/* Which allocation is to fail, for ats_fault_alloc; 0: none. */
static inline unsigned
fuzz_fault(struct fuzz_in *in)
{
	uint8_t b = fuzz_byte(in);

	return (b & 0x80) != 0 ? b & 0x7fu : 0;
}

/* A copy that is exactly as large, so that reading on is seen; owned. */
static inline char *
fuzz_copy(struct ats_slice s)
{
	char *p = malloc(s.n + (s.n == 0));

	FUZZ_CHECK(p != NULL);
	memcpy(p, s.p, s.n);
	return p;
}

/* With a NUL; what is behind one in s is left out; owned. */
static inline char *
fuzz_string(struct ats_slice s)
{
	char *p = strndup(s.p, s.n);

	FUZZ_CHECK(p != NULL);
	return p;
}

static inline bool
fuzz_same(const struct ats_buf *a, const struct ats_buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

#endif
