/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement of atsctl relay: what remains for whoever takes it over through a file. Once,
 * before the first is read. */
#include <stdio.h>
#include <string.h>

#include "brain/ctl/relay_server.h"
#include "common/confine/daemon.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"

const struct ats_seccomp_table *const relay_filter[RELAY_FILTER_TABLES] = {
	&ats_seccomp_base, &ats_seccomp_noexec, &ats_seccomp_local
};

#define FILES (ATS_LL_READ | ATS_LL_WRITE_FILE | ATS_LL_REMOVE_FILE | ATS_LL_MAKE_REG)

static int
restrict_files(const struct relay_server *s, struct ats_err *err)
{
	char sockets[ATS_PATH_MAX];
	struct ats_landlock_path paths[] = {
		{ NULL, s->dir.fd, FILES, false },
		{ NULL, s->specs_dir, FILES & ~ATS_LL_READ, false },
		{ sockets, -1, ATS_LL_RESOLVE_UNIX, true },
	};
	const struct ats_landlock_rules ll = {
		.fs = ATS_LL_FS_ALL,
		.net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL,
		.paths = paths,
		.npaths = ATS_ARRAY_LEN(paths),
	};
	char *slash;

	(void)snprintf(sockets, sizeof(sockets), "%s", s->c->door_path);
	slash = strrchr(sockets, '/');
	if (slash != NULL && slash != sockets)
		*slash = '\0';
	return ats_confine_reach(&ll, err);
}

int
relay_confine(const struct relay_server *s, struct ats_err *err)
{
	int rc = ats_confine_daemon(0, err);

	if (rc == 0)
		rc = restrict_files(s, err);
	return rc < 0 ? rc : ats_seccomp_install(relay_filter, RELAY_FILTER_TABLES, err);
}
