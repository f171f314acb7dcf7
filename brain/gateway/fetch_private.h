/* SPDX-License-Identifier: Apache-2.0
 *
 * What fetch.c (life of requests, and what comes) and fetch_request.c (what is sent) share; nobody
 * else includes this. */
#ifndef ATS_GATEWAY_FETCH_PRIVATE_H
#define ATS_GATEWAY_FETCH_PRIVATE_H

#include <curl/curl.h>

#include "brain/gateway/fetch.h"

struct fetches {
	const struct ats_gw_config *c;
	struct ats_secret *const *credential;
	CURLM *multi;
	struct fetch_loop *loop;
	struct fetch *first;
};
struct fetch {
	struct fetches *fs;
	CURL *easy;
	struct curl_slist *headers;
	struct fetch_head head;
	size_t head_bytes;
	const struct fetch_ops *ops;
	void *ctx;
	bool stopped;			/* by ops->body */
	bool refused;			/* the address */
	bool too_much;			/* of headers */
	char error[CURL_ERROR_SIZE];
	struct fetch *next;
};

/* Of f->easy, in a function that then returns -ATS_E_NOMEM. */
#define FETCH_SET(option, value)                                                         \
	do {                                                                             \
		if (curl_easy_setopt(f->easy, option, value) != CURLE_OK)                \
			return -ATS_E_NOMEM;                                             \
	} while (0)

/* ---- fetch_request.c */
/* All of f->easy that r and the configuration say: address, headers (f->headers), body, and what no
 * configuration may change. -ATS_E_INVAL, -ATS_E_TOOBIG, -ATS_E_NOMEM, with a text. */
ATS_NODISCARD int fetch_prepare(struct fetch *f, const struct fetch_request *r,
    struct ats_err *err);

#endif
