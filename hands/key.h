/* SPDX-License-Identifier: Apache-2.0
 *
 * The key of a sandbox, by which hands and brain prove to each other who they are on network
 * links. As text it is the one line that atsctl sandbox enroll prints:
 *   ats1:SANDBOX:GENERATION:KEY[:PIN]     KEY and PIN are 32 bytes in hex
 * PIN is of brain's TLS key, for a hands that connects to it. */
#ifndef ATS_HANDS_KEY_H
#define ATS_HANDS_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/tls.h"

#define KEY_TEXT_MAX 256

struct ats_secret;

struct key {
	char sandbox[33];		/* id */
	uint64_t generation;
	struct ats_secret *secret;	/* ATS_PROVE_KEY bytes; NULL: no key */
	bool has_pin;
	unsigned char pin[ATS_TLS_PIN];
};

/* A line, with or without its end. The text is wiped, also on failure; no error has a part of
 * it. -ATS_E_INVAL, or as ats_secret_new. key_done frees what *ret owns. */
ATS_NODISCARD int key_parse(char *text, size_t n, struct key *ret, struct ats_err *err);
void key_done(struct key *k);

#endif
