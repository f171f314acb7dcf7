/* SPDX-License-Identifier: Apache-2.0
 *
 * The key of a sandbox, by which hands and brain prove to each other who they are on network
 * links. As text it is the one line that atsctl sandbox enroll prints:
 *   ats1:SANDBOX:GENERATION:KEY[:PIN]     KEY and PIN are 32 bytes in hex
 * PIN is of brain's TLS key, for a hands that connects to it. What a hands is given that was
 * started before anybody knew whose it will be may go on with one more line:
 *   workspace=PATH                        absolute and normalised */
#ifndef ATS_HANDS_KEY_H
#define ATS_HANDS_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/tls.h"

#define KEY_TEXT_MAX 256
#define KEY_GIVEN_MAX (KEY_TEXT_MAX + 4096)

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
/* Cuts the line of the workspace off a text of *n bytes, which is then the key's line alone: *n is
 * its length. ret_workspace gets the path, "" when there is none. -ATS_E_INVAL for any other second
 * line, and for a path that is not normalised or does not fit; no error has a part of the text. */
ATS_NODISCARD int key_cut_workspace(char *text, size_t *n, char *ret_workspace, size_t size,
    struct ats_err *err);

#endif
