/* SPDX-License-Identifier: Apache-2.0
 *
 * ctx to and from an agent runtime. Runs in the engine; what comes is a client's, of the uid
 * that owns the session. */
#include "brain/engine/ctx_host.h"

#include <string.h>

#include "brain/engine/ctx.h"
#include "brain/engine/sessions.h"
#include "common/path.h"

#define SIZE_SANE (UINT64_C(1) << 60)
#define TIME_SANE (UINT64_C(1) << 63)

static bool
path_sane(const char *path)
{
	char normal[ATS_PATH_MAX];

	return path[0] == '/' && ats_path_join("/", path, normal, sizeof(normal)) == 0 &&
	    strcmp(normal, path) == 0;
}

static bool
hash_sane(const char *hex)
{
	return hex[0] == '\0' ||
	    (strlen(hex) == 64 && strspn(hex, "0123456789abcdef") == 64);
}

static int
check_read(const struct ats_CTX_READ *r, struct ats_err *err)
{
	if (!path_sane(r->path))
		return ats_err_set(err, ATS_E_FIELD, "ctx.reads: path: not a normal path");
	if (r->size >= SIZE_SANE || r->mtime_ns >= TIME_SANE || !hash_sane(r->sha256))
		return ats_err_set(err, ATS_E_FIELD, "ctx.reads: impossible numbers");
	return 0;
}

/* With s == NULL nothing is taken. */
static int
each_read(struct session *s, struct ats_slice reads, struct ats_buf *arena, struct ats_err *err)
{
	struct ats_json_val v = ats_json_value(reads);
	struct ats_json_iter it;
	struct ats_CTX_READ r;
	struct ats_slice key;
	unsigned n = 0;
	int rc;

	if (v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "ctx.reads: expected an array");
	ats_json_iter_init(&it, reads);
	while (ats_json_next(&it, &key, &v)) {
		if (++n > CTX_HOST_READS_MAX)
			return ats_err_set(err, ATS_E_FIELD, "ctx.reads: more than %u",
			    CTX_HOST_READS_MAX);
		rc = ats_msg_decode(&ats_shape_CTX_READ, v.raw.p, v.raw.n, ATS_DECODE_SCANNED,
		    &r, arena, err);
		if (rc == 0)
			rc = check_read(&r, err);
		if (rc < 0)
			return ats_err_set(err, ATS_E_FIELD, "%s", err == NULL ? "" : err->text);
		if (s != NULL &&
		    session_read_put(s, r.path, r.size, r.mtime_ns, r.sha256, true) < 0)
			return ats_err_set(err, ATS_E_NOMEM, "ctx.reads");
	}
	return 0;
}

static int
check(const struct session *s, const struct ats_CTX_IN *in, struct ats_err *err)
{
	if (in->n_env > 0)
		return ats_err_set(err, ATS_E_FIELD, "ctx.env: not a client's to set");
	if (!ats_ctx_cwd_allowed(s->workspace, in->cwd))
		return ats_err_set(err, ATS_E_FIELD,
		    "ctx.cwd: not a directory of the session's workspace");
	return 0;
}

int
ctx_host_take(struct session *s, struct ats_slice ctx, struct ats_err *err)
{
	struct ats_buf arena ATS_CLEANUP_BUF = { 0 }, one ATS_CLEANUP_BUF = { 0 };
	struct ats_CTX_IN in;
	int rc;

	ats_buf_init(&arena, 256u << 10);
	ats_buf_init(&one, 64u << 10);
	rc = ats_msg_decode(&ats_shape_CTX_IN, ctx.p, ctx.n, ATS_DECODE_SCANNED, &in, &arena,
	    err);
	if (rc < 0)
		return rc == -ATS_E_NOMEM ? rc : ats_err_set(err, ATS_E_FIELD, "ctx: %s",
		    err == NULL ? "" : err->text);
	rc = check(s, &in, err);
	if (rc == 0 && in.reads.p != NULL)
		rc = each_read(NULL, in.reads, &one, err);
	if (rc == 0 && in.reads.p != NULL)
		rc = each_read(s, in.reads, &one, err);
	if (rc == 0 && strcmp(in.cwd, s->cwd) != 0)
		session_cwd_set(s, in.cwd);
	return rc;
}

int
ctx_host_write(const struct session *s, const struct ats_tool_row *tool, const char *path,
    struct ats_buf *out)
{
	const struct session_read *r = path[0] == '\0' ? NULL : session_read_find(s, path);
	bool shells = tool->profile == ATS_PROFILE_SHELL || tool->profile == ATS_PROFILE_FRONT;
	size_t mark = out->len;
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "cwd", s->cwd);
	if (r != NULL) {
		ats_json_w_array(&w, "reads");
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "path", r->path);
		ats_json_w_u64(&w, "size", r->size);
		ats_json_w_u64(&w, "mtime_ns", r->mtime_ns);
		ats_json_w_str(&w, "sha256", r->sha256);
		ats_json_w_end(&w);
		ats_json_w_end(&w);
	}
	if (shells) {
		ats_json_w_array(&w, "shells");
		for (size_t i = 0; i < s->nshells; i++)
			ats_json_w_str(&w, NULL, s->shells[i]);
		ats_json_w_end(&w);
	}
	ats_json_w_end(&w);
	if (w.rc < 0)
		ats_buf_truncate(out, mark);
	return w.rc;
}
