/* SPDX-License-Identifier: Apache-2.0
 *
 * A secret: bytes on pages of their own, locked into memory, left out of core dumps, zero
 * in forked children and wiped when freed. There is no way to print one but as "***". */
#ifndef ATS_COMMON_SECRET_H
#define ATS_COMMON_SECRET_H

#include <stddef.h>

#include "common/err.h"

#define ATS_SECRET_MAX (16u << 10)

struct ats_secret;

/* Copies n bytes (up to ATS_SECRET_MAX) and wipes the caller's copy, also on failure.
 * Returns owned in *ret. Fails closed: no secret lives on pages that could not be locked. */
ATS_NODISCARD int ats_secret_new(void *p, size_t n, struct ats_secret **ret,
    struct ats_err *err);
/* n bytes of getrandom(2). */
ATS_NODISCARD int ats_secret_random(size_t n, struct ats_secret **ret, struct ats_err *err);
void ats_secret_free(struct ats_secret *s);	/* NULL is fine */
/* The bytes, borrowed until the secret is freed; a NUL follows them. */
const void *ats_secret_bytes(const struct ats_secret *s, size_t *ret_len);
/* Compares in a time that depends on n only. False if the lengths differ. */
bool ats_secret_equal(const struct ats_secret *s, const void *p, size_t n);
/* memset that the compiler keeps. */
void ats_secret_wipe(void *p, size_t n);

#endif
