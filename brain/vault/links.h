/* SPDX-License-Identifier: Apache-2.0
 *
 * Links over a network: where hands come in, and the keys that they prove. */
#ifndef ATS_VAULT_LINKS_H
#define ATS_VAULT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "brain/vault/keys.h"

struct vault;

/* Before the vault is confined: listens for hands, reads sandbox.tls_ca. */
ATS_NODISCARD int links_open(struct vault *v, struct ats_err *err);
/* Whether hands has to prove that it has a key. */
bool links_want_proof(const struct vault *v);
/* Makes a key for the sandbox; out is the enrolment, to be wiped. */
ATS_NODISCARD int links_enroll(struct vault *v, const char *box, bool again,
    char out[KEYS_TEXT_MAX], struct ats_err *err);
ATS_NODISCARD int links_revoke(struct vault *v, const char *box, struct ats_err *err);
/* The engine got to know of a sandbox: its key is owed. */
void links_owe(struct vault *v, const char *box);
void links_proven(struct vault *v, const char *box, uint64_t generation);
void links_engine_gone(struct vault *v);
/* Sends what is owed; as ats_brain_send. */
ATS_NODISCARD int links_sync(struct vault *v);

#endif
