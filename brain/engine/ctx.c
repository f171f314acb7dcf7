/* SPDX-License-Identifier: Apache-2.0
 *
 * ctxIn and ctxDelta. Runs in the engine; a delta is written by a sandbox that may lie, so
 * each of its members is either this call's to say and sane, or dropped. */
#include "brain/engine/ctx.h"

#include <stdio.h>
#include <string.h>

#include "brain/engine/sessions.h"
#include "common/path.h"

#define SIZE_SANE (UINT64_C(1) << 60)
#define TIME_SANE (UINT64_C(1) << 63)

static bool
names_files(const struct ats_tool_row *tool)
{
	return tool->profile == ATS_PROFILE_READ || tool->profile == ATS_PROFILE_WRITE;
}

int
ctx_in_write(struct session *s, const char *cwd, const char *path, const char *term,
    struct ats_buf *out)
{
	const struct session_read *known;
	struct ats_json_w w;
	char entry[80];

	known = path[0] == '\0' ? NULL : session_read_find(s, path);
	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "cwd", cwd == NULL ? s->cwd : cwd);
	if (known != NULL) {
		ats_json_w_array(&w, "reads");
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "path", known->path);
		ats_json_w_u64(&w, "size", known->size);
		ats_json_w_u64(&w, "mtime_ns", known->mtime_ns);
		ats_json_w_str(&w, "sha256", known->sha256);
		ats_json_w_end(&w);
		ats_json_w_end(&w);
	}
	if (term[0] != '\0') {
		(void)snprintf(entry, sizeof(entry), "TERM=%s", term);
		ats_json_w_array(&w, "env");
		ats_json_w_str(&w, NULL, entry);
		ats_json_w_end(&w);
	}
	ats_json_w_end(&w);
	return w.rc;
}

static bool
shell_id_sane(const char *id)
{
	return id[0] != '\0' &&
	    strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(id);
}

static bool
hash_sane(const char *hex)
{
	return hex[0] == '\0' ||
	    (strlen(hex) == 64 && strspn(hex, "0123456789abcdef") == 64);
}

static int
apply_read(struct session *s, const char *path, const struct ats_json_val *v,
    struct ats_buf *arena, const char **ret_dropped, struct ats_err *err)
{
	struct ats_CTX_READ r;
	int rc;

	rc = ats_msg_decode(&ats_shape_CTX_READ, v->raw.p, v->raw.n, ATS_DECODE_SCANNED, &r,
	    arena, err);
	if (rc < 0)
		return rc;
	if (path[0] == '\0' || strcmp(r.path, path) != 0)
		*ret_dropped = "read-state of a path that the input did not name";
	else if (r.size >= SIZE_SANE || r.mtime_ns >= TIME_SANE || !hash_sane(r.sha256))
		*ret_dropped = "read-state with impossible numbers";
	else if (session_read_put(s, path, r.size, r.mtime_ns, r.sha256, true) < 0)
		*ret_dropped = "read-state: no memory";
	return 0;
}

static int
apply_reads(struct session *s, const struct ats_tool_row *tool, const char *path,
    struct ats_slice reads, struct ats_buf *arena, const char **ret_dropped,
    struct ats_err *err)
{
	struct ats_json_val v = ats_json_value(reads);
	struct ats_json_iter it;
	struct ats_slice key;
	unsigned n = 0;
	int rc;

	if (v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "ctx_delta.reads: expected an array");
	ats_json_iter_init(&it, reads);
	while (ats_json_next(&it, &key, &v)) {
		if (!names_files(tool) || ++n > 8) {
			*ret_dropped = "read-state that this tool cannot have";
			return 0;
		}
		rc = apply_read(s, path, &v, arena, ret_dropped, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
ctx_delta_apply(struct session *s, const struct ats_tool_row *tool, const char *path,
    struct ats_slice delta, struct ats_buf *arena, const char **ret_dropped,
    struct ats_err *err)
{
	struct ats_CTX_DELTA d;
	bool shell = tool->profile == ATS_PROFILE_SHELL;
	int rc;

	*ret_dropped = NULL;
	rc = ats_msg_decode(&ats_shape_CTX_DELTA, delta.p, delta.n, ATS_DECODE_SCANNED, &d,
	    arena, err);
	if (rc < 0)
		return rc;
	if (d.cwd != NULL && strcmp(d.cwd, s->cwd) != 0) {
		if (shell && ats_ctx_cwd_allowed(s->workspace, d.cwd))
			session_cwd_set(s, d.cwd);
		else
			*ret_dropped = "a cwd that is out of the roots or not this tool's to set";
	}
	if (d.shell_started != NULL &&
	    (!shell || !shell_id_sane(d.shell_started) ||
	        session_shell_add(s, d.shell_started) < 0))
		*ret_dropped = "a background shell that cannot be";
	if (d.shell_ended != NULL)
		session_shell_del(s, d.shell_ended);
	if (d.reads.p == NULL)
		return 0;
	/* The strings of d are not used after this: the arena is free again. */
	return apply_reads(s, tool, path, d.reads, arena, ret_dropped, err);
}
