/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events. Runs in ats-gateway; the bytes are the upstream's. */
#include "brain/gateway/sse.h"

#include <string.h>

void
sse_init(struct sse *s, size_t max_bytes)
{
	*s = (struct sse){ .any = false };
	ats_buf_init(&s->line, max_bytes);
	ats_buf_init(&s->data, max_bytes);
}

void
sse_done(struct sse *s)
{
	ats_buf_done(&s->line);
	ats_buf_done(&s->data);
}

static int
field(struct sse *s, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	size_t name = colon != NULL ? (size_t)(colon - line) : n;
	const char *value = colon != NULL ? colon + 1 : line + n;
	size_t len = (size_t)(line + n - value);
	int rc = 0;

	if (len > 0 && value[0] == ' ') {
		value++;
		len--;
	}
	if (name == 5 && memcmp(line, "event", 5) == 0)
		s->other = len != 0 && !(len == 7 && memcmp(value, "message", 7) == 0);
	if (name != 4 || memcmp(line, "data", 4) != 0)
		return 0;
	if (s->any)
		rc = ats_buf_add_char(&s->data, '\n');
	s->any = true;
	return rc < 0 ? rc : ats_buf_add(&s->data, value, len);
}

static int
line_end(struct sse *s, int (*got)(void *ctx, const char *data, size_t n), void *ctx)
{
	int rc = 0;

	if (s->line.len > 0) {
		rc = field(s, s->line.data, s->line.len);
		ats_buf_reset(&s->line);
		return rc;
	}
	if (s->any && !s->other && s->data.len > 0)
		rc = got(ctx, s->data.data, s->data.len);
	s->any = s->other = false;
	ats_buf_reset(&s->data);
	return rc;
}

int
sse_add(struct sse *s, const char *p, size_t n,
    int (*got)(void *ctx, const char *data, size_t n), void *ctx)
{
	int rc = 0;

	while (rc == 0 && n > 0) {
		size_t len = 0;

		if (s->cr && *p == '\n') {	/* the second byte of one end of a line */
			s->cr = false;
			p++;
			n--;
			continue;
		}
		while (len < n && p[len] != '\n' && p[len] != '\r')
			len++;
		s->cr = false;
		rc = ats_buf_add(&s->line, p, len);
		p += len;
		n -= len;
		if (rc < 0 || n == 0)
			break;
		s->cr = *p == '\r';
		p++;
		n--;
		rc = line_end(s, got, ctx);
	}
	return rc;
}
