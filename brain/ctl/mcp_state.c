/* SPDX-License-Identifier: Apache-2.0
 *
 * Proven states. Process: atsctl; the MCP client controls what comes back, so nothing of it is
 * looked at before its proof. */
#include "brain/ctl/mcp_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROOF (2 * ATS_SHA256_BYTES)	/* hexadecimal digits */

void
state_digest(struct ats_slice params, char out[ATS_SHA256_HEX])
{
	struct ats_json_val name = { .type = ATS_JSON_END }, args = { .type = ATS_JSON_END };
	struct ats_sha256 *sha = ats_sha256_new();

	out[0] = '\0';
	if (sha == NULL)
		return;
	if (ats_json_get(params, "name", &name))
		ats_sha256_add(sha, name.raw.p, name.raw.n);
	ats_sha256_add(sha, "\n", 1);
	if (ats_json_get(params, "arguments", &args))
		ats_sha256_add(sha, args.raw.p, args.raw.n);
	ats_sha256_finish(sha, out);
}

/* The proof is over what is asked for, too. */
static void
prove(const unsigned char key[STATE_KEY_BYTES], const char *said, const char *digest,
    char out[PROOF + 1])
{
	unsigned char mac[ATS_SHA256_BYTES];
	char text[STATE_MAX + ATS_SHA256_HEX];
	int n = snprintf(text, sizeof(text), "%s\n%s", said, digest);

	ats_hmac_sha256(key, STATE_KEY_BYTES, text, (size_t)n, mac);
	ats_hex(mac, sizeof(mac), out);
}

void
state_write(const unsigned char key[STATE_KEY_BYTES], const struct mcp_state *s,
    const char *digest, char out[STATE_MAX])
{
	char proof[PROOF + 1];
	int n = snprintf(out, STATE_MAX - PROOF - 1, "1.%" PRIu64 ".%s.%" PRIu64, s->nr,
	    s->approval, s->expires_ms);

	prove(key, out, digest, proof);
	(void)snprintf(out + n, STATE_MAX - (size_t)n, ".%s", proof);
}

bool
state_read(const unsigned char key[STATE_KEY_BYTES], const struct ats_json_val *v,
    const char *digest, struct mcp_state *ret)
{
	char text[STATE_MAX], want[PROOF + 1], *proof;
	struct mcp_state s;
	struct ats_buf b;
	bool ok;

	ats_buf_init(&b, STATE_MAX);
	ok = ats_json_to_str(v, &b) == 0 && b.len < sizeof(text);
	if (ok)
		memcpy(text, b.data, b.len + 1);
	ats_buf_done(&b);
	proof = ok ? strrchr(text, '.') : NULL;
	if (proof == NULL || strlen(proof + 1) != PROOF || digest[0] == '\0')
		return false;
	*proof++ = '\0';
	prove(key, text, digest, want);
	/* Behind the proof it is our own text. */
	if (!ats_digest_equal(proof, want, PROOF) || sscanf(text, "1.%" SCNu64
	    ".%31[a-z0-9-].%" SCNu64, &s.nr, s.approval, &s.expires_ms) != 3)
		return false;
	*ret = s;
	return true;
}
