/* SPDX-License-Identifier: Apache-2.0
 *
 * Links over a network as the vault sees them: which keys count, where hands come in, whose
 * TLS key is taken. Runs in the vault; the engine is told the keys of sandboxes that it has,
 * never what they follow from. */
#include "brain/vault/links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/provider.h"
#include "brain/vault/vault.h"
#include "common/dial.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/secret.h"
#include "common/tls.h"
#include "proto/brain.h"

#define CA_MAX (32u << 10)		/* goes in one message */
#define HEX_KEY (2 * ATS_PROVE_KEY + 1)

bool
links_want_proof(const struct vault *v)
{
	return config_is_network(v->conf);
}

int
links_open(struct vault *v, struct ats_err *err)
{
	const struct config *conf = v->conf;
	unsigned port;
	size_t len = 0;
	int rc = 0;

	if (conf->tls_ca != NULL && conf->tls_ca[0] != '\0')
		rc = ats_fd_slurp(AT_FDCWD, conf->tls_ca, CA_MAX, &v->ca_pem, &len, err);
	if (rc < 0)
		return ats_err_wrap(err, "sandbox.tls_ca");
	if (conf->provider != PROVIDER_LISTEN)
		return 0;
	rc = ats_dial_listen(&conf->addr, &v->arrivals, &port, err);
	return rc < 0 ? ats_err_wrap(err, "sandbox.url") : 0;
}

/* ---- people's orders --------------------------------------------------------------- */

/* Hands that connects takes this key of brain's for brain. */
static int
own_pin(struct vault *v, char ret_hex[HEX_KEY], struct ats_err *err)
{
	unsigned char seed[ATS_TLS_SEED], pin[ATS_TLS_PIN];
	int rc = keys_tls_seed(v->keys, seed, err);

	if (rc == 0)
		rc = ats_tls_seed_pin(seed, pin, err);
	ats_secret_wipe(seed, sizeof(seed));
	if (rc == 0)
		ats_hex(pin, sizeof(pin), ret_hex);
	return rc;
}

int
links_enroll(struct vault *v, const char *box, bool again, char out[KEYS_TEXT_MAX],
    struct ats_err *err)
{
	bool tls = v->conf->provider == PROVIDER_LISTEN && ats_addr_has_tls(&v->conf->addr);
	struct enrolled *en = NULL;
	char pin[HEX_KEY];
	int rc = tls ? own_pin(v, pin, err) : 0;

	if (rc == 0)
		rc = keys_enroll(v->keys, box, again, &en, err);
	if (rc == 0)
		rc = keys_text(v->keys, en, tls ? pin : NULL, out, err);
	if (rc == 0)
		ats_log(ATS_LOG_INFO, "sandbox enrolled", "sandbox=%s generation=%llu", box,
		    (unsigned long long)en->generation);
	return rc;
}

int
links_revoke(struct vault *v, const char *box, struct ats_err *err)
{
	bool known = keys_find(v->keys, box) != NULL;
	int rc = keys_revoke(v->keys, box, err);

	/* Also when it could not be saved: it counts no more as long as we live. One that does not
	 * take this must not go on with the key. */
	if (known && v->engine.fd >= 0 && ats_brain_send(v->engine.fd, ATS_MSG_LINK_KEY, 0, NULL,
	    0, box, (uint64_t)0, "", (uint64_t)0, "") < 0)
		engine_kill(v, "it does not take that a key is revoked");
	if (known)
		ats_log(ATS_LOG_INFO, "sandbox revoked", "sandbox=%s", box);
	return rc;
}

/* ---- the engine -------------------------------------------------------------------- */

void
links_owe(struct vault *v, const char *box)
{
	struct enrolled *en = links_want_proof(v) ? keys_find(v->keys, box) : NULL;
	struct ats_err err = { 0 };

	/* A script tells its hands the key by itself: nobody is asked to. */
	if (en == NULL && links_want_proof(v) && v->conf->provider == PROVIDER_SCRIPT &&
	    keys_enroll(v->keys, box, false, &en, &err) < 0)
		ats_log(ATS_LOG_ERROR, "no key for a sandbox", "sandbox=%s why=\"%s\"", box,
		    err.text);
	if (en != NULL)
		en->owed = true;
}

void
links_proven(struct vault *v, const char *box, uint64_t generation)
{
	if (keys_proven(v->keys, box, generation))
		ats_log(ATS_LOG_INFO, "the key before ends", "sandbox=%s", box);
}

void
links_engine_gone(struct vault *v)
{
	struct enrolled *en;

	for (size_t i = 0; (en = keys_each(v->keys, &i)) != NULL;)
		en->owed = false;	/* until its session is told */
	v->engine.listen_told = v->engine.trust_told = false;
}

static int
tell_listen(struct vault *v)
{
	unsigned char seed[ATS_TLS_SEED];
	struct ats_err err = { 0 };
	char hex[HEX_KEY] = "";
	int rc = 0;

	if (v->arrivals < 0 || v->engine.listen_told)
		return 0;
	if (ats_addr_has_tls(&v->conf->addr)) {
		rc = keys_tls_seed(v->keys, seed, &err);
		if (rc == 0)
			ats_hex(seed, sizeof(seed), hex);
		ats_secret_wipe(seed, sizeof(seed));
	}
	if (rc < 0) {
		vault_die(v, err.text);
		return 0;
	}
	rc = ats_brain_send(v->engine.fd, ATS_MSG_LISTEN, 0, &v->arrivals, 1, v->conf->addr.text,
	    hex);
	ats_secret_wipe(hex, sizeof(hex));
	v->engine.listen_told = rc == 0;
	return rc;
}

static int
tell_trust(struct vault *v)
{
	const char *pin = v->conf->tls_pin;
	int rc;

	if (v->engine.trust_told || (v->ca_pem == NULL && (pin == NULL || pin[0] == '\0')))
		return 0;
	rc = ats_brain_send(v->engine.fd, ATS_MSG_TRUST, 0, NULL, 0, pin == NULL ? "" : pin,
	    v->ca_pem == NULL ? "" : v->ca_pem);
	v->engine.trust_told = rc == 0;
	return rc;
}

/* generation 0: there is none, and the text is empty. */
static int
key_hex(struct vault *v, const struct enrolled *en, uint64_t generation, char out[HEX_KEY],
    struct ats_err *err)
{
	unsigned char key[ATS_PROVE_KEY];
	int rc = 0;

	out[0] = '\0';
	if (generation != 0)
		rc = keys_derive(v->keys, en->id, generation, key, err);
	if (rc == 0 && generation != 0)
		ats_hex(key, sizeof(key), out);
	ats_secret_wipe(key, sizeof(key));
	return rc;
}

static int
tell_key(struct vault *v, struct enrolled *en)
{
	char now[HEX_KEY], before[HEX_KEY];
	struct ats_err err = { 0 };
	int rc = key_hex(v, en, en->generation, now, &err);

	if (rc == 0)
		rc = key_hex(v, en, en->previous, before, &err);
	if (rc < 0) {
		/* Without the master nobody can prove anything: its sandbox is refused. */
		ats_log(ATS_LOG_ERROR, "no key for a sandbox", "sandbox=%s why=\"%s\"", en->id,
		    err.text);
		en->owed = false;
		rc = 0;
	} else {
		rc = ats_brain_send(v->engine.fd, ATS_MSG_LINK_KEY, 0, NULL, 0, en->id,
		    en->generation, now, en->previous, before);
		en->owed = rc < 0;
	}
	ats_secret_wipe(now, sizeof(now));
	ats_secret_wipe(before, sizeof(before));
	return rc;
}

int
links_sync(struct vault *v)
{
	struct enrolled *en;
	int rc = tell_trust(v);

	for (size_t i = 0; rc == 0 && (en = keys_each(v->keys, &i)) != NULL;)
		if (en->owed)
			rc = tell_key(v, en);
	return rc == 0 ? tell_listen(v) : rc;
}
