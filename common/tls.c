/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts of TLS 1.3: an own certificate, whom to take for the peer. Runs in the engine and in
 * hands' front. Seeds, PEM texts and pins are ours; certificates that tls_verify sees are the
 * peer's. The library is told to read neither its configuration nor its stores. */
#include "common/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "common/fault.h"
#include "common/tls_private.h"

#define CERT_LIST_MAX (32 << 10)	/* of a peer's certificates, in bytes */
#define CIPHERS                                                                          \
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

/* ---- own certificate ---------------------------------------------------------------- */

/* The same bytes at each start: what stands in it says nothing, only its key does. */
static X509 *
seed_certificate(EVP_PKEY *key)
{
	X509 *x = X509_new();
	X509_NAME *name = x != NULL ? X509_get_subject_name(x) : NULL;

	if (name != NULL && X509_set_version(x, X509_VERSION_3) == 1 &&
	    ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
	    ASN1_TIME_set_string(X509_getm_notBefore(x), "20000101000000Z") == 1 &&
	    ASN1_TIME_set_string(X509_getm_notAfter(x), "99991231235959Z") == 1 &&
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"ats",
		-1, -1, 0) == 1 &&
	    X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key) == 1 &&
	    X509_sign(x, key, NULL) > 0)
		return x;
	X509_free(x);
	return NULL;
}

static int
use_seed(struct ats_tls *t, const unsigned char *seed, struct ats_err *err)
{
	EVP_PKEY *key = tls_seed_key(seed);
	X509 *x = key != NULL ? seed_certificate(key) : NULL;
	bool done = x != NULL && SSL_CTX_use_certificate(t->ctx, x) == 1 &&
	    SSL_CTX_use_PrivateKey(t->ctx, key) == 1;

	X509_free(x);
	EVP_PKEY_free(key);
	return done ? 0 : tls_err(err, ATS_E_UNAVAILABLE, "the certificate of a seed");
}

/* An encrypted key is refused; the library would ask a terminal for its password. */
static int
no_password(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

/* The next certificate of a PEM text. NULL: at its end, or *ret_bad. */
static X509 *
next_certificate(BIO *bio, bool *ret_bad)
{
	X509 *x = PEM_read_bio_X509(bio, NULL, no_password, NULL);
	unsigned long e = ERR_peek_last_error();

	if (x == NULL && !(ERR_GET_LIB(e) == ERR_LIB_PEM &&
	    ERR_GET_REASON(e) == PEM_R_NO_START_LINE))
		*ret_bad = true;
	ERR_clear_error();
	return x;
}

/* The first is the own one, those after it are sent with it; or, into a store, all alike. */
static int
add_certificates(struct ats_tls *t, BIO *bio, X509_STORE *store)
{
	bool bad = false;
	int n = 0;
	X509 *x;

	while (!bad && (x = next_certificate(bio, &bad)) != NULL) {
		if (store != NULL)
			bad = X509_STORE_add_cert(store, x) != 1;
		else if (n == 0)
			bad = SSL_CTX_use_certificate(t->ctx, x) != 1;
		else
			bad = SSL_CTX_add1_chain_cert(t->ctx, x) != 1;
		X509_free(x);
		n++;
	}
	return bad ? -1 : n;
}

static BIO *
text_bio(const char *pem)
{
	size_t n = strlen(pem);

	return n <= INT_MAX ? BIO_new_mem_buf(pem, (int)n) : NULL;
}

static int
use_pem(struct ats_tls *t, const char *cert_pem, const char *key_pem, struct ats_err *err)
{
	BIO *certs = text_bio(cert_pem), *keys = text_bio(key_pem);
	EVP_PKEY *key = NULL;
	int rc = 0;

	if (certs == NULL || keys == NULL)
		rc = tls_err(err, ATS_E_NOMEM, "a certificate");
	else if (add_certificates(t, certs, NULL) <= 0)
		rc = ats_err_set(err, ATS_E_INVAL, "the certificate is not in PEM form");
	else if ((key = PEM_read_bio_PrivateKey(keys, NULL, no_password, NULL)) == NULL)
		rc = ats_err_set(err, ATS_E_INVAL,
		    "the key of the certificate is not in PEM form, or encrypted");
	else if (SSL_CTX_use_PrivateKey(t->ctx, key) != 1 ||
	    SSL_CTX_check_private_key(t->ctx) != 1)
		rc = ats_err_set(err, ATS_E_INVAL, "the key is not the certificate's");
	EVP_PKEY_free(key);
	BIO_free(keys);
	BIO_free(certs);
	ERR_clear_error();
	return rc;
}

static int
use_ca(struct ats_tls *t, const char *ca_pem, struct ats_err *err)
{
	BIO *bio = text_bio(ca_pem);
	int n = bio != NULL ? add_certificates(t, bio, SSL_CTX_get_cert_store(t->ctx)) : -1;

	BIO_free(bio);
	ERR_clear_error();
	if (n <= 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "the certificates of the authorities are not in PEM form");
	t->has_ca = true;
	return 0;
}

/* ---- the peer's ---------------------------------------------------------------------- */

/* In the place of the library's own check, which knows no pins. That the peer has the key is
 * proven by the handshake in any case. */
static int
tls_verify(X509_STORE_CTX *store, void *arg)
{
	const struct ats_tls *t = arg;
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_peer *peer = SSL_get_app_data(ssl);
	X509 *x = X509_STORE_CTX_get0_cert(store);
	unsigned char pin[ATS_TLS_PIN];

	if (t->has_pin && (x == NULL || !tls_key_pin(X509_get0_pubkey(x), pin) ||
	    CRYPTO_memcmp(pin, t->pin, sizeof(pin)) != 0)) {
		X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
		peer->refused = TLS_WRONG_PIN;
		return 0;
	}
	if (t->has_ca && X509_verify_cert(store) != 1) {
		peer->refused = TLS_WRONG_CA;
		peer->verify_error = X509_STORE_CTX_get_error(store);
		return 0;
	}
	X509_STORE_CTX_set_error(store, X509_V_OK);
	return 1;
}

/* ---- contexts ------------------------------------------------------------------------- */

/* No resumption, no early data (none is accepted unless asked for), nothing but 1.3. */
static bool
set_up(struct ats_tls *t)
{
	SSL_CTX *ctx = t->ctx;

	(void)SSL_CTX_set_options(ctx,
	    SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_security_level(ctx, 2);
	SSL_CTX_set_read_ahead(ctx, 1);		/* a record is one read, not two */
	SSL_CTX_set_max_cert_list(ctx, CERT_LIST_MAX);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_ciphersuites(ctx, CIPHERS) == 1 &&
	    SSL_CTX_set_num_tickets(ctx, 0) == 1;
}

static int
set_server(struct ats_tls *t, const struct ats_tls_plan *plan, struct ats_err *err)
{
	if (plan->seed != NULL)
		return use_seed(t, plan->seed, err);
	if (plan->cert_pem == NULL || plan->key_pem == NULL)
		return ats_err_set(
		    err, ATS_E_INVAL, "a TLS server needs a seed or a certificate and its key");
	return use_pem(t, plan->cert_pem, plan->key_pem, err);
}

static int
set_client(struct ats_tls *t, const struct ats_tls_plan *plan, struct ats_err *err)
{
	if (plan->pin == NULL && plan->ca_pem == NULL)
		return ats_err_set(
		    err, ATS_E_INVAL, "a TLS client needs a pin or the authorities it trusts");
	if (plan->pin != NULL) {
		memcpy(t->pin, plan->pin, sizeof(t->pin));
		t->has_pin = true;
	}
	SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(t->ctx, tls_verify, t);
	return plan->ca_pem != NULL ? use_ca(t, plan->ca_pem, err) : 0;
}

int
ats_tls_new(const struct ats_tls_plan *plan, struct ats_tls **ret, struct ats_err *err)
{
	struct ats_tls *t = ats_calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	tls_init();
	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	ERR_clear_error();
	t->server = plan->server;
	t->ctx = SSL_CTX_new(plan->server ? TLS_server_method() : TLS_client_method());
	t->bio = tls_bio_method();
	if (t->ctx == NULL || t->bio == NULL || !set_up(t))
		rc = tls_err(err, ATS_E_UNAVAILABLE, "TLS");
	else
		rc = plan->server ? set_server(t, plan, err) : set_client(t, plan, err);
	if (rc < 0) {
		ats_tls_free(t);
		return rc;
	}
	*ret = t;
	return 0;
}

void
ats_tls_free(struct ats_tls *t)
{
	if (t == NULL)
		return;
	SSL_CTX_free(t->ctx);
	BIO_meth_free(t->bio);
	free(t);
}
