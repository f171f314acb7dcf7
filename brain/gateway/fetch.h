/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP requests to the one origin of a gateway, by libcurl in the loop. Connections are kept. No
 * proxy, no cookies, no redirects, no credentials of libcurl's own; the address that a name leads
 * to is looked at before it is connected to. */
#ifndef ATS_GATEWAY_FETCH_H
#define ATS_GATEWAY_FETCH_H

#include <stdint.h>

#include "common/buf.h"

struct ats_gw_config;
struct ats_secret;
struct event_base;
struct fetch;
struct fetches;

#define FETCH_HEADERS_MAX (256u << 10)	/* bytes of all headers of an answer */
#define FETCH_VALUE_MAX 4096u		/* of one that is looked at */

/* The headers of an answer that something is done with; "" when absent. */
struct fetch_head {
	long status;
	char type[256];			/* content-type */
	char location[FETCH_VALUE_MAX];
	char session[512];		/* mcp-session-id */
	int64_t length;			/* content-length, -1 when not said */
	bool encoded;			/* content-encoding: length is not that of the content */
};
struct fetch_ops {
	/* Some of the body, decoded; before the first of it the head is there. false: no more of
	 * it is wanted, done follows with FETCH_STOPPED. May not end or begin requests. */
	bool (*body)(void *ctx, struct fetch *f, const char *p, size_t n);
	/* Once, at the end, not within fetch_start; f is freed after it. code: ATS_E_*, or 0 or
	 * FETCH_STOPPED; began: whether something of the request may have gone out. */
	void (*done)(void *ctx, struct fetch *f, int code, bool began, const char *why);
};
#define FETCH_STOPPED (-1)

struct fetch_request {
	const char *method;
	const char *target;		/* path and query, begins with '/' */
	const char *const *headers;	/* "Name: value", n of them; without CR and LF */
	size_t nheaders;
	struct ats_slice body;		/* copied; p NULL: none */
	bool with_credential;
	bool once;			/* it changes something: never sent a second time */
	const struct fetch_ops *ops;
	void *ctx;
};

/* Before the confinement: loads what libcurl needs. Borrows c and credential, which may
 * point to NULL and to another one later. Returns owned, NULL with err. */
struct fetches *fetches_new(struct event_base *base, const struct ats_gw_config *c,
    struct ats_secret *const *credential, struct ats_err *err);
void fetches_free(struct fetches *fs);	/* the requests end, done is not called; NULL is fine */
/* The certificates that are trusted: a path, or NULL for the system's directories. */
const char *fetch_ca(const struct ats_gw_config *c);
/* *ret_fetch is borrowed until done. -ATS_E_INVAL (a header or the credential holds what cannot
 * be sent), -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int fetch_start(struct fetches *fs, const struct fetch_request *r,
    struct fetch **ret_fetch, struct ats_err *err);
void fetch_cancel(struct fetch *f);	/* not in a callback; done is not called; NULL is fine */
const struct fetch_head *fetch_head(const struct fetch *f);
/* Appends scheme, host and port, which are the configuration's. -ATS_E_NOMEM, -ATS_E_TOOBIG. */
#define FETCH_URL_MAX (64u << 10)
ATS_NODISCARD int fetch_origin(struct ats_buf *url, const struct ats_gw_config *c);
/* Resolves a Location against the target that was asked for: 1 and the new target in out (of the
 * same origin, without its fragment), 0: it is another origin, whose host is in out. -ATS_E_INVAL:
 * not to be understood. */
ATS_NODISCARD int fetch_redirect(const struct ats_gw_config *c, const char *target,
    const char *location, struct ats_buf *out);

#endif
