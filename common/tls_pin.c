/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of seeds and their pins. Runs in the engine, in hands' front, and where pins are told
 * (enrolment); the seed is a secret of ours. Needs libcrypto alone, not libssl. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include "common/tls_private.h"

void
tls_init(void)
{
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

const char *
tls_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	ERR_clear_error();
	return reason != NULL ? reason : "no reason was given";
}

int
tls_err(struct ats_err *err, int code, const char *what)
{
	return ats_err_set(err, code, "%s: %s", what, tls_reason());
}

EVP_PKEY *
tls_seed_key(const unsigned char seed[ATS_TLS_SEED])
{
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, ATS_TLS_SEED);
}

bool
tls_key_pin(const EVP_PKEY *key, unsigned char ret_pin[ATS_TLS_PIN])
{
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(key, &der);

	if (n <= 0)
		return false;
	(void)SHA256(der, (size_t)n, ret_pin);
	OPENSSL_free(der);
	return true;
}

int
ats_tls_seed_pin(const unsigned char seed[ATS_TLS_SEED], unsigned char ret_pin[ATS_TLS_PIN],
    struct ats_err *err)
{
	EVP_PKEY *key;
	bool done;

	tls_init();
	key = tls_seed_key(seed);
	done = key != NULL && tls_key_pin(key, ret_pin);
	EVP_PKEY_free(key);
	return done ? 0 : tls_err(err, ATS_E_UNAVAILABLE, "the key of a seed");
}
