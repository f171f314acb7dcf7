/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that go with a call. Runs in the vault. The engine sends the bytes, and may be compromised:
 * it chooses them, but a person sees their SHA-256, and it is the copy that was hashed here that
 * its gateway gets. Nothing here looks at what is in them. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/args.h"
#include "brain/vault/decide.h"
#include "brain/vault/vault.h"
#include "common/fd.h"
#include "common/json.h"
#include "proto/gateway_config.h"

#define PATH_LENGTH 4096u

void
ask_files_done(struct vault *v, struct ask *a)
{
	v->decide->nfiles -= a->nfiles;
	v->decide->files_bytes -= a->files_bytes;
	while (a->nfiles > 0)
		ats_fd_close(&a->files[--a->nfiles]);
	a->files_bytes = 0;
}

/* The value that was path becomes what is known of its file. The keys are in canonical order. */
static int
put(struct ask *a, struct ats_slice path, const char *sha256, uint64_t size)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	const char *rest = path.p + path.n, *end = a->args.data + a->args.len;
	struct ats_buf old;
	int rc;

	ats_buf_init(&out, ATS_GATEWAY_ARGS_MAX);
	rc = ats_buf_add(&out, a->args.data, (size_t)(path.p - a->args.data));
	if (rc == 0)
		rc = ats_buf_addf(&out, "{\"path\":%.*s,\"sha256\":\"%s\",\"size\":%" PRIu64 "}",
		    (int)path.n, path.p, sha256, size);
	if (rc == 0)
		rc = ats_buf_add(&out, rest, (size_t)(end - rest));
	if (rc < 0)
		return rc;
	old = a->args;
	a->args = out;
	out = old;
	return 0;
}

/* A quarter of all may be one session's, as of its calls. */
static bool
has_share(const struct vault *v, const struct ask *a, uint64_t most)
{
	const struct ask *o;
	uint64_t bytes = most;
	size_t n = 1;

	TAILQ_FOREACH(o, &v->decide->asks, link) {
		if (strcmp(o->session, a->session) != 0)
			continue;
		bytes += o->files_bytes;
		n += o->nfiles;
	}
	return n <= ASKS_FILES / 4 && bytes <= ASKS_FILES_BYTES / 4;
}

static int
take_one(struct vault *v, struct ask *a, const char *name, struct ats_slice path, int fd,
    struct ats_err *err)
{
	uint64_t size = 0, most = v->conf->max_file_bytes - a->files_bytes;
	struct decide *d = v->decide;
	char sha256[ATS_SHA256_HEX];
	int own = -1, rc;

	rc = vault_copy_file(fd, most, &own, &size, sha256);
	if (rc == 0 && (d->nfiles >= ASKS_FILES || size > ASKS_FILES_BYTES - d->files_bytes ||
	    !has_share(v, a, size))) {
		(void)close(own);
		return ats_err_set(err, ATS_E_FULL, "The calls under way have too many files, or "
		    "too large ones, together. Nothing was run; wait for some of them, then call "
		    "again.");
	}
	if (rc == 0) {
		a->files[a->nfiles++] = own;
		a->files_bytes += size;
		d->nfiles++;
		d->files_bytes += size;
		rc = put(a, path, sha256, size);
	}
	return rc == 0 ? 0 : ats_err_set(err, -rc, "The file of its argument \"%.100s\" cannot be "
	    "taken: %s. Nothing was run.", name, ats_err_text(rc));
}

int
ask_files_take(struct vault *v, struct ask *a, const struct ats_gw_tool *said, const int *fds,
    size_t n, struct ats_err *err)
{
	size_t came = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && said != NULL && i < said->files.n; i++) {
		const char *name = said->files.v[i];
		struct ats_json_val path;

		if (!ats_json_get((struct ats_slice){ a->args.data, a->args.len }, name, &path))
			continue;
		if (path.type != ATS_JSON_STRING || path.raw.n > PATH_LENGTH)
			return ats_err_set(err, ATS_E_FIELD, "Its argument \"%.100s\" must be the "
			    "path of a file. Nothing was run; correct it and call again.", name);
		if (came == n)
			return ats_err_set(err, ATS_E_PROTO, "The file of its argument \"%.100s\" "
			    "did not come. Nothing was run.", name);
		rc = take_one(v, a, name, path.raw, fds[came++], err);
	}
	return rc < 0 || came == n ? rc : ats_err_set(err, ATS_E_PROTO, "More files came with it "
	    "than it has arguments for them. Nothing was run.");
}
