/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads of HTTP/1.1. Runs wherever a port is open; what comes is anybody's. */
#include "common/http_head.h"

#include <string.h>
#include <strings.h>

size_t
ats_http_head_end(const char *p, size_t n, size_t from)
{
	const char *end;

	from = from > 3 ? from - 3 : 0;
	end = n > from ? memmem(p + from, n - from, "\r\n\r\n", 4) : NULL;
	return end != NULL ? (size_t)(end - p) + 4 : 0;
}

static bool
is_token(char c)			/* RFC 9110, 5.6.2 */
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t';
}

bool
ats_http_text_is(struct ats_http_text t, const char *s)
{
	return t.p != NULL && t.n == strlen(s) && strncasecmp(t.p, s, t.n) == 0;
}

bool
ats_http_text_is_exactly(struct ats_http_text t, const char *s)
{
	return t.p != NULL && t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

static struct ats_http_text
trim(struct ats_http_text t)
{
	while (t.n > 0 && is_space(*t.p))
		t.p++, t.n--;
	while (t.n > 0 && is_space(t.p[t.n - 1]))
		t.n--;
	return t;
}

/* The bytes before the first stop, which t loses with it. */
static struct ats_http_text
cut(struct ats_http_text *t, char stop)
{
	const char *at = memchr(t->p, stop, t->n);
	struct ats_http_text one = { t->p, at != NULL ? (size_t)(at - t->p) : t->n };

	t->p += one.n + (at != NULL);
	t->n -= one.n + (at != NULL);
	return one;
}

bool
ats_http_lists(struct ats_http_text t, const char *word)
{
	while (t.n > 0) {
		struct ats_http_text one = cut(&t, ',');

		one = cut(&one, ';');
		if (ats_http_text_is(trim(one), word))
			return true;
	}
	return false;
}

struct ats_http_text
ats_http_field(const struct ats_http_head *h, const char *name, unsigned *ret_count)
{
	struct ats_http_text value = { NULL, 0 };
	unsigned count = 0;

	for (unsigned i = 0; i < h->nfields; i++)
		if (ats_http_text_is(h->field[i].name, name) && count++ == 0)
			value = h->field[i].value;
	if (ret_count != NULL)
		*ret_count = count;
	return value;
}

/* ---- reading --------------------------------------------------------------------- */

static int
bad(struct ats_err *err, const char *why)
{
	return ats_err_set(err, ATS_E_PROTO, "HTTP: %s", why);
}

/* "NAME: VALUE", without its CRLF. */
static int
read_field(struct ats_http_head *h, struct ats_http_text line, struct ats_err *err)
{
	struct ats_http_field *f = &h->field[h->nfields];
	size_t n = 0;

	while (n < line.n && is_token(line.p[n]))
		n++;
	if (n == 0 || n == line.n || line.p[n] != ':')
		return bad(err, "a line that is no field");
	for (size_t i = n + 1; i < line.n; i++) {
		unsigned char c = (unsigned char)line.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return bad(err, "a control character in a field");
	}
	if (h->nfields == ATS_HTTP_FIELDS_MAX)
		return bad(err, "too many fields");
	f->name = (struct ats_http_text){ line.p, n };
	f->value = trim((struct ats_http_text){ line.p + n + 1, line.n - n - 1 });
	h->nfields++;
	return 0;
}

/* *ret_first: the line before the fields. */
static int
read_head(const char *p, size_t n, struct ats_http_head *ret, struct ats_http_text *ret_first,
    struct ats_err *err)
{
	bool first = true;
	int rc = 0;

	*ret = (struct ats_http_head){ .nfields = 0 };
	*ret_first = (struct ats_http_text){ NULL, 0 };
	while (rc == 0) {
		const char *end = memmem(p, n, "\r\n", 2);
		struct ats_http_text line = { p, end != NULL ? (size_t)(end - p) : 0 };

		if (end == NULL)
			return bad(err, "a head without an end");
		if (line.n == 0)
			return first ? bad(err, "an empty head") : 0;
		if (first)
			*ret_first = line;
		else
			rc = read_field(ret, line, err);
		first = false;
		n -= line.n + 2;
		p += line.n + 2;
	}
	return rc;
}

int
ats_http_request_read(const char *head, size_t n, struct ats_http_head *ret, struct ats_err *err)
{
	struct ats_http_text line;
	int rc = read_head(head, n, ret, &line, err);

	if (rc < 0)
		return rc;
	ret->method = cut(&line, ' ');
	ret->target = cut(&line, ' ');
	for (size_t i = 0; i < ret->method.n; i++)
		if (!is_token(ret->method.p[i]))
			return bad(err, "a method that is none");
	for (size_t i = 0; i < ret->target.n; i++)
		if ((unsigned char)ret->target.p[i] <= ' ' ||
		    (unsigned char)ret->target.p[i] >= 0x7f)
			return bad(err, "a target with bytes that none has");
	if (ret->method.n == 0 || ret->target.n == 0 || ret->target.p[0] != '/' ||
	    !ats_http_text_is_exactly(line, "HTTP/1.1"))
		return bad(err, "not a request of HTTP/1.1");
	return 0;
}

static int
read_response(const char *head, size_t n, bool old, struct ats_http_head *ret,
    struct ats_err *err)
{
	struct ats_http_text line, word;
	int rc = read_head(head, n, ret, &line, err);

	if (rc < 0)
		return rc;
	word = cut(&line, ' ');
	if (!ats_http_text_is_exactly(word, "HTTP/1.1") &&
	    !(old && ats_http_text_is_exactly(word, "HTTP/1.0")))
		return bad(err, "not a response of HTTP/1.1");
	word = cut(&line, ' ');
	if (word.n != 3)
		return bad(err, "a response without a status");
	for (int i = 0; i < 3; i++) {
		if (word.p[i] < '0' || word.p[i] > '9')
			return bad(err, "a response without a status");
		ret->status = ret->status * 10 + (unsigned)(word.p[i] - '0');
	}
	return 0;
}

int
ats_http_response_read(const char *head, size_t n, struct ats_http_head *ret, struct ats_err *err)
{
	return read_response(head, n, false, ret, err);
}

int
ats_http_tunnel_read(const char *head, size_t n, struct ats_http_head *ret, struct ats_err *err)
{
	return read_response(head, n, true, ret, err);
}

int
ats_http_framing(const struct ats_http_head *h, enum ats_http_framing *ret, uint64_t *ret_length,
    struct ats_err *err)
{
	unsigned nlength, ncoding;
	struct ats_http_text length = ats_http_field(h, "Content-Length", &nlength);
	struct ats_http_text coding = ats_http_field(h, "Transfer-Encoding", &ncoding);

	*ret_length = 0;
	*ret = ATS_HTTP_NONE;
	if (nlength + ncoding > 1)
		return bad(err, "more than one length of the body");
	if (ncoding == 1) {
		if (!ats_http_text_is(coding, "chunked"))
			return bad(err, "a transfer coding other than chunked");
		*ret = ATS_HTTP_CHUNKED;
		return 0;
	}
	if (nlength == 0)
		return 0;
	if (length.n == 0 || length.n > 18)	/* of 19 digits not all fit */
		return bad(err, "a Content-Length that is no number");
	for (size_t i = 0; i < length.n; i++) {
		if (length.p[i] < '0' || length.p[i] > '9')
			return bad(err, "a Content-Length that is no number");
		*ret_length = *ret_length * 10 + (unsigned)(length.p[i] - '0');
	}
	*ret = ATS_HTTP_LENGTH;
	return 0;
}

/* ---- chunks ---------------------------------------------------------------------- */

#define CHUNK_DIGITS 8u			/* 4 GiB a chunk; the owner caps the whole */

enum { SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, LAST_CR, LAST_LF };

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Of a byte that is no data. */
static int
take_frame_byte(struct ats_http_chunks *c, char byte)
{
	int digit = hex(byte);

	switch (c->state) {
	case SIZE:
		if (digit >= 0 && c->digits < CHUNK_DIGITS) {
			c->left = c->left << 4 | (unsigned)digit;
			c->digits++;
			return 0;
		}
		c->state = SIZE_LF;
		return byte == '\r' && c->digits > 0 ? 0 : -ATS_E_PROTO;
	case SIZE_LF:
		c->state = c->left > 0 ? DATA : LAST_CR;
		break;
	case DATA_CR:
		c->state = DATA_LF;
		return byte == '\r' ? 0 : -ATS_E_PROTO;
	case DATA_LF:
		c->state = SIZE;
		c->digits = 0;
		break;
	case LAST_CR:
		c->state = LAST_LF;
		return byte == '\r' ? 0 : -ATS_E_PROTO;
	default:
		c->done = true;
		break;
	}
	return byte == '\n' ? 0 : -ATS_E_PROTO;
}

int64_t
ats_http_chunks_decode(struct ats_http_chunks *c, char *buf, size_t n, size_t *ret_n)
{
	size_t at = 0, out = 0, piece;

	while (at < n && !c->done) {
		if (c->state != DATA) {
			if (take_frame_byte(c, buf[at++]) < 0)
				return -ATS_E_PROTO;
			continue;
		}
		piece = c->left < n - at ? (size_t)c->left : n - at;
		memmove(buf + out, buf + at, piece);
		c->left -= piece;
		out += piece;
		at += piece;
		if (c->left == 0)
			c->state = DATA_CR;
	}
	*ret_n = out;
	return (int64_t)at;
}
