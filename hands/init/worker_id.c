/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing a user id. Runs in the launcher; who owns the home is our own doing. By chance and not
 * by a list of those in use: other containers of the machine cannot be asked. */
#include "hands/init/worker_id.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hands/init/roles.h"

static bool
is_ours(uid_t uid)
{
	return uid >= ROLE_UID_WORKER && uid < ROLE_UID_WORKER + ROLE_UID_WORKERS;
}

/* By the file alone: this program is static, and name services are not for it. */
static bool
is_named(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw = NULL;

	while (f != NULL && (pw = fgetpwent(f)) != NULL && pw->pw_uid != uid)
		;
	if (f != NULL)
		(void)fclose(f);
	return pw != NULL;
}

uid_t
worker_id_choose(const char *state)
{
	char home[4096 + 8];
	struct stat st;
	unsigned n;

	(void)snprintf(home, sizeof(home), "%.4095s/home", state);
	if (lstat(home, &st) == 0 && S_ISDIR(st.st_mode) && is_ours(st.st_uid))
		return st.st_uid;
	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = (unsigned)getpid();
	for (unsigned i = 0; i < ROLE_UID_WORKERS; i++) {
		uid_t uid = ROLE_UID_WORKER + (n + i) % ROLE_UID_WORKERS;

		if (!is_named(uid))
			return uid;
	}
	return ROLE_UID_WORKER;
}
