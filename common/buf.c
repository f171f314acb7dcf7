/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable buffer with a cap. Linked into every process; holds whatever peers send.
 * Invariant: base == NULL (data is the shared empty string, len 0) or base <= data,
 * data + len + 1 <= base + cap, data[len] == 0. */
#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"

#define FIRST_CAP 256u
#define KEEP_CAP (64u << 10)

static char empty[1]; /* never written */

char *
ats_slice_dup(struct ats_slice s)
{
	char *p = ats_malloc(s.n + 1);

	if (p != NULL) {
		memcpy(p, s.p, s.n);
		p[s.n] = '\0';
	}
	return p;
}

void
ats_buf_init(struct ats_buf *b, size_t max_bytes)
{
	*b = (struct ats_buf){ .data = empty, .max = max_bytes };
}

void
ats_buf_done(struct ats_buf *b)
{
	size_t max;

	if (b == NULL)
		return;
	max = b->max;
	free(b->base);
	ats_buf_init(b, max);
}

static size_t
room(const struct ats_buf *b)
{
	if (b->base == NULL)
		return 0;
	return b->cap - 1 - (size_t)(b->data - b->base) - b->len;
}

static void
move_to_front(struct ats_buf *b)
{
	if (b->data != b->base)
		memmove(b->base, b->data, b->len + 1);
	b->data = b->base;
}

static int __attribute__((noinline))
grow(struct ats_buf *b, size_t n)
{
	size_t need = b->len + n + 1, cap = b->cap < FIRST_CAP ? FIRST_CAP : b->cap;
	char *p;

	/* Moving costs at most as much as what was consumed since the last move. */
	if (b->base != NULL && need <= b->cap && (size_t)(b->data - b->base) >= b->len) {
		move_to_front(b);
		return 0;
	}
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	if (b->base != NULL)
		move_to_front(b);
	p = ats_realloc(b->base, cap);
	if (p == NULL)
		return -ATS_E_NOMEM;
	if (b->base == NULL)
		p[0] = '\0';
	b->base = b->data = p;
	b->cap = cap;
	return 0;
}

static inline int
make_room(struct ats_buf *b, size_t n)
{
	if (n > b->max - b->len || n >= SIZE_MAX / 2)
		return -ATS_E_TOOBIG;
	return b->base == NULL || room(b) < n ? grow(b, n) : 0;
}

int
ats_buf_reserve(struct ats_buf *b, size_t n, char **ret_p)
{
	int rc = make_room(b, n);

	if (rc == 0)
		*ret_p = b->data + b->len;
	return rc;
}

void
ats_buf_commit(struct ats_buf *b, size_t n)
{
	if (n == 0)
		return;
	ATS_BUG(n > room(b));
	b->len += n;
	b->data[b->len] = '\0';
}

int
ats_buf_add(struct ats_buf *b, const void *p, size_t n)
{
	int rc;

	if (n == 0)
		return 0;
	rc = make_room(b, n);
	if (rc < 0)
		return rc;
	memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int
ats_buf_add_str(struct ats_buf *b, const char *s)
{
	return ats_buf_add(b, s, strlen(s));
}

int
ats_buf_add_char(struct ats_buf *b, char c)
{
	return ats_buf_add(b, &c, 1);
}

int
ats_buf_addf(struct ats_buf *b, const char *fmt, ...)
{
	size_t have = 0;
	va_list ap;
	char *to = NULL;
	int n, rc;

	if (b->base != NULL) {
		have = room(b) < b->max - b->len ? room(b) : b->max - b->len;
		to = b->data + b->len;
	}
	va_start(ap, fmt);
	n = vsnprintf(to, to != NULL ? have + 1 : 0, fmt, ap);
	va_end(ap);
	if (to != NULL && n >= 0 && (size_t)n <= have) {
		b->len += (size_t)n;
		return 0;
	}
	if (to != NULL)
		*to = '\0';
	if (n < 0)
		return -ATS_E_NOMEM;
	rc = ats_buf_reserve(b, (size_t)n, &to);
	if (rc < 0)
		return rc;
	va_start(ap, fmt);
	(void)vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	ats_buf_commit(b, (size_t)n);
	return 0;
}

void
ats_buf_consume(struct ats_buf *b, size_t n)
{
	ATS_BUG(n > b->len);
	b->len -= n;
	if (b->len > 0) {
		b->data += n;
	} else if (b->base != NULL) {
		b->data = b->base;
		b->data[0] = '\0';
	}
}

void
ats_buf_reset(struct ats_buf *b)
{
	if (b->cap > KEEP_CAP)
		ats_buf_done(b);
	else
		ats_buf_consume(b, b->len);
}

void
ats_buf_take(struct ats_buf *to, struct ats_buf *from)
{
	size_t max = to->max;

	ATS_BUG(to->base != NULL || from->len > 0);
	*to = *from;
	to->max = max;
	ats_buf_init(from, from->max);
}

void
ats_buf_truncate(struct ats_buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->data[len] = '\0';
}

char *
ats_buf_steal(struct ats_buf *b, size_t *ret_len)
{
	char *p;

	if (b->base == NULL) {
		p = ats_calloc(1, 1);
		if (p != NULL && ret_len != NULL)
			*ret_len = 0;
		return p;
	}
	move_to_front(b);
	p = b->base;
	if (ret_len != NULL)
		*ret_len = b->len;
	ats_buf_init(b, b->max);
	return p;
}
