/* SPDX-License-Identifier: Apache-2.0
 *
 * The MAC of control.prove. Runs in the engine and in hands' front; all that goes into it but
 * the key is public. Each part is preceded by its length: no two transcripts are the same
 * bytes. */
#include "proto/prove.h"

#include <string.h>
#include <sys/random.h>

#include "common/digest.h"

#define LABEL "ats prove 1"
#define TRANSCRIPT_MAX 512

struct transcript {
	unsigned char bytes[TRANSCRIPT_MAX];
	size_t n;
};

static void
add(struct transcript *t, const void *p, size_t n)
{
	ATS_BUG(n > UINT16_MAX || t->n + 2 + n > sizeof(t->bytes));
	t->bytes[t->n++] = (unsigned char)(n >> 8);
	t->bytes[t->n++] = (unsigned char)n;
	if (n > 0)
		memcpy(t->bytes + t->n, p, n);
	t->n += n;
}

static void
add_u64(struct transcript *t, uint64_t v)
{
	unsigned char b[8];

	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (unsigned char)(v >> (56 - 8 * i));
	add(t, b, sizeof(b));
}

void
ats_prove_mac(const unsigned char key[ATS_PROVE_KEY], const char *role,
    const struct ats_prove *what, char ret_hex[ATS_PROVE_HEX])
{
	unsigned char mac[ATS_SHA256_BYTES];
	struct transcript t = { .n = 0 };

	add(&t, LABEL, strlen(LABEL));
	add(&t, role, strlen(role));
	add(&t, what->sandbox, strlen(what->sandbox));
	add_u64(&t, what->generation);
	add(&t, what->boot, strlen(what->boot));
	add_u64(&t, what->epoch);
	add(&t, what->nonce_brain, strlen(what->nonce_brain));
	add(&t, what->nonce_hands, strlen(what->nonce_hands));
	add(&t, what->exporter, what->exporter != NULL ? 32 : 0);
	ats_hmac_sha256(key, ATS_PROVE_KEY, t.bytes, t.n, mac);
	ats_hex(mac, sizeof(mac), ret_hex);
}

bool
ats_prove_equal(const char *a, const char *b)
{
	unsigned char diff = 0;

	if (strlen(a) != ATS_PROVE_HEX - 1 || strlen(b) != ATS_PROVE_HEX - 1)
		return false;
	for (size_t i = 0; i < ATS_PROVE_HEX - 1; i++)
		diff |= (unsigned char)(a[i] ^ b[i]);
	return diff == 0;
}

int
ats_prove_nonce(char ret_hex[ATS_PROVE_HEX], struct ats_err *err)
{
	unsigned char bytes[ATS_PROVE_NONCE];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return ats_err_sys(err, "getrandom");
	ats_hex(bytes, sizeof(bytes), ret_hex);
	return 0;
}

bool
ats_prove_nonce_ok(const char *hex)
{
	unsigned char bytes[ATS_PROVE_NONCE];

	return ats_unhex(hex, bytes, sizeof(bytes));
}
