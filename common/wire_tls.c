/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS 1.3 over a socket. Runs in the engine and in hands' front; every byte that comes is the
 * peer's, and the library reads it. One record of at most 16 KiB is made of what is sent at
 * once, so that a small frame is one record and one write; a record that the socket refuses is
 * kept here and counts as taken. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>

#include "common/fault.h"
#include "common/fd.h"
#include "common/tls_private.h"
#include "common/wire_private.h"

#define RECORD_MAX 16384u	/* RFC 8446, 5.1 */
#define QUIET_MAX 16		/* records without data in one recv */
#define LABEL "EXPORTER-ats-link"

struct wire_tls {
	struct ats_wire base;
	SSL *ssl;
	struct tls_peer peer;
	int sys_errno;		/* of the last read or write, when that failed */
	bool eof;		/* the socket's */
	bool dry;		/* the socket had no more */
	bool stuck;		/* nothing is read before what the library owes is written */
	bool more;
	bool ready;		/* the handshake is over */
	int ended;		/* what recv found behind data that it gave first, or 0 */
	size_t held;		/* bytes of rec that are under way */
	unsigned char rec[RECORD_MAX];
};

/* ---- the socket, as the library sees it ------------------------------------------------ */

static int
sock_read(BIO *bio, char *buf, int n)
{
	struct wire_tls *t = BIO_get_data(bio);
	ssize_t got = ats_wire_sys_recv(t->base.fd, buf, (size_t)n);

	BIO_clear_retry_flags(bio);
	t->dry = got <= 0;
	if (got > 0)
		return (int)got;
	if (got == 0) {
		t->eof = true;
		return 0;
	}
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		BIO_set_retry_read(bio);
	else
		t->sys_errno = errno;
	return -1;
}

static int
sock_write(BIO *bio, const char *buf, int n)
{
	struct wire_tls *t = BIO_get_data(bio);
	struct iovec iov = { (void *)(uintptr_t)buf, (size_t)n };
	ssize_t put = ats_wire_sys_send(t->base.fd, &iov, 1, t->more);

	BIO_clear_retry_flags(bio);
	if (put >= 0)
		return (int)put;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		BIO_set_retry_write(bio);
	else
		t->sys_errno = errno;
	return -1;
}

static long
sock_ctrl(BIO *bio, int cmd, long n, void *p)
{
	(void)bio;
	(void)n;
	(void)p;
	return cmd == BIO_CTRL_FLUSH;
}

BIO_METHOD *
tls_bio_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "ats");

	if (m != NULL && BIO_meth_set_read(m, sock_read) == 1 &&
	    BIO_meth_set_write(m, sock_write) == 1 && BIO_meth_set_ctrl(m, sock_ctrl) == 1)
		return m;
	BIO_meth_free(m);
	return NULL;
}

/* ---- results ---------------------------------------------------------------------------- */

static int
refused(struct wire_tls *t)
{
	if (t->peer.refused == TLS_WRONG_PIN)
		return ats_wire_fail(&t->base, ATS_E_PERM,
		    "the peer's TLS key is not the one that was pinned");
	return ats_wire_fail(&t->base, ATS_E_PERM, "the peer's certificate is refused: %s",
	    X509_verify_cert_error_string(t->peer.verify_error));
}

/* Why an operation of the library failed: a code, and the text for ats_wire_why. */
static int
judge(struct wire_tls *t, int rc)
{
	struct ats_wire *w = &t->base;

	switch (SSL_get_error(t->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		if (t->held == 0)
			w->wants_write = false;
		return -ATS_E_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		w->wants_write = true;
		return -ATS_E_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return ats_wire_fail(w, ATS_E_EOF, "the peer closed the connection");
	default:
		break;
	}
	if (t->peer.refused != TLS_TAKEN)
		return refused(t);
	if (t->sys_errno != 0) {
		errno = t->sys_errno;
		return ats_wire_fail_errno(w);
	}
	if (t->eof)
		return ats_wire_fail(w, ATS_E_EOF, "the connection ended %s",
		    t->ready ? "without an end of TLS" : "in the TLS handshake");
	return ats_wire_fail(w, ATS_E_PROTO, "TLS%s: %s", t->ready ? "" : " handshake",
	    tls_reason());
}

/* 0 when the handshake is over. */
static int
handshake(struct wire_tls *t)
{
	int rc;

	if (t->ready)
		return 0;
	if (t->ended < 0)
		return t->ended;
	ERR_clear_error();
	rc = SSL_do_handshake(t->ssl);
	if (rc == 1) {
		t->ready = true;
		t->base.wants_write = false;
		return 0;
	}
	rc = judge(t, rc);
	if (rc != -ATS_E_AGAIN)
		t->ended = rc;
	return rc;
}

/* ---- the wire ---------------------------------------------------------------------------- */

static ssize_t
tls_recv(struct ats_wire *w, void *buf, size_t n)
{
	struct wire_tls *t = (struct wire_tls *)w;
	size_t got = 0, some;
	int rc = handshake(t);

	if (rc < 0)
		return rc;
	for (unsigned quiet = 0; t->ended == 0 && got < n && quiet < QUIET_MAX;) {
		ERR_clear_error();
		if (SSL_read_ex(t->ssl, (char *)buf + got, n - got, &some) == 1) {
			got += some;
			if (SSL_has_pending(t->ssl) == 0)
				break;
			continue;
		}
		rc = judge(t, 0);
		if (rc != -ATS_E_AGAIN)
			t->ended = rc;
		else
			t->stuck = SSL_want_write(t->ssl);
		if (t->dry || t->stuck)
			break;
		quiet++;
	}
	if (got > 0)
		return (ssize_t)got;
	return t->ended < 0 ? t->ended : -ATS_E_AGAIN;
}

static bool
tls_pending(const struct ats_wire *w)
{
	const struct wire_tls *t = (const struct wire_tls *)w;

	return t->ended < 0 ||
	    (t->ready && !t->dry && !t->stuck && SSL_has_pending(t->ssl) == 1);
}

/* The handshake's part and the record under way. */
static int
tls_flush(struct ats_wire *w)
{
	struct wire_tls *t = (struct wire_tls *)w;
	struct pollfd p = { .fd = w->fd, .events = POLLOUT };
	size_t put;
	int rc = handshake(t);

	if (rc < 0)
		return rc;
	if (t->stuck) {
		if (poll(&p, 1, 0) != 1)
			return -ATS_E_AGAIN;
		t->stuck = w->wants_write = false;	/* reading goes on with it */
	}
	if (t->held == 0)
		return 0;
	ERR_clear_error();
	if (SSL_write_ex(t->ssl, t->rec, t->held, &put) != 1)
		return judge(t, 0);
	w->wants_write = false;
	t->held = 0;
	return 0;
}

static size_t
gather(struct wire_tls *t, const struct iovec *iov, size_t n, bool *ret_all)
{
	size_t total = 0, i = 0;

	for (; i < n && total < RECORD_MAX; i++) {
		size_t take = iov[i].iov_len;

		if (take > RECORD_MAX - total)
			take = RECORD_MAX - total;
		memcpy(t->rec + total, iov[i].iov_base, take);
		total += take;
		if (take < iov[i].iov_len)
			break;
	}
	*ret_all = i == n;
	return total;
}

static ssize_t
tls_send(struct ats_wire *w, const struct iovec *iov, size_t n, bool more)
{
	struct wire_tls *t = (struct wire_tls *)w;
	size_t took;
	bool all;
	int rc = tls_flush(w);

	if (rc < 0)
		return rc;
	took = gather(t, iov, n, &all);
	t->held = took;
	t->more = more || !all;
	rc = tls_flush(w);
	t->more = false;
	return rc == 0 || rc == -ATS_E_AGAIN ? (ssize_t)took : rc;
}

static void
tls_shutdown(struct ats_wire *w)
{
	struct wire_tls *t = (struct wire_tls *)w;

	ERR_clear_error();
	if (t->ready && t->held == 0 && t->sys_errno == 0)
		(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
}

static bool
tls_exporter(const struct ats_wire *w, unsigned char ret_bytes[32])
{
	const struct wire_tls *t = (const struct wire_tls *)w;

	return t->ready && SSL_export_keying_material(t->ssl, ret_bytes, 32, LABEL,
	    sizeof(LABEL) - 1, NULL, 0, 0) == 1;
}

static void
tls_done(struct ats_wire *w)
{
	struct wire_tls *t = (struct wire_tls *)w;

	SSL_free(t->ssl);
}

static const struct ats_wire_ops tls_ops = {
	.recv = tls_recv,
	.send = tls_send,
	.flush = tls_flush,
	.pending = tls_pending,
	.shutdown = tls_shutdown,
	.exporter = tls_exporter,
	.done = tls_done,
};

/* ---- making one --------------------------------------------------------------------------- */

/* For whom the certificate must be, and which one is asked for: names only (RFC 6066, 3). */
static bool
name_peer(struct wire_tls *t, const char *host, bool check)
{
	struct in6_addr six;
	struct in_addr four;
	bool literal = inet_pton(AF_INET, host, &four) == 1 ||
	    inet_pton(AF_INET6, host, &six) == 1;

	/* OpenSSL's macro for it casts const away: it copies the name. */
	if (!literal && SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
	    (void *)(uintptr_t)host) != 1)
		return false;
	if (!check)
		return true;
	SSL_set_hostflags(t->ssl,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (literal)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(t->ssl), host) == 1;
	return SSL_set1_host(t->ssl, host) == 1;
}

static int
set_up(struct wire_tls *t, const struct ats_wire_plan *plan, struct ats_err *err)
{
	const char *host = plan->host != NULL ? plan->host : "";
	BIO *bio;

	if (plan->tls == NULL || plan->tls->server != plan->server)
		return ats_err_set(err, ATS_E_INVAL, "TLS of the other role");
	if (plan->tls->has_ca && host[0] == '\0')
		return ats_err_set(
		    err, ATS_E_INVAL, "a certificate is checked by the host's name");
	t->ssl = SSL_new(plan->tls->ctx);
	bio = t->ssl != NULL ? BIO_new(plan->tls->bio) : NULL;
	if (bio == NULL)
		return tls_err(err, ATS_E_NOMEM, "TLS");
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_app_data(t->ssl, &t->peer);
	if (plan->server) {
		SSL_set_accept_state(t->ssl);
		return 0;
	}
	SSL_set_connect_state(t->ssl);
	t->base.wants_write = true;	/* a client speaks first */
	if (host[0] != '\0' && !name_peer(t, host, plan->tls->has_ca))
		return tls_err(err, ATS_E_INVAL, "the host's name");
	return 0;
}

int
ats_wire_tls_new(int fd, const struct ats_wire_plan *plan, struct ats_wire **ret,
    struct ats_err *err)
{
	struct wire_tls *t = ats_calloc(1, sizeof(*t));
	int rc;

	if (t == NULL) {
		ats_fd_close(&fd);
		return -ATS_E_NOMEM;
	}
	t->base = (struct ats_wire){ .ops = &tls_ops, .fd = fd, .network = true };
	rc = set_up(t, plan, err);
	if (rc < 0) {
		ats_wire_free(&t->base);
		return rc;
	}
	*ret = &t->base;
	return 0;
}
