/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests by libcurl, and what comes of them. Runs in ats-gateway; answers are the upstream's,
 * and so is what the name of its host leads to. */
#include "brain/gateway/fetch_private.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "brain/gateway/address.h"
#include "brain/gateway/fetch_loop.h"
#include "common/secret.h"
#include "proto/gateway_config.h"

#define CONNECTIONS 16L

const char *
fetch_ca(const struct ats_gw_config *c)
{
	return c->ca != NULL ? c->ca : curl_version_info(CURLVERSION_NOW)->cainfo;
}

const struct fetch_head *
fetch_head(const struct fetch *f)
{
	return &f->head;
}

static void
free_headers(struct curl_slist *list)
{
	for (struct curl_slist *l = list; l != NULL; l = l->next)
		ats_secret_wipe(l->data, strlen(l->data));
	curl_slist_free_all(list);
}

static void
fetch_free(struct fetch *f)
{
	struct fetch **at = &f->fs->first;

	while (*at != NULL && *at != f)
		at = &(*at)->next;
	if (*at != NULL)
		*at = f->next;
	if (f->easy != NULL) {
		(void)curl_multi_remove_handle(f->fs->multi, f->easy);
		curl_easy_cleanup(f->easy);
	}
	free_headers(f->headers);
	free(f);
}

void
fetch_cancel(struct fetch *f)
{
	if (f != NULL)
		fetch_free(f);
}

/* ---- what libcurl calls ------------------------------------------------------------------ */
/* The last look: nothing was sent to the address yet. */
static curl_socket_t
on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct fetch *f = arg;

	if (purpose != CURLSOCKTYPE_IPCXN || !address_is_allowed(&to->addr, to->addrlen,
	        f->fs->c->url.host, f->fs->c->allow_private)) {
		f->refused = true;
		return CURL_SOCKET_BAD;
	}
	f->refused = false;		/* another of its addresses */
	return socket(to->family, to->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);
}

static void
keep(const char *line, size_t n, const char *name, char *out, size_t size)
{
	size_t len = strlen(name);

	if (n <= len || strncasecmp(line, name, len) != 0 || line[len] != ':')
		return;
	line += len + 1;
	n -= len + 1;
	while (n > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r' || line[n - 1] == ' '))
		n--;
	if (n >= size || memchr(line, '\0', n) != NULL)
		n = 0;			/* too long to be of use: as if absent */
	memcpy(out, line, n);
	out[n] = '\0';
}

static size_t
on_header(char *line, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;
	char length[32] = "", encoding[64] = "";

	(void)size;			/* it is 1 */
	f->head_bytes += n;
	if (f->head_bytes > FETCH_HEADERS_MAX) {
		f->too_much = true;
		return 0;
	}
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {	/* what came before was 1xx */
		f->head = (struct fetch_head){ .length = -1 };
		return n;
	}
	keep(line, n, "content-type", f->head.type, sizeof(f->head.type));
	keep(line, n, "location", f->head.location, sizeof(f->head.location));
	keep(line, n, "mcp-session-id", f->head.session, sizeof(f->head.session));
	keep(line, n, "content-length", length, sizeof(length));
	keep(line, n, "content-encoding", encoding, sizeof(encoding));
	if (length[0] != '\0' && strspn(length, "0123456789") == strlen(length) &&
	    strlen(length) < 19)
		f->head.length = strtoll(length, NULL, 10);
	if (encoding[0] != '\0')
		f->head.encoded = true;
	return n;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;

	(void)size;
	(void)curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &f->head.status);
	if (n == 0 || f->ops->body(f->ctx, f, p, n))
		return n;
	f->stopped = true;
	return 0;
}

static int
to_error(const struct fetch *f, CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OUT_OF_MEMORY:
		return ATS_E_NOMEM;
	case CURLE_OPERATION_TIMEDOUT:
		return ATS_E_TIMEOUT;
	default:
		return f->stopped ? FETCH_STOPPED : f->refused ? ATS_E_DENIED : ATS_E_UPSTREAM;
	}
}

static void
on_done(void *arg, CURL *easy, CURLcode result)
{
	struct fetch *f = NULL;
	const char *why;
	long sent = 0;
	int code;

	(void)arg;
	(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&f);
	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &f->head.status);
	(void)curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
	code = to_error(f, result);
	if (code == ATS_E_DENIED)
		why = "its host leads to an address that is private, of this machine or of no "
		    "public network; \"allow_private\": true permits that";
	else if (f->too_much)
		why = "its headers are too long";
	else
		why = f->error[0] != '\0' ? f->error : curl_easy_strerror(result);
	f->ops->done(f->ctx, f, code, sent > 0, why);
	fetch_free(f);
}

static int
set_callbacks(struct fetch *f)
{
	FETCH_SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
	FETCH_SET(CURLOPT_OPENSOCKETDATA, f);
	FETCH_SET(CURLOPT_HEADERFUNCTION, on_header);
	FETCH_SET(CURLOPT_HEADERDATA, f);
	FETCH_SET(CURLOPT_WRITEFUNCTION, on_body);
	FETCH_SET(CURLOPT_WRITEDATA, f);
	FETCH_SET(CURLOPT_PRIVATE, f);
	FETCH_SET(CURLOPT_ERRORBUFFER, f->error);
	return 0;
}

/* ---- a request --------------------------------------------------------------------------- */
/* Prepares it and hands it to libcurl. */
static int
begin(struct fetch *f, const struct fetch_request *r, struct ats_err *err)
{
	int rc = fetch_prepare(f, r, err);

	if (rc < 0)
		return rc;
	rc = set_callbacks(f);
	if (rc == 0 && curl_multi_add_handle(f->fs->multi, f->easy) != CURLM_OK)
		rc = -ATS_E_NOMEM;
	return rc < 0 ? ats_err_set(err, -rc, "the request cannot be made") : 0;
}

int
fetch_start(struct fetches *fs, const struct fetch_request *r, struct fetch **ret_fetch,
    struct ats_err *err)
{
	struct fetch *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	f->fs = fs;
	f->head.length = -1;
	f->ops = r->ops;
	f->ctx = r->ctx;
	f->next = fs->first;
	fs->first = f;
	f->easy = curl_easy_init();
	rc = f->easy == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") :
	    begin(f, r, err);
	if (rc < 0)
		fetch_free(f);
	else
		*ret_fetch = f;
	return rc;
}

/* ---- all of them --------------------------------------------------------------------------- */
/* What the resolver loads it loads now: afterwards there is no file of it to be opened. */
static void
warm_up(void)
{
	struct addrinfo *found = NULL;

	if (getaddrinfo("localhost", NULL, NULL, &found) == 0)
		freeaddrinfo(found);
}

struct fetches *
fetches_new(struct event_base *base, const struct ats_gw_config *c,
    struct ats_secret *const *credential, struct ats_err *err)
{
	struct fetches *fs;

	if (c->ca != NULL && access(c->ca, R_OK) < 0) {
		(void)ats_err_sys(err, "ca %s", c->ca);
		return NULL;
	}
	fs = calloc(1, sizeof(*fs));
	if (fs == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(fs);
		(void)ats_err_set(err, ATS_E_NOMEM, "out of memory");
		return NULL;
	}
	warm_up();
	fs->c = c;
	fs->credential = credential;
	fs->multi = curl_multi_init();
	fs->loop = fs->multi != NULL ? fetch_loop_new(base, fs->multi, on_done, fs) : NULL;
	if (fs->loop == NULL) {
		fetches_free(fs);
		(void)ats_err_set(err, ATS_E_NOMEM, "out of memory");
		return NULL;
	}
	(void)curl_multi_setopt(fs->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, CONNECTIONS);
	return fs;
}

void
fetches_free(struct fetches *fs)
{
	if (fs == NULL)
		return;
	while (fs->first != NULL)
		fetch_free(fs->first);
	if (fs->multi != NULL)
		(void)curl_multi_cleanup(fs->multi);
	fetch_loop_free(fs->loop);
	free(fs);
}
