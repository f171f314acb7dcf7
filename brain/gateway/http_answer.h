/* SPDX-License-Identifier: Apache-2.0
 *
 * What an answer over HTTP becomes for a model. */
#ifndef ATS_GATEWAY_HTTP_ANSWER_H
#define ATS_GATEWAY_HTTP_ANSWER_H

#include "brain/gateway/fetch.h"
#include "brain/gateway/result.h"

#define HTTP_READ_MAX (1u << 20)	/* bytes of a body after which no more is read */

struct order;

enum http_content { HTTP_NOTHING, HTTP_TEXT, HTTP_IMAGE, HTTP_BINARY, HTTP_LOG };
struct http_answer {
	enum http_content content;	/* once some of it came */
	struct gather text;		/* TEXT, and LOG: of an error */
	struct ats_buf image;
	uint64_t total;
	bool stopped;
};

void http_answer_init(struct http_answer *a, const struct mask *m);
void http_answer_done(struct http_answer *a);
/* Some of the body. false: no more is wanted. */
bool http_answer_add(struct http_answer *a, const struct fetch_head *h, const char *p, size_t n);
/* Fills r, which is empty. An error's body is logged, not given. 0 or -ATS_E_NOMEM. */
ATS_NODISCARD int http_answer_finish(struct http_answer *a, const struct fetch_head *h,
    const struct order *o, struct result *r);
/* Text is what says so, and what says nothing and holds no NUL in its first bytes. */
enum http_content http_content_of(const struct fetch_head *h, const char *p, size_t n);

#endif
