/* SPDX-License-Identifier: Apache-2.0
 *
 * What remains for whoever takes ats-http over: brain's sockets, as its user has them. */
#include "brain/http/confine.h"

#include <stdio.h>
#include <string.h>

#include "common/confine/daemon.h"
#include "common/confine/landlock.h"

const struct ats_seccomp_table *const http_filter[HTTP_FILTER_TABLES] = {
	&ats_seccomp_base, &ats_seccomp_noexec, &ats_seccomp_local
};

static void
directory_of(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(out, size, "%.*s", slash != NULL && slash > path ? (int)(slash - path) : 1,
	    slash != NULL ? path : "/");
}

static int
restrict_files(const struct http *h, struct ats_err *err)
{
	char runtime[ATS_PATH_MAX + 16], listens[HTTP_LISTENERS][ATS_ADDR_MAX];
	struct ats_landlock_path paths[1 + HTTP_LISTENERS] = {
		{ runtime, -1, ATS_LL_RESOLVE_UNIX, true },
	};
	struct ats_landlock_rules ll = { .fs = ATS_LL_FS_ALL, .net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL, .paths = paths, .npaths = 1 };

	directory_of(h->opt->vault, runtime, sizeof(runtime));
	for (unsigned i = 0; i < h->nlisteners; i++) {
		if (h->listeners[i].at->kind != ATS_ADDR_UNIX)
			continue;
		directory_of(h->listeners[i].at->path, listens[i], sizeof(listens[i]));
		/* its own socket, at the end */
		paths[ll.npaths++] = (struct ats_landlock_path){ listens[i], -1,
			ATS_LL_REMOVE_FILE, true };
	}
	return ats_confine_reach(&ll, err);
}

int
confine_http(const struct http *h, struct ats_err *err)
{
	int rc = ats_confine_daemon(0, err);

	if (rc == 0)
		rc = restrict_files(h, err);
	return rc < 0 ? rc : ats_seccomp_install(http_filter, HTTP_FILTER_TABLES, err);
}
