/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 and random ids. The low-level interface is used on purpose: EVP would pull the
 * provider machinery of libcrypto into each static program. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include "common/fault.h"

struct ats_sha256 {
	SHA256_CTX ctx;
};

void
ats_hex(const void *p, size_t n, char *out)
{
	const unsigned char *b = p;
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[b[i] >> 4];
		*out++ = digits[b[i] & 15];
	}
	*out = '\0';
}

static void
finish(SHA256_CTX *ctx, char ret_hex[ATS_SHA256_HEX])
{
	unsigned char md[SHA256_DIGEST_LENGTH];

	(void)SHA256_Final(md, ctx);
	ats_hex(md, sizeof(md), ret_hex);
}

void
ats_sha256_hex(const void *p, size_t n, char ret_hex[ATS_SHA256_HEX])
{
	SHA256_CTX ctx;

	(void)SHA256_Init(&ctx);
	(void)SHA256_Update(&ctx, p, n);
	finish(&ctx, ret_hex);
}

struct ats_sha256 *
ats_sha256_new(void)
{
	struct ats_sha256 *s = ats_malloc(sizeof(*s));

	if (s != NULL)
		(void)SHA256_Init(&s->ctx);
	return s;
}

void
ats_sha256_add(struct ats_sha256 *s, const void *p, size_t n)
{
	(void)SHA256_Update(&s->ctx, p, n);
}

void
ats_sha256_finish(struct ats_sha256 *s, char ret_hex[ATS_SHA256_HEX])
{
	finish(&s->ctx, ret_hex);
	ats_sha256_free(s);
}

void
ats_sha256_free(struct ats_sha256 *s)
{
	free(s);
}

void
ats_sha1(const void *p, size_t n, unsigned char ret_sum[ATS_SHA1_BYTES])
{
	SHA_CTX ctx;

	(void)SHA1_Init(&ctx);
	(void)SHA1_Update(&ctx, p, n);
	(void)SHA1_Final(ret_sum, &ctx);
}

int
ats_id_new(const char *prefix, char *out, size_t size)
{
	unsigned char r[6];
	char hex[sizeof(r) * 2 + 1];
	int n;

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return -ATS_E_SYS;
	ats_hex(r, sizeof(r), hex);
	n = snprintf(out, size, "%s-%s", prefix, hex);
	return n < 0 || (size_t)n >= size ? -ATS_E_TOOBIG : 0;
}

bool
ats_id_valid(const char *id)
{
	if (id[0] < 'a' || id[0] > 'z' || id[1] != '-')
		return false;
	return strlen(id + 2) == 12 && strspn(id + 2, "0123456789abcdef") == 12;
}

static int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
ats_unhex(const char *hex, unsigned char *out, size_t n)
{
	if (strlen(hex) != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

#define HMAC_BLOCK 64		/* SHA-256's, RFC 2104 section 2 */

bool
ats_digest_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

void
ats_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
    unsigned char ret_mac[ATS_SHA256_BYTES])
{
	unsigned char block[HMAC_BLOCK] = { 0 };
	SHA256_CTX ctx;

	if (key_len > sizeof(block)) {
		(void)SHA256_Init(&ctx);	/* SHA256() would come by way of EVP */
		(void)SHA256_Update(&ctx, key, key_len);
		(void)SHA256_Final(block, &ctx);
	} else if (key_len > 0)
		memcpy(block, key, key_len);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	(void)SHA256_Init(&ctx);
	(void)SHA256_Update(&ctx, block, sizeof(block));
	(void)SHA256_Update(&ctx, p, n);
	(void)SHA256_Final(ret_mac, &ctx);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	(void)SHA256_Init(&ctx);
	(void)SHA256_Update(&ctx, block, sizeof(block));
	(void)SHA256_Update(&ctx, ret_mac, ATS_SHA256_BYTES);
	(void)SHA256_Final(ret_mac, &ctx);
	explicit_bzero(block, sizeof(block));
	explicit_bzero(&ctx, sizeof(ctx));
}
