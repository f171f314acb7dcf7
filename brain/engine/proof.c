/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof of links over a network. Runs in the engine; all but the keys is the peer's. */
#include "brain/engine/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/digest.h"
#include "common/secret.h"
#include "common/wire.h"

/* ---- keys -------------------------------------------------------------------------- */

int
link_key_set(struct link_key *k, uint64_t generation, const char *hex, uint64_t previous,
    const char *before_hex, struct ats_err *err)
{
	unsigned char both[2 * ATS_PROVE_KEY] = { 0 };
	int rc = 0;

	link_key_clear(k);
	if (generation == 0)
		return 0;
	if (!ats_unhex(hex, both, ATS_PROVE_KEY) ||
	    (previous != 0 && !ats_unhex(before_hex, both + ATS_PROVE_KEY, ATS_PROVE_KEY)))
		rc = ats_err_set(err, ATS_E_FIELD, "not a key");
	else
		rc = ats_secret_new(both, sizeof(both), &k->bytes, err);
	ats_secret_wipe(both, sizeof(both));
	if (rc == 0) {
		k->generation = generation;
		k->previous = previous;
	}
	return rc;
}

void
link_key_clear(struct link_key *k)
{
	ats_secret_free(k->bytes);
	*k = (struct link_key){ 0 };
}

const unsigned char *
link_key_find(const struct link_key *k, uint64_t generation)
{
	const unsigned char *p;

	if (k == NULL || k->bytes == NULL || generation == 0)
		return NULL;
	p = ats_secret_bytes(k->bytes, NULL);
	if (generation == k->generation)
		return p;
	return generation == k->previous ? p + ATS_PROVE_KEY : NULL;
}

bool
link_key_proven(struct link_key *k, uint64_t generation)
{
	bool had = k->previous != 0 && k->generation == generation;

	if (had)
		k->previous = 0;	/* its bytes go with the next ones */
	return had;
}

/* ---- one link ---------------------------------------------------------------------- */

int
proof_begin(struct proof *p, uint64_t epoch, struct ats_err *err)
{
	proof_end(p);
	p->wanted = true;
	p->epoch = epoch;
	return ats_prove_nonce(p->nonce, err);
}

void
proof_end(struct proof *p)
{
	free(p->workspace);
	ats_secret_wipe(p, sizeof(*p));
}

bool
proof_hello(struct proof *p, const struct ats_msg_HELLO *m, const struct ats_wire *w)
{
	if (m->sandbox == NULL || !ats_id_valid(m->sandbox) || m->boot == NULL ||
	    !m->has_generation || m->nonce == NULL || !ats_prove_nonce_ok(m->nonce))
		return false;
	if (m->workspace != NULL) {
		p->workspace = strdup(m->workspace);
		if (p->workspace == NULL)
			return false;
	}
	(void)snprintf(p->sandbox, sizeof(p->sandbox), "%s", m->sandbox);
	(void)snprintf(p->boot, sizeof(p->boot), "%s", m->boot);
	(void)snprintf(p->nonce_hands, sizeof(p->nonce_hands), "%s", m->nonce);
	p->generation = m->generation;
	p->bound = w != NULL && ats_wire_exporter(w, p->exporter);
	return true;
}

/* Nobody has it. */
static const unsigned char *
nobodys_key(void)
{
	static unsigned char key[ATS_PROVE_KEY];
	static bool made;

	if (!made)
		made = getrandom(key, sizeof(key), 0) == (ssize_t)sizeof(key);
	return key;
}

static void
mac_of(const struct proof *p, const unsigned char *key, const char *role,
    char ret_hex[ATS_PROVE_HEX])
{
	const struct ats_prove what = { .sandbox = p->sandbox, .generation = p->generation,
		.boot = p->boot, .epoch = p->epoch, .nonce_brain = p->nonce,
		.nonce_hands = p->nonce_hands, .exporter = p->bound ? p->exporter : NULL };

	ats_prove_mac(key != NULL ? key : nobodys_key(), role, &what, ret_hex);
}

void
proof_ours(const struct proof *p, const struct link_key *k, char ret_hex[ATS_PROVE_HEX])
{
	mac_of(p, link_key_find(k, p->generation), "brain", ret_hex);
}

bool
proof_check(struct proof *p, const struct link_key *k, const char *mac)
{
	const unsigned char *key = link_key_find(k, p->generation);
	char want[ATS_PROVE_HEX];
	bool same;

	mac_of(p, key, "hands", want);
	same = ats_prove_equal(want, mac);
	if (!same && p->tls_elsewhere && p->bound) {
		p->bound = false;
		mac_of(p, key, "hands", want);
		same = ats_prove_equal(want, mac);
	}
	p->proven = key != NULL && same;
	return p->proven;
}
