/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof that the peer of a link holds the sandbox's key, without saying the key: one HMAC in
 * each direction over all that both hellos said and over the TLS session beneath, so that it
 * can be neither sent back, nor replayed, nor carried to another session. */
#ifndef ATS_PROTO_PROVE_H
#define ATS_PROTO_PROVE_H

#include <stdint.h>

#include "common/err.h"

#define ATS_PROVE_KEY 32	/* bytes of a key */
#define ATS_PROVE_NONCE 32
#define ATS_PROVE_HEX 65	/* a nonce or a mac in hex, with the NUL */

struct ats_prove {
	const char *sandbox;		/* id, as both hellos say */
	uint64_t generation;		/* of the key, as hands says */
	const char *boot;		/* as hands says */
	uint64_t epoch;			/* as brain says */
	const char *nonce_brain, *nonce_hands;	/* hex */
	const unsigned char *exporter;	/* 32 bytes of the TLS session, or NULL */
};
/* What "brain" or "hands" sends as control.prove; 64 digits and a NUL. */
void ats_prove_mac(const unsigned char key[ATS_PROVE_KEY], const char *role,
    const struct ats_prove *what, char ret_hex[ATS_PROVE_HEX]);
/* In a time that does not depend on where they differ. */
bool ats_prove_equal(const char *a, const char *b);
/* Fresh, from getrandom(2). */
ATS_NODISCARD int ats_prove_nonce(char ret_hex[ATS_PROVE_HEX], struct ats_err *err);
/* 32 bytes in hex. */
bool ats_prove_nonce_ok(const char *hex);

#endif
