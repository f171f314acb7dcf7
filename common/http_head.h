/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads of HTTP/1.1 (RFC 9110, RFC 9112) and where their bodies end, and no I/O. Strict where two
 * readers of one text could differ: CRLF alone ends a line, no folded lines, no space before the
 * colon, one Content-Length or one "Transfer-Encoding: chunked" and never both. Input is
 * anybody's who finds the port. */
#ifndef ATS_COMMON_HTTP_HEAD_H
#define ATS_COMMON_HTTP_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define ATS_HTTP_FIELDS_MAX 64u

struct ats_http_text {			/* borrowed from the head; p == NULL: not there */
	const char *p;
	size_t n;
};
struct ats_http_field {
	struct ats_http_text name, value;	/* without the spaces around it */
};
struct ats_http_head {
	struct ats_http_text method, target;	/* of a request */
	unsigned status;			/* of a response */
	struct ats_http_field field[ATS_HTTP_FIELDS_MAX];
	unsigned nfields;
};

/* Bytes of the head that ends with an empty line, 0 when it is not all here; the first from
 * bytes are known to hold no end. */
size_t ats_http_head_end(const char *p, size_t n, size_t from);
/* A head as ats_http_head_end found it. 0 or -ATS_E_PROTO with the reason. Version 1.1 alone; a
 * request's target is a path (origin form). */
ATS_NODISCARD int ats_http_request_read(const char *head, size_t n, struct ats_http_head *ret,
    struct ats_err *err);
ATS_NODISCARD int ats_http_response_read(const char *head, size_t n, struct ats_http_head *ret,
    struct ats_err *err);
/* The same for what a proxy answers to CONNECT, which many do in HTTP/1.0. */
ATS_NODISCARD int ats_http_tunnel_read(const char *head, size_t n, struct ats_http_head *ret,
    struct ats_err *err);
/* The value of the field, whose name is compared without regard to case; p is NULL where there
 * is none. *ret_count (may be NULL): how often it is there. */
struct ats_http_text ats_http_field(const struct ats_http_head *h, const char *name,
    unsigned *ret_count);
bool ats_http_text_is(struct ats_http_text t, const char *s);		/* without regard to case */
bool ats_http_text_is_exactly(struct ats_http_text t, const char *s);
/* Whether a comma-separated list has the word, without regard to case; parameters (";q=1") of an
 * element do not count. */
bool ats_http_lists(struct ats_http_text t, const char *word);

enum ats_http_framing { ATS_HTTP_NONE, ATS_HTTP_LENGTH, ATS_HTTP_CHUNKED };
/* How a request's body is delimited (RFC 9112, 6.3). *ret_length for LENGTH. 0 or -ATS_E_PROTO. */
ATS_NODISCARD int ats_http_framing(const struct ats_http_head *h, enum ats_http_framing *ret,
    uint64_t *ret_length, struct ats_err *err);

/* ---- chunked bodies (RFC 9112, 7.1), without extensions and trailers ----------------------- */
struct ats_http_chunks {		/* zero at the start */
	unsigned state;
	unsigned digits;		/* of the size under way */
	uint64_t left;			/* bytes of the chunk that are still to come */
	bool done;			/* the last chunk has come, and its empty line */
};
/* Decodes in place what of n bytes belongs to the body: its bytes stand at buf then, *ret_n of
 * them. Returns how many of the n were used; fewer only when done is set. -ATS_E_PROTO. */
ATS_NODISCARD int64_t ats_http_chunks_decode(struct ats_http_chunks *c, char *buf, size_t n,
    size_t *ret_n);

#endif
