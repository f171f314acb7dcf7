/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts without the values of credentials. Runs in the vault; the texts are programs' and other
 * processes'. */
#include "brain/vault/credentials_private.h"

#include <string.h>

#include "brain/vault/vault.h"
#include "common/json.h"

/* What is masked: a value of a few letters stands in every text. */
#define MASK_LEAST 6

int
credential_mask_one(const char *value, size_t n, const struct ats_buf *from, struct ats_buf *out)
{
	const char *p = from->data, *end = p + from->len, *hit;
	int rc = 0;

	while (rc == 0 && n >= MASK_LEAST &&
	    (hit = memmem(p, (size_t)(end - p), value, n)) != NULL) {
		rc = ats_buf_add(out, p, (size_t)(hit - p));
		if (rc == 0)
			rc = ats_buf_add_str(out, "***");
		p = hit + n;
	}
	return rc < 0 ? rc : ats_buf_add(out, p, (size_t)(end - p));
}

int
credentials_mask(const struct vault *v, struct ats_slice text, struct ats_buf *out)
{
	struct ats_buf a ATS_CLEANUP_BUF = { 0 }, b ATS_CLEANUP_BUF = { 0 };
	struct ats_buf escaped ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&a, out->max);
	ats_buf_init(&b, out->max);
	ats_buf_init(&escaped, 8 * ATS_SECRET_MAX);
	rc = ats_buf_add(&a, text.p, text.n);
	for (size_t i = 0; rc == 0 && i < v->credentials->n; i++) {
		const struct ats_secret *s = v->credentials->v[i].value;
		const char *bytes;
		size_t n;

		if (s == NULL)
			continue;
		bytes = ats_secret_bytes(s, &n);
		ats_buf_reset(&escaped);
		rc = ats_json_escape(&escaped, bytes, n);
		if (rc == 0)
			rc = credential_mask_one(escaped.data, escaped.len, &a, &b);
		ats_buf_reset(&a);
		if (rc == 0)
			rc = credential_mask_one(bytes, n, &b, &a);
		ats_buf_reset(&b);
		ats_secret_wipe(escaped.data, escaped.len);
	}
	return rc < 0 ? rc : ats_buf_add(out, a.data, a.len);
}
