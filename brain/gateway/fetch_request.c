/* SPDX-License-Identifier: Apache-2.0
 *
 * What libcurl is told of a request: address, headers with the credential, body, and walls. Runs in
 * ats-gateway; target and body are made of a call's arguments. */
#include "brain/gateway/fetch_private.h"

#include <string.h>

#include "brain/gateway/encode.h"
#include "common/base64.h"
#include "common/secret.h"
#include "proto/gateway_config.h"

#define CONNECT_MS 20000L
#define HEADER_MAX (ATS_SECRET_MAX * 3)

/* ---- headers ----------------------------------------------------------------------------- */
static int
add_header(struct fetch *f, const char *line, struct ats_err *err)
{
	struct curl_slist *more;

	if (strpbrk(line, "\r\n") != NULL)
		return ats_err_set(err, ATS_E_INVAL, "a header holds a line break");
	more = curl_slist_append(f->headers, line);
	if (more == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	f->headers = more;
	return 0;
}

static int
credential_header(struct fetch *f, struct ats_buf *line, const char *secret, size_t n)
{
	const struct ats_gw_config *c = f->fs->c;
	struct ats_buf both ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&both, HEADER_MAX);
	switch (c->auth) {
	case ATS_GW_AUTH_BEARER:
		rc = ats_buf_add_str(line, "Authorization: Bearer ");
		return rc < 0 ? rc : ats_buf_add(line, secret, n);
	case ATS_GW_AUTH_HEADER:
		rc = ats_buf_addf(line, "%s: ", c->auth_name);
		return rc < 0 ? rc : ats_buf_add(line, secret, n);
	case ATS_GW_AUTH_BASIC:
		rc = ats_buf_addf(&both, "%s:", c->auth_name);
		if (rc == 0)
			rc = ats_buf_add(&both, secret, n);
		if (rc == 0)
			rc = ats_buf_add_str(line, "Authorization: Basic ");
		if (rc == 0)
			rc = ats_base64_encode(both.data, both.len, line);
		ats_secret_wipe(both.data, both.len);
		return rc;
	case ATS_GW_AUTH_QUERY:
	case ATS_GW_AUTH_NONE:
		break;
	}
	return 0;
}

static int
add_headers(struct fetch *f, const struct fetch_request *r, struct ats_err *err)
{
	const struct ats_gw_config *c = f->fs->c;
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	size_t n;
	const char *secret;
	/* What libcurl would add by itself, but for Host and the length. */
	int rc = add_header(f, "Expect:", err);

	ats_buf_init(&line, HEADER_MAX);
	for (size_t i = 0; rc == 0 && i < r->nheaders; i++)
		rc = add_header(f, r->headers[i], err);
	for (size_t i = 0; rc == 0 && i < c->headers.n; i++) {
		ats_buf_reset(&line);
		rc = ats_buf_addf(&line, "%s: %s", c->headers.v[i].name, c->headers.v[i].value);
		if (rc == 0)
			rc = add_header(f, line.data, err);
	}
	if (rc < 0 || !r->with_credential || *f->fs->credential == NULL)
		return rc;
	secret = ats_secret_bytes(*f->fs->credential, &n);
	ats_buf_reset(&line);
	rc = credential_header(f, &line, secret, n);
	if (rc == 0 && line.len > 0)
		rc = add_header(f, line.data, err);
	ats_secret_wipe(line.data, line.len);
	return rc;
}

/* ---- the address ------------------------------------------------------------------------- */
int
fetch_origin(struct ats_buf *url, const struct ats_gw_config *c)
{
	bool six = strchr(c->url.host, ':') != NULL;

	return ats_buf_addf(url, "%s://%s%s%s:%u", c->url.tls ? "https" : "http", six ? "[" : "",
	    c->url.host, six ? "]" : "", c->url.port);
}

static int
set_url(struct fetch *f, const struct fetch_request *r, struct ats_err *err)
{
	const struct ats_gw_config *c = f->fs->c;
	struct ats_buf url ATS_CLEANUP_BUF = { 0 };
	const char *secret;
	size_t n;
	int rc;

	ats_buf_init(&url, FETCH_URL_MAX);
	rc = fetch_origin(&url, c);
	if (rc == 0)
		rc = ats_buf_add_str(&url, r->target);
	if (rc == 0 && r->with_credential && c->auth == ATS_GW_AUTH_QUERY) {
		secret = ats_secret_bytes(*f->fs->credential, &n);
		rc = ats_buf_add_char(&url, strchr(r->target, '?') != NULL ? '&' : '?');
		if (rc == 0)
			rc = encode_percent(&url, c->auth_name, strlen(c->auth_name), 0);
		if (rc == 0)
			rc = ats_buf_add_char(&url, '=');
		if (rc == 0)
			rc = encode_percent(&url, secret, n, 0);
	}
	if (rc == 0 && curl_easy_setopt(f->easy, CURLOPT_URL, url.data) != CURLE_OK)
		rc = -ATS_E_NOMEM;
	ats_secret_wipe(url.data, url.len);
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_TOOBIG, "the arguments make the address too long");
	return rc < 0 ? ats_err_set(err, -rc, "out of memory") : 0;
}

/* ---- the rest ---------------------------------------------------------------------------- */
static int
set_body(struct fetch *f, const struct fetch_request *r)
{
	if (strcmp(r->method, "HEAD") == 0)
		FETCH_SET(CURLOPT_NOBODY, 1L);
	if (r->body.p != NULL) {
		FETCH_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
		FETCH_SET(CURLOPT_COPYPOSTFIELDS, r->body.p);
	}
	FETCH_SET(CURLOPT_CUSTOMREQUEST, r->method);
	return 0;
}

/* libcurl sends again, by itself, what got no answer on a connection that was kept: a server may
 * have done it before the connection ended. On one of its own it is sent once. */
static int
set_once(struct fetch *f)
{
	FETCH_SET(CURLOPT_FRESH_CONNECT, 1L);
	FETCH_SET(CURLOPT_FORBID_REUSE, 1L);
	return 0;
}

/* What a configuration, an environment or an answer could change otherwise. */
static int
set_walls(struct fetch *f)
{
	const struct ats_gw_config *c = f->fs->c;

	FETCH_SET(CURLOPT_PROTOCOLS_STR, c->url.tls ? "https" : "http");
	FETCH_SET(CURLOPT_FOLLOWLOCATION, 0L);
	FETCH_SET(CURLOPT_PROXY, "");
	FETCH_SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	FETCH_SET(CURLOPT_PATH_AS_IS, 1L);
	FETCH_SET(CURLOPT_NOSIGNAL, 1L);
	FETCH_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	FETCH_SET(CURLOPT_HTTP09_ALLOWED, 0L);
	FETCH_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	FETCH_SET(CURLOPT_SSL_VERIFYPEER, 1L);
	FETCH_SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (c->ca != NULL) {
		FETCH_SET(CURLOPT_CAINFO, c->ca);
		FETCH_SET(CURLOPT_CAPATH, NULL);
	}
	FETCH_SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	FETCH_SET(CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
	FETCH_SET(CURLOPT_TCP_KEEPALIVE, 1L);
	return 0;
}

int
fetch_prepare(struct fetch *f, const struct fetch_request *r, struct ats_err *err)
{
	int rc = set_url(f, r, err);

	if (rc == 0)
		rc = add_headers(f, r, err);
	if (rc < 0)
		return rc;
	rc = set_walls(f);
	if (rc == 0)
		rc = set_body(f, r);
	if (rc == 0 && r->once)
		rc = set_once(f);
	if (rc == 0 && curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->headers) != CURLE_OK)
		rc = -ATS_E_NOMEM;
	return rc < 0 ? ats_err_set(err, -rc, "the request cannot be made") : 0;
}
