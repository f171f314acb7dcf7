/* SPDX-License-Identifier: Apache-2.0
 *
 * The vault's confinement. Runs in the vault, once, before the first byte of a client. */
#include "brain/vault/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/confine/daemon.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/log.h"

/* Needed to resolve a workspace beneath a private directory of another user; it reads, and
 * Landlock below still refuses to open anything outside. */
#define KEEP (UINT64_C(1) << CAP_DAC_READ_SEARCH)

static int
restrict_files(const struct ats_places *places, struct ats_err *err)
{
	char own[ATS_PATH_MAX + 16];
	const struct ats_landlock_path paths[] = {
		{ .path = own, .rights = ATS_LL_READ | ATS_LL_WRITE },
		/* its sockets, to remove them at the end */
		{ .path = places->runtime, .rights = ATS_LL_REMOVE_FILE },
	};
	/* No scope for signals: the spawner, forked before, is outside of the domain, and a
	 * stopped one must be killed. The filter below is what limits them. */
	const struct ats_landlock_rules rules = { .fs = ATS_LL_FS_ALL, .net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ABSTRACT, .paths = paths, .npaths = ATS_ARRAY_LEN(paths) };

	(void)snprintf(own, sizeof(own), "%s/vault", places->state);
	if (ats_landlock_abi() == 0)
		ats_log(ATS_LOG_WARN, "this kernel has no Landlock", NULL);
	return ats_confine_reach(&rules, err);
}

#define NO ATS_SECCOMP_ERRNO(EPERM)
#define PASSPIDFD 76
#define PEERPIDFD 77

/* The one signal of the vault to another process is SIGKILL to a spawner that does not end.
 * It goes by the pidfd that is kept from its fork, so that no number is reused and no process
 * can be chosen: everything that takes a pid is refused (kill and the like by noexec, what
 * remains here), and so is what would make another pidfd of a client. */
struct ats_seccomp_table
vault_filter(int spawner_pidfd, pid_t self, struct vault_rules *rules)
{
	*rules = (struct vault_rules){ {
		ATS_SECCOMP_IF(NO, "pidfd_send_signal", ATS_SECCOMP_ARG_NE(0, spawner_pidfd)),
		ATS_SECCOMP_IF(NO, "pidfd_send_signal", ATS_SECCOMP_ARG_NE(1, SIGKILL)),
		ATS_SECCOMP_IF(NO, "socket", ATS_SECCOMP_ARG_NE(0, AF_UNIX)),
		/* abort() signals its own process by this. */
		ATS_SECCOMP_IF(NO, "tgkill", ATS_SECCOMP_ARG_NE(0, self)),
		ATS_SECCOMP_IF(NO, "getsockopt", ATS_SECCOMP_ARG_EQ(2, PEERPIDFD)),
		ATS_SECCOMP_IF(NO, "setsockopt", ATS_SECCOMP_ARG_EQ(2, PASSPIDFD)),
	} };
	return (struct ats_seccomp_table){ "vault", ATS_SECCOMP_ALLOW, rules->r,
		ATS_ARRAY_LEN(rules->r) };
}

static int
load_filters(int spawner_pidfd, struct ats_err *err)
{
	struct vault_rules rules;
	const struct ats_seccomp_table own = vault_filter(spawner_pidfd, getpid(), &rules);
	const struct ats_seccomp_table *const tables[] = { &ats_seccomp_base,
		&ats_seccomp_noexec, &own };

	return ats_seccomp_install(tables, ATS_ARRAY_LEN(tables), err);
}

int
vault_confine(const struct ats_places *places, int spawner_pidfd, struct ats_err *err)
{
	int rc = ats_confine_daemon(KEEP, err);

	if (rc == 0)
		rc = restrict_files(places, err);
	if (rc == 0)
		rc = load_filters(spawner_pidfd, err);
	return rc;
}
