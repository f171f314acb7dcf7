/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4) through libcrypto's one low-level object, HMAC, hex, and random ids. */
#ifndef ATS_COMMON_DIGEST_H
#define ATS_COMMON_DIGEST_H

#include <stddef.h>

#include "common/err.h"

#define ATS_SHA256_BYTES 32
#define ATS_SHA256_HEX 65	/* with the NUL */

/* Lower-case hex of SHA-256 of the bytes. */
void ats_sha256_hex(const void *p, size_t n, char ret_hex[ATS_SHA256_HEX]);
/* Incremental: returns owned, NULL without memory. _finish writes the digest and frees; _free is
 * for one that is not finished, NULL is fine. */
struct ats_sha256;
struct ats_sha256 *ats_sha256_new(void);
void ats_sha256_add(struct ats_sha256 *s, const void *p, size_t n);
void ats_sha256_finish(struct ats_sha256 *s, char ret_hex[ATS_SHA256_HEX]);
void ats_sha256_free(struct ats_sha256 *s);
#define ATS_SHA1_BYTES 20
/* For WebSocket's handshake, where it proves nothing; for nothing else. */
void ats_sha1(const void *p, size_t n, unsigned char ret_sum[ATS_SHA1_BYTES]);
/* Whether n bytes are the same, in a time that depends on n only. */
bool ats_digest_equal(const void *a, const void *b, size_t n);
/* HMAC-SHA256 (RFC 2104): 32 bytes. */
void ats_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
    unsigned char ret_mac[ATS_SHA256_BYTES]);
/* Lower-case hex of n bytes and a NUL; and back: false unless exactly n bytes of it. */
void ats_hex(const void *p, size_t n, char *out);
bool ats_unhex(const char *hex, unsigned char *out, size_t n);
/* prefix-XXXXXXXXXXXX with 12 random hex digits from getrandom(2), in out[size]. */
ATS_NODISCARD int ats_id_new(const char *prefix, char *out, size_t size);
bool ats_id_valid(const char *id); /* [a-z]-[0-9a-f]{12} shape, for use in file names */

#endif
