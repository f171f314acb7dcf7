/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to libats: a runtime's ctx, and the plan folder. Process: an agent runtime. */
#ifndef ATS_CLIENT_CTX_H
#define ATS_CLIENT_CTX_H

#include "brain/client/client.h"

/* The host's plan folder; path[0] == '\0': there is none. */
struct plan {
	char path[ATS_PATH_MAX];	/* absolute, normal, as it was given */
	char real[ATS_PATH_MAX];	/* without links, as far as it exists */
};
struct ctx_read {
	uint64_t size, mtime_ns;
	char sha256[65];
	char path[];
};
struct ats_ctx {
	char workspace[ATS_PATH_MAX], cwd[ATS_PATH_MAX];
	struct plan plan;
	struct ctx_read *reads[CLIENT_reads];	/* owned; the newest last */
	size_t nreads;
	char shells[CLIENT_shells][33];
	const char *shell_ids[CLIENT_shells + 1];
};

/* ---- plan.c ---- */
/* dir may be NULL. ATS_ERR_ARG: not absolute, or the workspace lies in it. */
int plan_set(struct plan *p, const char *dir, const char *workspace);
/* Whether a normal path lies in the folder, by its text or by where its links lead. */
bool plan_holds(const struct plan *p, const char *path);
/* The same of a path as a model wrote it: relative to cwd, or beginning with ~, the host's. */
bool plan_is_meant(const struct plan *p, const char *cwd, const char *raw);
/* The path without links as far as it exists, then as it stands; "" if it cannot be. */
void plan_resolve(const char *path, char out[ATS_PATH_MAX]);

#endif
