/* SPDX-License-Identifier: Apache-2.0
 *
 * What a runtime knows, and what of it travels: cwd, the files it has read, background shells.
 * Process: an agent runtime. Inputs are a model's; a delta is brain's, and what it says a sandbox
 * may have said first: all of it is checked before any of it is taken. */
#include <stdlib.h>
#include <string.h>

#include "brain/client/ctx.h"
#include "brain/client/client.h"
#include "proto/ctx.h"

#define SIZE_SANE (UINT64_C(1) << 60)
#define TIME_SANE (UINT64_C(1) << 63)
#define READS_A_DELTA 8u
#define SHELL_ID_MAX 32u

/* ---- life ---------------------------------------------------------------------------- */

static bool
is_normal(const char *path)
{
	char normal[ATS_PATH_MAX];

	return path != NULL && path[0] == '/' &&
	    ats_path_join("/", path, normal, sizeof(normal)) == 0 && strcmp(normal, path) == 0;
}

int
ats_ctx_new(const char *workspace, const char *plan_dir, struct ats_ctx **ret)
{
	struct ats_ctx *c;
	int rc;

	if (workspace == NULL || workspace[0] != '/')
		return ATS_ERR_ARG;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return ATS_ERR_MEMORY;
	plan_resolve(workspace, c->workspace);
	rc = c->workspace[0] == '\0' ? ATS_ERR_ARG : plan_set(&c->plan, plan_dir, c->workspace);
	if (rc < 0) {
		free(c);
		return rc;
	}
	memcpy(c->cwd, c->workspace, sizeof(c->cwd));
	*ret = c;
	return 0;
}

void
ats_ctx_free(struct ats_ctx *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->nreads; i++)
		free(c->reads[i]);
	free(c);
}

/* ---- what it knows --------------------------------------------------------------------- */

const char *
ats_ctx_cwd(const struct ats_ctx *c)
{
	return c->cwd;
}

int
ats_ctx_set_cwd(struct ats_ctx *c, const char *cwd)
{
	if (cwd == NULL || strlen(cwd) >= sizeof(c->cwd) ||
	    !ats_ctx_cwd_allowed(c->workspace, cwd) || plan_holds(&c->plan, cwd))
		return ATS_ERR_ARG;
	memmove(c->cwd, cwd, strlen(cwd) + 1);
	return 0;
}

static size_t
find_read(const struct ats_ctx *c, const char *path)
{
	size_t i = c->nreads;

	while (i > 0 && strcmp(c->reads[i - 1]->path, path) != 0)
		i--;
	return i > 0 ? i - 1 : c->nreads;
}

static bool
is_sane(const struct ats_read *r)
{
	size_t n = strlen(r->sha256);

	return is_normal(r->path) && r->size < SIZE_SANE && r->mtime_ns < TIME_SANE &&
	    (n == 0 || (n == 64 && strspn(r->sha256, "0123456789abcdef") == 64));
}

static struct ctx_read *
make_read(const struct ats_read *r)
{
	size_t n = strlen(r->path) + 1;
	struct ctx_read *e = malloc(sizeof(*e) + n);

	if (e == NULL)
		return NULL;
	*e = (struct ctx_read){ .size = r->size, .mtime_ns = r->mtime_ns };
	memcpy(e->sha256, r->sha256, strlen(r->sha256) + 1);
	memcpy(e->path, r->path, n);
	return e;
}

/* The newest stands last; at the limit the oldest goes. */
static void
put_read(struct ats_ctx *c, struct ctx_read *e)
{
	size_t at = find_read(c, e->path);

	if (at == c->nreads && c->nreads == CLIENT_reads)
		at = 0;
	if (at < c->nreads) {
		free(c->reads[at]);
		c->nreads--;
		memmove(c->reads + at, c->reads + at + 1, (c->nreads - at) * sizeof(*c->reads));
	}
	c->reads[c->nreads++] = e;
}

int
ats_ctx_set_read(struct ats_ctx *c, const struct ats_read *r)
{
	struct ctx_read *e;

	if (r == NULL || r->path == NULL || r->sha256 == NULL || !is_sane(r))
		return ATS_ERR_ARG;
	if (plan_holds(&c->plan, r->path))
		return ATS_ERR_PLAN;
	e = make_read(r);
	if (e == NULL)
		return ATS_ERR_MEMORY;
	put_read(c, e);
	return 0;
}

int
ats_ctx_get_read(const struct ats_ctx *c, const char *path, struct ats_read *ret)
{
	size_t at = path == NULL ? c->nreads : find_read(c, path);

	if (at == c->nreads)
		return ATS_ERR_ARG;
	*ret = (struct ats_read){ .path = c->reads[at]->path, .size = c->reads[at]->size,
		.mtime_ns = c->reads[at]->mtime_ns, .sha256 = c->reads[at]->sha256 };
	return 0;
}

const char *const *
ats_ctx_shells(const struct ats_ctx *c)
{
	static const char *const none[] = { NULL };

	return c->shell_ids[0] == NULL ? none : c->shell_ids;
}

/* ---- 1: what goes with a call ------------------------------------------------------------ */

/* The tool's row, when input is an object. */
static const struct ats_tool_row *
row_of(const char *tool, const char *input, size_t n)
{
	struct ats_slice text = { input, n };

	if (tool == NULL || input == NULL || ats_json_scan(input, n, NULL) < 0 ||
	    ats_json_type(text) != ATS_JSON_OBJECT)
		return NULL;
	return ats_tool_find(tool);
}

/* The file parameter as the model wrote it; false: there is none, or it is no path. */
static bool
raw_path(const struct ats_tool_row *row, struct ats_slice args, struct ats_buf *out)
{
	struct ats_json_val v;

	for (size_t i = 0; i < row->input.nfields; i++)
		if (row->input.fields[i].role == ATS_ROLE_FILE &&
		    ats_json_get(args, row->input.fields[i].name, &v))
			return ats_json_to_str(&v, out) == 0 && out->len > 0;
	return false;
}

static bool
names_plan(const struct ats_ctx *c, const struct ats_tool_row *row, struct ats_slice args,
    const char *path)
{
	struct ats_buf raw ATS_CLEANUP_BUF = { 0 };

	if (path[0] != '\0' && plan_holds(&c->plan, path))
		return true;
	ats_buf_init(&raw, ATS_PATH_MAX);
	return raw_path(row, args, &raw) && plan_is_meant(&c->plan, c->cwd, raw.data);
}

int
ats_ctx_is_plan(const struct ats_ctx *c, const char *tool, const char *input, size_t n)
{
	const struct ats_tool_row *row = row_of(tool, input, n);
	struct ats_ctx_named named;

	if (row == NULL)
		return 0;
	ats_ctx_name(row, c->cwd, (struct ats_slice){ input, n }, &named);
	return names_plan(c, row, (struct ats_slice){ input, n }, named.path);
}

int
ats_ctx_in(const struct ats_ctx *c, const char *tool, const char *input, size_t n, char **ret)
{
	const struct ats_tool_row *row = row_of(tool, input, n);
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_ctx_named named;
	struct ats_json_w w;
	size_t at, len;

	if (row == NULL)
		return ATS_ERR_ARG;
	ats_ctx_name(row, c->cwd, (struct ats_slice){ input, n }, &named);
	if (names_plan(c, row, (struct ats_slice){ input, n }, named.path))
		return ATS_ERR_PLAN;
	ats_buf_init(&out, 16u * ATS_PATH_MAX);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "cwd", c->cwd);
	at = find_read(c, named.path);
	if (at < c->nreads) {
		ats_json_w_array(&w, "reads");
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "path", c->reads[at]->path);
		ats_json_w_u64(&w, "size", c->reads[at]->size);
		ats_json_w_u64(&w, "mtime_ns", c->reads[at]->mtime_ns);
		ats_json_w_str(&w, "sha256", c->reads[at]->sha256);
		ats_json_w_end(&w);
		ats_json_w_end(&w);
	}
	ats_json_w_end(&w);
	*ret = w.rc < 0 ? NULL : ats_buf_steal(&out, &len);
	return *ret != NULL ? 0 : ATS_ERR_MEMORY;
}

/* ---- 2: what comes back -------------------------------------------------------------------- */

/* Whether path can be the file that the input named, wherever the session stood then. */
static bool
is_named(const struct ats_tool_row *row, struct ats_slice args, const char *cwd, const char *path)
{
	struct ats_buf raw ATS_CLEANUP_BUF = { 0 };
	struct ats_ctx_named named;
	char tail[ATS_PATH_MAX];
	size_t n = strlen(path), k;

	ats_ctx_name(row, cwd, args, &named);
	if (strcmp(named.path, path) == 0)
		return true;
	ats_buf_init(&raw, ATS_PATH_MAX);
	if (!raw_path(row, args, &raw) || raw.data[0] == '/' || raw.data[0] == '~' ||
	    ats_path_join("/", raw.data, tail, sizeof(tail)) < 0)
		return false;
	k = strlen(tail);
	return k > 1 && k <= n && strcmp(path + n - k, tail) == 0;
}

struct taken {			/* owned: what was good so far */
	struct ctx_read *reads[READS_A_DELTA];
	size_t nreads;
};

static int
check_reads(const struct ats_ctx *c, const struct ats_tool_row *row, struct ats_slice args,
    struct ats_slice reads, struct taken *t)
{
	struct ats_buf arena ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v = ats_json_value(reads);
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_CTX_READ in;
	struct ats_read r;

	if (v.type != ATS_JSON_ARRAY)
		return ATS_ERR_REFUSED;
	ats_buf_init(&arena, 4 * ATS_PATH_MAX);
	ats_json_iter_init(&it, reads);
	while (ats_json_next(&it, &key, &v)) {
		if (t->nreads == READS_A_DELTA ||
		    ats_msg_decode(&ats_shape_CTX_READ, v.raw.p, v.raw.n, ATS_DECODE_SCANNED, &in,
		        &arena, NULL) < 0)
			return ATS_ERR_REFUSED;
		r = (struct ats_read){ .path = in.path, .size = in.size, .mtime_ns = in.mtime_ns,
			.sha256 = in.sha256 };
		if (!is_sane(&r) || !is_named(row, args, c->cwd, r.path) ||
		    plan_holds(&c->plan, r.path))
			return ATS_ERR_REFUSED;
		t->reads[t->nreads] = make_read(&r);
		if (t->reads[t->nreads++] == NULL)
			return ATS_ERR_MEMORY;
	}
	return 0;
}

static bool
shells_are_sane(const struct ats_CTX_HOST *d)
{
	size_t n;

	if (d->n_shells > CLIENT_shells)
		return false;
	for (size_t i = 0; i < d->n_shells; i++) {
		n = strlen(d->shells[i]);
		if (n == 0 || n > SHELL_ID_MAX ||
		    strspn(d->shells[i], "abcdefghijklmnopqrstuvwxyz0123456789_-") != n)
			return false;
	}
	return true;
}

static void
take_shells(struct ats_ctx *c, const struct ats_CTX_HOST *d)
{
	size_t i;

	for (i = 0; i < d->n_shells; i++) {
		memcpy(c->shells[i], d->shells[i], strlen(d->shells[i]) + 1);
		c->shell_ids[i] = c->shells[i];
	}
	c->shell_ids[i] = NULL;
}

static int
apply(struct ats_ctx *c, const struct ats_tool_row *row, struct ats_slice args,
    const struct ats_CTX_HOST *d, bool shells)
{
	struct taken t = { .nreads = 0 };
	int rc = 0;

	if (!ats_ctx_cwd_allowed(c->workspace, d->cwd) || plan_holds(&c->plan, d->cwd) ||
	    !shells_are_sane(d))
		return ATS_ERR_REFUSED;
	if (d->reads.p != NULL)
		rc = check_reads(c, row, args, d->reads, &t);
	for (size_t i = 0; i < t.nreads; i++) {
		if (rc == 0)
			put_read(c, t.reads[i]);
		else
			free(t.reads[i]);
	}
	if (rc < 0)
		return rc;
	memcpy(c->cwd, d->cwd, strlen(d->cwd) + 1);
	if (shells)
		take_shells(c, d);
	return 0;
}

int
ats_ctx_apply(struct ats_ctx *c, const char *tool, const char *input, size_t n,
    const char *delta, size_t delta_len)
{
	const struct ats_tool_row *row = row_of(tool, input, n);
	struct ats_buf arena ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v;
	struct ats_CTX_HOST d;

	if (row == NULL || delta == NULL)
		return ATS_ERR_ARG;
	ats_buf_init(&arena, 64u << 10);
	if (ats_msg_decode(&ats_shape_CTX_HOST, delta, delta_len, 0, &d, &arena, NULL) < 0)
		return ATS_ERR_REFUSED;
	return apply(c, row, (struct ats_slice){ input, n }, &d,
	    ats_json_get((struct ats_slice){ delta, delta_len }, "shells", &v));
}
