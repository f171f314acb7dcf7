/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking the key. Runs in front at its start; what it reads is the launcher's. */
#include "hands/front/keys.h"

#include <stdlib.h>
#include <string.h>

#include "common/digest.h"
#include "common/fd.h"
#include "common/secret.h"
#include "common/tls.h"
#include "hands/front/front.h"
#include "proto/prove.h"

/* As much as a secret may hold, and no more: nothing remains on other pages. */
static int
read_texts(int fd, struct ats_secret **ret, struct ats_err *err)
{
	static char all[ATS_SECRET_MAX];
	ssize_t got = 1;
	size_t n = 0;
	int rc;

	while (got > 0 && n < sizeof(all)) {
		got = ats_fd_read(fd, all + n, sizeof(all) - n);
		if (got > 0)
			n += (size_t)got;
	}
	if (got < 0 || n == 0)
		rc = ats_err_set(err, ATS_E_SYS, "the key could not be read");
	else
		rc = ats_secret_new(all, n, ret, err);
	ats_secret_wipe(all, sizeof(all));
	return rc;
}

/* The one after that text and its NUL; "" when there is none. */
static const char *
next(const char *text, const char *end)
{
	const char *p = text + strnlen(text, (size_t)(end - text));

	return p < end ? p + 1 : end;
}

static const char *
or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* The certificate that we have of the key is known to brain, which has the key, too. */
static int
make_tls(struct front *f, const char *cert, const char *key, const char *ca,
    struct ats_err *err)
{
	static const char label[] = "tls hands";
	unsigned char seed[ATS_TLS_SEED];
	const struct ats_tls_plan plan = {
		.server = !f->opt.connects,
		.seed = f->opt.connects || cert[0] != '\0' ? NULL : seed,
		.cert_pem = or_null(cert),
		.key_pem = or_null(key),
		.pin = f->opt.connects && ca[0] == '\0' && f->key.has_pin ? f->key.pin : NULL,
		.ca_pem = or_null(ca),
	};
	int rc;

	ats_hmac_sha256(ats_secret_bytes(f->key.secret, NULL), ATS_PROVE_KEY, label,
	    strlen(label), seed);
	f->tls_elsewhere = plan.ca_pem != NULL && f->opt.connects;
	rc = ats_tls_new(&plan, &f->tls, err);
	ats_secret_wipe(seed, sizeof(seed));
	return rc;
}

static int
use_texts(struct front *f, const struct ats_secret *texts, struct ats_err *err)
{
	size_t n;
	const char *line = ats_secret_bytes(texts, &n), *end = line + n;
	const char *cert = next(line, end), *key = next(cert, end), *ca = next(key, end);
	size_t len = strlen(line);
	char own[KEY_TEXT_MAX];
	int rc;

	if (len >= sizeof(own))
		return ats_err_set(err, ATS_E_TOOBIG, "the key is too long");
	memcpy(own, line, len);
	rc = key_parse(own, len, &f->key, err);
	if (rc == 0 && f->opt.has_addr && ats_addr_has_tls(&f->opt.addr))
		rc = make_tls(f, cert, key, ca, err);
	return rc;
}

int
front_keys_take(struct front *f, int fd, struct ats_err *err)
{
	struct ats_secret *texts = NULL;
	int rc;

	if (fd < 0)
		return 0;
	rc = read_texts(fd, &texts, err);
	ats_fd_close(&fd);
	if (rc == 0)
		rc = use_texts(f, texts, err);
	if (rc == 0)
		f->key_texts = texts;
	else
		ats_secret_free(texts);
	return rc;
}

void
front_keys_done(struct front *f)
{
	ats_tls_free(f->tls);
	f->tls = NULL;
	key_done(&f->key);
	ats_secret_free(f->key_texts);
	f->key_texts = NULL;
}
