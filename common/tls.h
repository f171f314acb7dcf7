/* SPDX-License-Identifier: Apache-2.0
 *
 * What one side of TLS wires needs, made once: its own certificate and whom it takes for its
 * peer. TLS 1.3 only (RFC 8446), no resumption, no early data. A build with TLS=no has the
 * functions, and they fail with -ATS_E_UNAVAILABLE. */
#ifndef ATS_COMMON_TLS_H
#define ATS_COMMON_TLS_H

#include <stddef.h>

#include "common/err.h"

#define ATS_TLS_SEED 32
#define ATS_TLS_PIN 32

struct ats_tls;
struct ats_tls_plan {
	bool server;
	/* Server: 32 secret bytes, of which an Ed25519 key (RFC 8032) and a self-signed certificate
	 * are made, always the same; or PEM texts of another. */
	const unsigned char *seed;
	const char *cert_pem, *key_pem;
	/* Client, one of them at least: SHA-256 of the peer's SubjectPublicKeyInfo; or PEM text of
	 * the CAs, then the certificate must be for the host that was asked for. */
	const unsigned char *pin;
	const char *ca_pem;
};
/* Borrows all during the call. -ATS_E_INVAL, -ATS_E_UNAVAILABLE, -ATS_E_NOMEM. */
ATS_NODISCARD int ats_tls_new(const struct ats_tls_plan *plan, struct ats_tls **ret,
    struct ats_err *err);
void ats_tls_free(struct ats_tls *t);		/* NULL is fine; no wire may use it any more */
/* The pin of what ats_tls_new makes of a seed. */
ATS_NODISCARD int ats_tls_seed_pin(const unsigned char seed[ATS_TLS_SEED],
    unsigned char ret_pin[ATS_TLS_PIN], struct ats_err *err);

#endif
