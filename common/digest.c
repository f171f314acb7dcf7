/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 and random ids. The low-level interface is used on purpose: EVP would pull the
 * provider machinery of libcrypto into each static program. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>
#include <sys/random.h>

#include "common/fault.h"

struct ats_sha256 {
	SHA256_CTX ctx;
};

static void
to_hex(const unsigned char *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[p[i] >> 4];
		*out++ = digits[p[i] & 15];
	}
	*out = '\0';
}

static void
finish(SHA256_CTX *ctx, char ret_hex[ATS_SHA256_HEX])
{
	unsigned char md[SHA256_DIGEST_LENGTH];

	(void)SHA256_Final(md, ctx);
	to_hex(md, sizeof(md), ret_hex);
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

int
ats_id_new(const char *prefix, char *out, size_t size)
{
	unsigned char r[6];
	char hex[sizeof(r) * 2 + 1];
	int n;

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return -ATS_E_SYS;
	to_hex(r, sizeof(r), hex);
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
