/* SPDX-License-Identifier: Apache-2.0
 *
 * What tls.c (contexts), tls_pin.c (keys of seeds) and wire_tls.c (connections) share. */
#ifndef ATS_COMMON_TLS_PRIVATE_H
#define ATS_COMMON_TLS_PRIVATE_H

#include "common/tls.h"

struct bio_method_st;
struct evp_pkey_st;
struct ssl_ctx_st;

struct ats_tls {
	struct ssl_ctx_st *ctx;
	struct bio_method_st *bio;	/* how wire_tls.c reads and writes its socket */
	bool server;
	bool has_pin, has_ca;
	unsigned char pin[ATS_TLS_PIN];
};

/* What verification found, for the text; the wire keeps it. */
enum tls_refused { TLS_TAKEN, TLS_WRONG_PIN, TLS_WRONG_CA };
struct tls_peer {
	enum tls_refused refused;
	long verify_error;		/* X509_V_ERR_*, when TLS_WRONG_CA */
};

/* The library reads no configuration file of its own. Called before anything else of it. */
void tls_init(void);
/* -code with the library's reason in the text, which its error queue then no longer holds. */
int tls_err(struct ats_err *err, int code, const char *what);
const char *tls_reason(void);		/* of the last error; never NULL, valid for ever */
/* Returns owned, or NULL. */
struct evp_pkey_st *tls_seed_key(const unsigned char seed[ATS_TLS_SEED]);
/* SHA-256 of the key's SubjectPublicKeyInfo. */
bool tls_key_pin(const struct evp_pkey_st *key, unsigned char ret_pin[ATS_TLS_PIN]);

/* wire_tls.c: NULL when there is no memory. */
struct bio_method_st *tls_bio_method(void);

#endif
