/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker that was lost may have done its edits. Nothing of it is left but the file, so
 * they are taken back in memory, last one first, place by place and with each style of line
 * ends, until the hash is the one that the session saw. Runs in workers of the write profile;
 * the work and the depth are bounded by the bytes that are copied and hashed. */
#include "hands/tools/edit_retry.h"

#include "common/fault.h"

#include <stdlib.h>
#include <string.h>

#define BUDGET (256u << 20)	/* bytes that are copied or hashed; a fraction of a second */

struct undo {
	const struct change *c;
	const struct edit_step *steps;
	size_t budget;
};

static bool take_back(struct undo *u, struct ats_slice text, size_t n);

/* Pays for n more bytes of work; false: there is no more to spend. */
static bool
pay(struct undo *u, size_t n)
{
	if (n > u->budget) {
		u->budget = 0;
		return false;
	}
	u->budget -= n;
	return true;
}

static bool
is_seen(struct undo *u, struct ats_slice text)
{
	char sha[ATS_SHA256_HEX];

	if (text.n != u->c->seen->size || !pay(u, text.n))	/* no need to hash */
		return false;
	ats_sha256_hex(text.p, text.n, sha);
	return strcmp(sha, u->c->seen->sha256) == 0;
}

/* step->with at this place was step->old; n steps before it are still to be taken back. */
static bool
undo_one(struct undo *u, struct ats_slice text, const struct edit_step *step, size_t at,
    size_t n)
{
	size_t rest = at + step->with.n, len = text.n - step->with.n + step->old.n;
	char *work;
	bool found;

	if ((n == 0 && len != u->c->seen->size) || !pay(u, len + 1))
		return false;
	work = ats_malloc(len + 1);
	if (work == NULL)
		return false;
	memcpy(work, text.p, at);
	memcpy(work + at, step->old.p, step->old.n);
	memcpy(work + at + step->old.n, text.p + rest, text.n - rest);
	found = take_back(u, (struct ats_slice){ work, len }, n);
	free(work);
	return found;
}

static bool
undo_each(struct undo *u, struct ats_slice text, const struct edit_step *step, size_t n)
{
	if (n == 0 && text.n + step->old.n != u->c->seen->size + step->with.n)
		return false;		/* no place can give the size that was seen */
	for (size_t at = 0; at + step->with.n <= text.n && u->budget > 0; at++) {
		const char *hit = memmem(
		    text.p + at, text.n - at, step->with.p, step->with.n);

		if (hit == NULL)
			return false;
		at = (size_t)(hit - text.p);
		if (undo_one(u, text, step, at, n))
			return true;
	}
	return false;
}

static bool
undo_all(struct undo *u, struct ats_slice text, const struct edit_step *step, size_t n)
{
	struct ats_buf work ATS_CLEANUP_BUF = { 0 };
	size_t at = 0;

	ats_buf_init(&work, 4u * CHANGE_FILE_MAX);
	if (step->with.n == 0)
		return false;
	for (;;) {
		const char *hit = memmem(
		    text.p + at, text.n - at, step->with.p, step->with.n);
		size_t k = hit != NULL ? (size_t)(hit - text.p) - at : text.n - at;

		if (!pay(u, k + step->old.n) || ats_buf_add(&work, text.p + at, k) < 0)
			return false;
		if (hit == NULL)
			return take_back(u, (struct ats_slice){ work.data, work.len }, n);
		if (ats_buf_add(&work, step->old.p, step->old.n) < 0)
			return false;
		at += k + step->with.n;
	}
}

/* A copy with every line end as CRLF, or as LF. Owned, or NULL. */
static char *
with_line_ends(struct ats_slice s, bool crlf, struct ats_slice *ret)
{
	char *p = ats_malloc(2 * s.n + 1);
	size_t len = 0;

	for (size_t i = 0; p != NULL && i < s.n; i++) {
		if (s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n')
			continue;
		if (s.p[i] == '\n' && crlf)
			p[len++] = '\r';
		p[len++] = s.p[i];
	}
	*ret = (struct ats_slice){ p, len };
	return p;
}

static bool
try_step(struct undo *u, struct ats_slice text, const struct edit_step *step, size_t n)
{
	return step->all ? undo_all(u, text, step, n) : undo_each(u, text, step, n);
}

static bool
is_same(struct ats_slice a, struct ats_slice b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* Takes back the last of n steps in each way that is possible, and then those before it. */
static bool
take_back(struct undo *u, struct ats_slice text, size_t n)
{
	const struct edit_step *step;
	struct edit_step other;
	bool found;

	if (n == 0)
		return is_seen(u, text);
	step = &u->steps[--n];
	found = try_step(u, text, step, n);
	for (int crlf = 0; !found && crlf < 2 && u->budget > 0; crlf++) {
		char *po = with_line_ends(step->old, crlf == 1, &other.old);
		char *pw = with_line_ends(step->with, crlf == 1, &other.with);

		other.all = step->all;
		if (po != NULL && pw != NULL &&
		    !(is_same(other.old, step->old) && is_same(other.with, step->with)))
			found = try_step(u, text, &other, n);
		free(po);
		free(pw);
	}
	return found;
}

static bool
was_applied(const struct change *c, const struct edit_step *steps, size_t n)
{
	struct undo u = { .c = c, .steps = steps, .budget = BUDGET };

	return c->seen->sha256[0] != '\0' && c->seen->size <= CHANGE_FILE_MAX &&
	       take_back(&u, (struct ats_slice){ c->old, c->old_n }, n);
}

int
edit_retry(const struct change *c, const struct edit_step *steps, size_t n,
    struct tool_result *out, struct ats_err *err)
{
	const char *what = n == 1 ? "edit" : "edits";
	int rc;

	if (c->env->attempt == 0 || c->seen == NULL || change_is_as_seen(c))
		return 0;
	if (!was_applied(c, steps, n))
		return ats_err_set(err, ATS_E_CHANGED,
		    "%.300s has changed since it was read, and it is unknown whether "
		    "%s %s applied. Read it again.",
		    c->pl.path, n == 1 ? "this edit" : "these edits", n == 1 ? "was" : "were");
	rc = ats_buf_addf(&out->text, "Edited %s: the first try had applied the %s already.",
	    c->pl.path, what);
	if (rc == 0)
		rc = change_saw_old(c, out);
	return rc == 0 ? 1 : ats_err_set(err, -rc, "Not enough memory.");
}
