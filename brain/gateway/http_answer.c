/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers over HTTP. Runs in ats-gateway; the answer is the upstream's. */
#include "brain/gateway/http_answer.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/orders.h"
#include "common/log.h"

#define LOG_TEXT 2000u
#define TYPE_SHOWN 200u

void
http_answer_init(struct http_answer *a, const struct mask *m)
{
	*a = (struct http_answer){ .content = HTTP_NOTHING };
	gather_init(&a->text, m);
	ats_buf_init(&a->image, RESULT_IMAGE_MAX);
}

void
http_answer_done(struct http_answer *a)
{
	gather_done(&a->text);
	ats_buf_done(&a->image);
}

static bool
ends(const char *s, size_t n, const char *with)
{
	size_t len = strlen(with);

	return n >= len && strncasecmp(s + n - len, with, len) == 0;
}

enum http_content
http_content_of(const struct fetch_head *h, const char *p, size_t n)
{
	static const char *const texts[] = { "json", "xml", "javascript", "ecmascript", "yaml",
		"x-yaml", "x-ndjson", "jsonl", "x-www-form-urlencoded", "graphql", "toml", "sql" };
	const char *type = h->type, *sub;
	size_t len = strcspn(type, "; \t");

	if (len == 0)
		return memchr(p, '\0', n < 512 ? n : 512) != NULL ? HTTP_BINARY : HTTP_TEXT;
	if (result_image_type(type) != NULL)
		return HTTP_IMAGE;
	if (strncasecmp(type, "text/", 5) == 0 || ends(type, len, "+json") ||
	    ends(type, len, "+xml") || ends(type, len, "+yaml"))
		return HTTP_TEXT;
	if (strncasecmp(type, "application/", 12) != 0)
		return HTTP_BINARY;
	sub = type + 12;
	for (size_t i = 0; i < ATS_ARRAY_LEN(texts); i++)
		if (len - 12 == strlen(texts[i]) && strncasecmp(sub, texts[i], len - 12) == 0)
			return HTTP_TEXT;
	return HTTP_BINARY;
}

/* Of what only its size is told: it need not come when that was said. */
static bool
is_enough(const struct http_answer *a, const struct fetch_head *h)
{
	if (a->content == HTTP_BINARY && h->length >= 0 && !h->encoded)
		return true;
	return a->total > (a->content == HTTP_IMAGE ? RESULT_IMAGE_MAX : HTTP_READ_MAX);
}

bool
http_answer_add(struct http_answer *a, const struct fetch_head *h, const char *p, size_t n)
{
	int rc = 0;

	if (a->content == HTTP_NOTHING)
		a->content = h->status >= 300 ? HTTP_LOG : http_content_of(h, p, n);
	a->total += n;
	if (a->content == HTTP_TEXT || a->content == HTTP_LOG)
		rc = gather_add(&a->text, p, n);
	else if (a->content == HTTP_IMAGE && a->total <= RESULT_IMAGE_MAX)
		rc = ats_buf_add(&a->image, p, n);
	a->stopped = rc < 0 || is_enough(a, h);
	return !a->stopped;
}

static const char *
advice(long status, bool has_credential)
{
	if (status < 400)
		return "It answers with a redirect or a cached state that is not followed.";
	if (status == 401 && !has_credential)
		return "It wants a credential, and this gateway has none; tell the user.";
	if (status == 401)
		return "It does not accept the credential of this gateway; the person "
		       "who set it up can look with: atsctl credential test";
	if (status == 403)
		return has_credential ? "The credential of this gateway may not do this." :
					"It does not permit this without a credential.";
	if (status == 404 || status == 410)
		return "What the arguments name does not exist there, or cannot be seen with this "
		       "credential.";
	if (status == 408 || status == 425 || status == 429)
		return "It wants fewer calls: try again later.";
	if (status < 500)
		return "It refuses these arguments; look at the tool's description.";
	return "It has a fault of its own; whether the call took effect is not known.";
}

static void
fail(const struct http_answer *a, const struct fetch_head *h, const struct order *o,
    struct result *r)
{
	char text[LOG_TEXT];

	ats_log(ATS_LOG_INFO, "the upstream answered an error", "gateway=%s call=c-%" PRIu64
	    " status=%ld", o->g->conf.name, o->id, h->status);
	ats_log(ATS_LOG_DEBUG, "the error's body", "call=c-%" PRIu64 " body=%s", o->id,
	    mask_quote(o->g->mask, text, sizeof(text), a->text.head.data, a->text.head.len));
	result_fail(r, ATS_E_UPSTREAM, "The upstream of %s answered with status %ld. %s", o->whole,
	    h->status, advice(h->status, o->g->conf.credential != NULL));
}

static int
binary(const struct http_answer *a, const struct fetch_head *h, struct result *r)
{
	bool said = h->length >= 0 && !h->encoded;
	struct ats_buf type ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&type, TYPE_SHOWN);
	rc = mask_cut(r->mask, h->type, strlen(h->type), TYPE_SHOWN, &type);
	return rc < 0 ? rc : result_textf(r, "[%s, %s%" PRIu64 " bytes: not shown, it is %s]",
	    type.len > 0 ? type.data : "no type said", !said && a->stopped ? "more than " : "",
	    said ? (uint64_t)h->length : a->total,
	    a->content == HTTP_IMAGE ? "too large an image" : "neither text nor an image");
}

int
http_answer_finish(struct http_answer *a, const struct fetch_head *h, const struct order *o,
    struct result *r)
{
	if (h->status >= 300) {
		fail(a, h, o, r);
		return 0;
	}
	switch (a->content) {
	case HTTP_TEXT:
		a->text.stopped = a->stopped;
		return result_gathered(r, &a->text);
	case HTTP_IMAGE:
		return a->stopped ? binary(a, h, r) :
		    result_image(r, h->type, a->image.data, a->image.len);
	case HTTP_BINARY:
		return binary(a, h, r);
	case HTTP_NOTHING:
	case HTTP_LOG:
		break;
	}
	return result_textf(r, "Done: status %ld, without content.", h->status);
}
