/* SPDX-License-Identifier: Apache-2.0
 *
 * The proof of one link over a network: that hands has its sandbox's key and we have it, too.
 * Between the hellos and ready; see docs/PROTOCOL.md. No function here sends or closes. */
#ifndef ATS_ENGINE_PROOF_H
#define ATS_ENGINE_PROOF_H

#include "proto/msg.h"
#include "proto/prove.h"

struct ats_secret;
struct ats_wire;

/* The one text for whatever was wrong. */
#define PROOF_TEXT "the other side did not prove that it has this sandbox's key"

/* Of one sandbox, as the vault told it. Zeroed: it has none, and nobody can prove it. */
struct link_key {
	struct ats_secret *bytes;	/* of generation, then of previous */
	uint64_t generation, previous;	/* 0: none */
};
/* hex and before_hex are of the vault: 64 digits, or empty for generation 0. On failure there is
 * no key. */
ATS_NODISCARD int link_key_set(struct link_key *k, uint64_t generation, const char *hex,
    uint64_t previous, const char *before_hex, struct ats_err *err);
void link_key_clear(struct link_key *k);
/* Borrowed; NULL when this generation does not count. */
const unsigned char *link_key_find(const struct link_key *k, uint64_t generation);
/* The generation was proven: the one before counts no more. True if there was one. */
bool link_key_proven(struct link_key *k, uint64_t generation);

struct proof {
	bool wanted, proven;
	bool tls_elsewhere;		/* TLS may end before hands: the session may not bind */
	char nonce[ATS_PROVE_HEX];	/* ours */
	uint64_t epoch;			/* of this attachment */
	/* Hands' hello. */
	char sandbox[33], boot[33], nonce_hands[ATS_PROVE_HEX];
	uint64_t generation;
	char *workspace;		/* owned, or NULL: not said */
	bool bound;			/* the exporter is in the MACs */
	unsigned char exporter[32];
};
/* Makes our nonce. */
ATS_NODISCARD int proof_begin(struct proof *p, uint64_t epoch, struct ats_err *err);
void proof_end(struct proof *p);	/* zeroed after */
/* Takes hands' hello, whose sandbox is not looked up here, and the session beneath. false: it
 * lacks what a proof needs. */
bool proof_hello(struct proof *p, const struct ats_msg_HELLO *m, const struct ats_wire *w);
/* Our MAC. Without a key it is one of nobody's key: who asks for a sandbox that is not there
 * sees no difference. */
void proof_ours(const struct proof *p, const struct link_key *k, char ret_hex[ATS_PROVE_HEX]);
/* Whether hands' MAC is right; k may be NULL. Sets proven. */
bool proof_check(struct proof *p, const struct link_key *k, const char *mac);

#endif
