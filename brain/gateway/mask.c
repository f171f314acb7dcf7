/* SPDX-License-Identifier: Apache-2.0
 *
 * Masking the credential. Runs in ats-gateway, over what upstreams say. */
#include "brain/gateway/mask.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "brain/gateway/encode.h"
#include "common/base64.h"
#include "common/digest.h"
#include "common/json.h"
#include "common/log.h"
#include "common/secret.h"

#define FORMS_MAX 40
#define FORM_BYTES (64u << 10)		/* over three times ATS_SECRET_MAX */
#define LOG_MAX 4096u

struct form {
	char *p;
	size_t n;
};
struct mask {
	struct form v[2 * FORMS_MAX];
	size_t n, now;			/* the last ones are of the secret that counts now */
};

static void
wipe(struct form *f)
{
	ats_secret_wipe(f->p, f->n);
	free(f->p);
}

void
mask_free(struct mask *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n; i++)
		wipe(&m->v[i]);
	free(m);
}

static int
add(struct mask *m, const char *p, size_t n)
{
	struct form *f = &m->v[m->n];

	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].n == n && memcmp(m->v[i].p, p, n) == 0)
			return 0;
	if (n < MASK_LEAST)
		return 0;
	ATS_BUG(m->n >= FORMS_MAX);
	f->p = malloc(n);
	if (f->p == NULL)
		return -ATS_E_NOMEM;
	memcpy(f->p, p, n);
	f->n = n;
	m->n++;
	return 0;
}

/* In base64, when skip bytes are before it: the digits that depend on the secret alone, and all
 * with what an end behind it adds. */
static int
add_digits(struct mask *m, const struct ats_buf *text, size_t skip, size_t n)
{
	size_t first = skip == 0 ? 0 : skip + 1, own = (skip + n) * 8 / 6;
	size_t end = text->len;
	int rc = add(m, text->data + first, text->len - first);

	while (end > 0 && text->data[end - 1] == '=')
		end--;
	if (rc == 0)
		rc = add(m, text->data + first, end - first);
	return rc < 0 ? rc : add(m, text->data + first, own - first);
}

static int
add_base64(struct mask *m, const char *secret, size_t n, size_t skip, struct ats_buf *tmp)
{
	struct ats_buf raw ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&raw, FORM_BYTES);
	rc = ats_buf_add(&raw, "xx", skip);
	if (rc == 0)
		rc = ats_buf_add(&raw, secret, n);
	if (rc == 0)
		rc = ats_base64_encode(raw.data, raw.len, tmp);
	if (rc == 0)
		rc = add_digits(m, tmp, skip, n);
	for (size_t i = 0; rc == 0 && i < tmp->len; i++)
		tmp->data[i] = tmp->data[i] == '+' ? '-' : tmp->data[i] == '/' ? '_' : tmp->data[i];
	ats_secret_wipe(raw.data, raw.len);
	return rc < 0 ? rc : add_digits(m, tmp, skip, n);
}

static int
add_percent(struct mask *m, const char *secret, size_t n, unsigned how, struct ats_buf *tmp)
{
	int rc = encode_percent(tmp, secret, n, how);

	return rc < 0 ? rc : add(m, tmp->data, tmp->len);
}

static int
add_escaped(struct mask *m, const char *secret, size_t n, bool slashes, struct ats_buf *tmp)
{
	int rc = 0;

	for (size_t from = 0, i = 0; rc == 0 && i <= n; i++) {
		if (i < n && !(slashes && secret[i] == '/'))
			continue;
		rc = ats_json_escape(tmp, secret + from, i - from);
		if (rc == 0 && i < n)
			rc = ats_buf_add_str(tmp, "\\/");
		from = i + 1;
	}
	return rc < 0 ? rc : add(m, tmp->data, tmp->len);
}

static int
add_hex(struct mask *m, const char *secret, size_t n, struct ats_buf *tmp)
{
	char *to;
	int rc = ats_buf_reserve(tmp, 2 * n + 1, &to);

	if (rc < 0)
		return rc;
	ats_hex(secret, n, to);
	ats_buf_commit(tmp, 2 * n);
	rc = add(m, tmp->data, tmp->len);
	for (size_t i = 0; i < tmp->len; i++)
		if (tmp->data[i] >= 'a')
			tmp->data[i] = (char)(tmp->data[i] - 'a' + 'A');
	return rc < 0 ? rc : add(m, tmp->data, tmp->len);
}

static int
add_form(struct mask *m, const char *secret, size_t n, unsigned which)
{
	struct ats_buf tmp ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&tmp, FORM_BYTES);
	if (which < 3)
		rc = add_base64(m, secret, n, which, &tmp);
	else if (which == 3)
		rc = add_hex(m, secret, n, &tmp);
	else if (which < 6)
		rc = add_escaped(m, secret, n, which == 5, &tmp);
	else
		rc = add_percent(m, secret, n, which == 6 ? 0 : which == 7 ? ENCODE_LOWER :
		    which == 8 ? ENCODE_FORM : ENCODE_FORM | ENCODE_LOWER, &tmp);
	ats_secret_wipe(tmp.data, tmp.len);
	return rc;
}

struct mask *
mask_new(const char *secret, size_t n)
{
	struct mask *m = calloc(1, sizeof(*m));
	int rc;

	if (m == NULL)
		return NULL;
	if (n < MASK_LEAST)
		return m;
	rc = add(m, secret, n);
	for (unsigned which = 0; rc == 0 && which < 10; which++)
		rc = add_form(m, secret, n, which);
	if (rc < 0) {
		mask_free(m);
		return NULL;
	}
	return m;
}

int
mask_renew(struct mask *m, const char *secret, size_t n)
{
	struct mask *more = mask_new(secret, n);
	size_t kept = m->n - m->now;

	if (more == NULL)
		return -ATS_E_NOMEM;
	for (size_t i = 0; i < m->now; i++)
		wipe(&m->v[i]);
	memmove(m->v, m->v + m->now, kept * sizeof(m->v[0]));
	memcpy(m->v + kept, more->v, more->n * sizeof(m->v[0]));
	m->now = kept;
	m->n = kept + more->n;
	free(more);
	return 0;
}

size_t
mask_longest(const struct mask *m)
{
	size_t most = 0;

	for (size_t i = 0; m != NULL && i < m->n; i++)
		if (m->v[i].n > most)
			most = m->v[i].n;
	return most;
}

/* Of those that begin first, the longest. */
static const struct form *
next_form(const struct mask *m, const char *from, const char *end, const char **next,
    const char **ret_at)
{
	const struct form *best = NULL;

	*ret_at = end;
	for (size_t i = 0; i < m->n; i++) {
		const struct form *f = &m->v[i];

		if (next[i] != NULL && next[i] < from)
			next[i] = memmem(from, (size_t)(end - from), f->p, f->n);
		if (next[i] == NULL || next[i] > *ret_at ||
		    (best != NULL && next[i] == *ret_at && f->n <= best->n))
			continue;
		best = f;
		*ret_at = next[i];
	}
	return best;
}

int
mask_apply(const struct mask *m, const char *s, size_t n, struct ats_buf *out)
{
	const char *next[2 * FORMS_MAX], *at, *end = s + n;
	const struct form *f;
	int rc = 0;

	if (m == NULL || n == 0)
		return ats_buf_add(out, s, n);
	for (size_t i = 0; i < m->n; i++)
		next[i] = memmem(s, n, m->v[i].p, m->v[i].n);
	while (rc == 0 && (f = next_form(m, s, end, next, &at)) != NULL) {
		rc = ats_buf_add(out, s, (size_t)(at - s));
		if (rc == 0)
			rc = ats_buf_add_str(out, MASK_TEXT);
		s = at + f->n;
	}
	return rc < 0 ? rc : ats_buf_add(out, s, (size_t)(end - s));
}

int
mask_cut(const struct mask *m, const char *s, size_t n, size_t max, struct ats_buf *out)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	size_t longest = mask_longest(m), look = max + longest, keep;
	int rc;

	/* More than is shown is looked at: a form may begin before the cut and end behind it. */
	ats_buf_init(&text, look + 1);
	rc = mask_apply(m, s, n < look ? n : look, &text);
	if (rc < 0)
		return rc;
	keep = text.len;
	if (n > look)			/* the last bytes may be the first ones of a form */
		keep = keep > longest ? keep - longest : 0;
	keep = keep < max ? keep : max;
	if (keep < text.len)
		keep -= ats_utf8_cut_tail(text.data, keep);
	return ats_buf_add(out, text.data, keep);
}

int
mask_tail(const struct mask *m, const char *s, size_t n, size_t max, struct ats_buf *out)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	size_t longest = mask_longest(m), from;
	int rc;

	ats_buf_init(&text, n + 1);
	rc = mask_apply(m, s, n, &text);
	if (rc < 0)
		return rc;
	from = text.len < longest ? text.len : longest;
	if (text.len - from > max)
		from = text.len - max;
	return ats_buf_add(out, text.data + from, text.len - from);
}

const char *
mask_quote(const struct mask *m, char *out, size_t size, const char *s, size_t n)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&text, LOG_MAX + 1);
	if (mask_cut(m, s, n, LOG_MAX, &text) < 0)
		return ats_log_quote(out, size, "?", 1);
	return ats_log_quote(out, size < LOG_MAX ? size : LOG_MAX, text.data, text.len);
}
