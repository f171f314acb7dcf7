/* SPDX-License-Identifier: Apache-2.0
 *
 * Results. Runs in ats-gateway; their content is the upstream's. */
#include "brain/gateway/result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "brain/gateway/mask.h"
#include "common/json.h"
#include "proto/msg.h"

#define PAYLOAD_MAX (3u << 20)		/* RESULT's, frames.def */
#define BLOCKS_TEXT 4096u		/* RESULT.blocks, frames.def */

void
gather_init(struct gather *g, const struct mask *m)
{
	/* What is masked gets shorter, and no cut may leave a part of the credential. */
	ats_buf_init(&g->head, RESULT_TEXT_MAX + 2 * mask_longest(m) + 4);
	g->total = 0;
	g->stopped = false;
}

void
gather_done(struct gather *g)
{
	ats_buf_done(&g->head);
}

int
gather_add(struct gather *g, const void *p, size_t n)
{
	size_t room = g->head.max - g->head.len;

	g->total += n;
	return ats_buf_add(&g->head, p, n < room ? n : room);
}

void
result_init(struct result *r, const struct mask *m)
{
	*r = (struct result){ .mask = m };
	ats_buf_init(&r->payload, PAYLOAD_MAX);
	ats_buf_init(&r->blocks, BLOCKS_TEXT);
}

void
result_done(struct result *r)
{
	ats_buf_done(&r->payload);
	ats_buf_done(&r->blocks);
}

static int
block(struct result *r, const char *mime, size_t n)
{
	int rc = ats_buf_add_char(&r->blocks, r->nblocks == 0 ? '[' : ',');

	if (rc == 0 && mime != NULL)
		rc = ats_buf_addf(&r->blocks,
		    "{\"type\":\"image\",\"mime\":\"%s\",\"len\":%zu}", mime, n);
	else if (rc == 0)
		rc = ats_buf_addf(&r->blocks, "{\"type\":\"text\",\"len\":%zu}", n);
	r->nblocks++;
	return rc;
}

/* Of text that is valid: the most bytes up to max that end with a character. */
static size_t
whole_characters(const char *s, size_t max)
{
	while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/* What of a text was left out before it came here. */
enum missing { MISSING_NOTHING, MISSING_SOME, MISSING_UNKNOWN };

/* total: bytes that there were, or of which is known. */
static int
add_marked(struct result *r, const struct ats_buf *clean, uint64_t total, enum missing missing)
{
	size_t room = RESULT_TEXT_MAX - r->text, n = clean->len, from = r->payload.len;
	bool cut = missing != MISSING_NOTHING || n > room;
	int rc;

	if (n > room)
		n = whole_characters(clean->data, room);
	rc = ats_buf_add(&r->payload, clean->data, n);
	r->text += n;
	if (rc == 0 && cut)
		rc = ats_buf_addf(&r->payload,
		    "%s[cut: the first %zu of %s%" PRIu64 " bytes are shown; ask for less]",
		    n > 0 && clean->data[n - 1] != '\n' ? "\n" : "", n,
		    missing == MISSING_UNKNOWN ? "at least " : "",
		    total > n ? total : (uint64_t)clean->len);
	r->full = cut;
	return rc < 0 ? rc : block(r, NULL, r->payload.len - from);
}

static int
add_text(struct result *r, const char *s, size_t n, uint64_t total, bool stopped)
{
	struct ats_buf masked ATS_CLEANUP_BUF = { 0 }, clean ATS_CLEANUP_BUF = { 0 };
	size_t longest = mask_longest(r->mask);
	int rc;

	if (total == 0)
		return 0;
	if (r->nblocks >= RESULT_BLOCKS_MAX || r->text >= RESULT_TEXT_MAX) {
		r->full = true;
		return 0;
	}
	/* A mask of three bytes may stand for four, a stray byte becomes three. */
	ats_buf_init(&masked, n + 1);
	ats_buf_init(&clean, 3 * n + 1);
	rc = mask_apply(r->mask, s, n, &masked);
	/* The last bytes may be the first ones of a form. */
	if (total > n || stopped)
		ats_buf_truncate(&masked, masked.len > longest ? masked.len - longest : 0);
	if (rc == 0)
		rc = ats_utf8_repair(&clean, masked.data, masked.len);
	return rc < 0 ? rc : add_marked(r, &clean, total, stopped ? MISSING_UNKNOWN :
	    total > n ? MISSING_SOME : MISSING_NOTHING);
}

int
result_text(struct result *r, const char *s, size_t n)
{
	size_t look = RESULT_TEXT_MAX + 2 * mask_longest(r->mask) + 4;

	return add_text(r, s, n < look ? n : look, n, false);
}

int
result_gathered(struct result *r, const struct gather *g)
{
	return add_text(r, g->head.data, g->head.len, g->total, g->stopped);
}

int
result_textf(struct result *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return result_text(r, text, strlen(text));
}

const char *
result_image_type(const char *mime)
{
	static const char *const known[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };
	size_t n = strcspn(mime, "; \t");

	for (size_t i = 0; i < ATS_ARRAY_LEN(known); i++)
		if (strlen(known[i]) == n && strncasecmp(known[i], mime, n) == 0)
			return known[i];
	return NULL;
}

int
result_image(struct result *r, const char *mime, const char *p, size_t n)
{
	const char *type = result_image_type(mime);
	struct ats_buf said ATS_CLEANUP_BUF = { 0 };
	int rc;

	if (r->nblocks >= RESULT_BLOCKS_MAX) {
		r->full = true;
		return 0;
	}
	if (type == NULL || n == 0 || n > RESULT_IMAGE_MAX - r->images) {
		ats_buf_init(&said, 100);
		rc = mask_cut(r->mask, mime, strlen(mime), 100, &said);
		return rc < 0 ? rc : result_textf(r, "[%s, %zu bytes: not shown, %s]", said.data, n,
		    type == NULL ? "of a kind that models do not read" :
		    n == 0 ? "it is empty" : "too large");
	}
	rc = ats_buf_add(&r->payload, p, n);
	r->images += n;
	r->has_image = true;
	return rc < 0 ? rc : block(r, type, n);
}

void
result_fail(struct result *r, int code, const char *fmt, ...)
{
	const struct mask *m = r->mask;
	bool not_started = r->not_started;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	result_done(r);
	result_init(r, m);
	r->is_error = true;
	r->code = code;
	r->not_started = not_started;
	if (result_text(r, text, strlen(text)) < 0)
		r->code = ATS_E_NOMEM;
}

int
result_json(struct result *r, uint64_t run_us, struct ats_buf *json)
{
	const struct ats_shape *shape = &ats_frame_rows[ATS_FRAME_RESULT].shape;
	struct ats_msg_RESULT m = {
		.outcome = r->not_started ? "not_started" : "done",
		.is_error = r->is_error,
		.has_is_error = r->is_error,
		.code = r->is_error && r->code != 0 ? ats_err_name(r->code) : NULL,
		.exit_kind = r->exit_kind,
		.exit_code = r->exit_code,
		.has_exit_code = r->has_exit_code,
		.run_us = run_us,
		.has_run_us = true,
	};
	int rc = 0;

	/* Never nothing: a model takes that for a fault. */
	if (r->payload.len == 0)
		rc = result_text(r, "(no output)", 11);
	if (rc == 0 && (r->nblocks > 1 || r->has_image)) {
		rc = ats_buf_add_char(&r->blocks, ']');
		m.blocks = (struct ats_slice){ r->blocks.data, r->blocks.len };
	}
	return rc < 0 ? rc : ats_msg_encode(shape, &m, json, NULL);
}
