/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement of the engine: what remains for whoever takes it over through a parser. Runs
 * in the engine, once, before a byte of a client or a sandbox is read. */
#include "brain/engine/confine.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "brain/engine/engine.h"
#include "common/confine/daemon.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"

const struct ats_seccomp_table *const engine_filter[ENGINE_FILTER_TABLES] = {
	&ats_seccomp_base, &ats_seccomp_noexec, &ats_seccomp_local
};

/* The sockets of hands lie beside the door. */
static void
runtime_dir(int door_fd, char *out, size_t size)
{
	struct sockaddr_un un = { 0 };
	socklen_t n = sizeof(un);
	char *slash;

	out[0] = '\0';
	if (getsockname(door_fd, (struct sockaddr *)&un, &n) < 0 || un.sun_path[0] != '/')
		return;
	(void)snprintf(out, size, "%.*s", (int)sizeof(un.sun_path), un.sun_path);
	slash = strrchr(out, '/');
	if (slash != NULL && slash != out)
		*slash = '\0';
}

static int
restrict_files(const struct engine *e, int door_fd, struct ats_err *err)
{
	char runtime[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	struct ats_landlock_path paths[] = {
		{ e->state_dir, -1, ATS_LL_READ | ATS_LL_WRITE, false },
		{ e->boxes_dir, -1, ATS_LL_READ, true },
		{ runtime, -1, ATS_LL_RESOLVE_UNIX, true },
	};
	struct ats_landlock_rules ll = {
		.fs = ATS_LL_FS_ALL,
		.net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL,
		.paths = paths,
		.npaths = ATS_ARRAY_LEN(paths),
	};

	runtime_dir(door_fd, runtime, sizeof(runtime));
	if (runtime[0] == '\0')
		ll.npaths--;
	/* Not there before the first sandbox; a rule needs it. */
	(void)mkdir(e->boxes_dir, 0700);
	return ats_confine_reach(&ll, err);
}

int
confine_engine(const struct engine *e, int door_fd, struct ats_err *err)
{
	int rc = ats_confine_daemon(0, err);

	if (rc == 0)
		rc = restrict_files(e, door_fd, err);
	return rc < 0 ? rc : ats_seccomp_install(engine_filter, ENGINE_FILTER_TABLES, err);
}
