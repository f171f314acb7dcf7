/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of sandboxes that are reached over a network. All follow from a master that is made
 * once, so that nothing secret is stored for a sandbox: only which generation of its key
 * counts, in STATE/vault/enrolled. */
#ifndef ATS_VAULT_KEYS_H
#define ATS_VAULT_KEYS_H

#include <stdint.h>

#include "brain/vault/register.h"
#include "proto/prove.h"

#define KEYS_TEXT_MAX 256		/* of an enrolment text, with the NUL */

struct keys;
struct enrolled {
	char id[SESSION_ID_MAX];	/* of the sandbox */
	uint64_t generation;		/* of the key that counts; never used again */
	uint64_t previous;		/* of the one still accepted, or 0 */
	int64_t at_ms;			/* wall clock of the enrolment */
	bool owed;			/* to the running engine; the vault's business */
};

/* dir is STATE/vault. The master is read or made when a key is first asked for. Returns owned
 * in *ret. A line that cannot be read is logged and left out: its sandbox is not enrolled. */
ATS_NODISCARD int keys_open(const char *dir, size_t max, struct keys **ret,
    struct ats_err *err);
void keys_free(struct keys *k);
struct enrolled *keys_find(const struct keys *k, const char *id);
size_t keys_count(const struct keys *k);
struct enrolled *keys_each(const struct keys *k, size_t *pos);
/* A new key, on the disk when this returns. again: also of one that is enrolled; then its key
 * so far is accepted until keys_proven. -ATS_E_EXISTS, -ATS_E_FULL, -ATS_E_SYS. */
ATS_NODISCARD int keys_enroll(struct keys *k, const char *id, bool again,
    struct enrolled **ret, struct ats_err *err);
/* No key of it counts any more. -ATS_E_UNKNOWN_ID, -ATS_E_SYS. */
ATS_NODISCARD int keys_revoke(struct keys *k, const char *id, struct ats_err *err);
/* A hands has this generation: if it is the newest, the one before ends. True if it did. */
bool keys_proven(struct keys *k, const char *id, uint64_t generation);
/* The key; wipe it after use. -ATS_E_PERM or -ATS_E_INVAL when the file of the master is not
 * as it was made. */
ATS_NODISCARD int keys_derive(struct keys *k, const char *id, uint64_t generation,
    unsigned char ret_key[ATS_PROVE_KEY], struct ats_err *err);
/* The seed of brain's own TLS key; wipe it after use. */
ATS_NODISCARD int keys_tls_seed(struct keys *k, unsigned char ret_seed[ATS_PROVE_KEY],
    struct ats_err *err);
/* ats1:SANDBOXID:GENERATION:HEXKEY[:HEXPIN], what ats-hands --key-file reads; wipe it. pin:
 * of brain's TLS key in hex, or NULL. */
ATS_NODISCARD int keys_text(struct keys *k, const struct enrolled *en, const char *pin,
    char out[KEYS_TEXT_MAX], struct ats_err *err);

#endif
