/* SPDX-License-Identifier: Apache-2.0
 *
 * The listening sockets of a brain: its own, or those of a service manager. Runs once in ats-brain,
 * around what confines it. */
#include "brain/vault/sockets.h"

#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/options.h"
#include "brain/vault/systemd.h"
#include "brain/vault/vault.h"
#include "common/fd.h"

static int
find_engine_user(const char *user, uid_t *ret_uid, struct ats_err *err)
{
	const struct passwd *pw;
	unsigned long n;
	char *end;

	n = strtoul(user, &end, 10);
	if (*user >= '0' && *user <= '9' && *end == '\0' && n < UINT32_MAX) {
		*ret_uid = (uid_t)n;
		return 0;
	}
	pw = getpwnam(user);
	if (pw == NULL)
		return ats_err_set(err, ATS_E_NOENT, "--engine-user %.64s: there is no such user",
		    user);
	*ret_uid = pw->pw_uid;
	return 0;
}

int
sockets_take(struct vault_fds *fds, const struct options *opt, bool *ret_given,
    struct ats_err *err)
{
	struct systemd_sockets given;
	int rc = systemd_sockets(&given, err);

	if (rc == 0 && given.engine >= 0 && opt->engine_user == NULL)
		rc = ats_err_set(err, ATS_E_INVAL,
		    "socket activation: a socket of ats-engine.socket without --engine-user");
	if (rc == 0 && opt->engine_user != NULL)
		rc = find_engine_user(opt->engine_user, &fds->engine_uid, err);
	if (rc < 0)
		return rc;
	fds->door = given.door;
	fds->listener = given.listener;
	fds->engine = given.engine;
	*ret_given = given.given;
	return 0;
}

static int
listen_at(const struct ats_places *places, const char *name, int type, unsigned mode, int *ret_fd,
    struct ats_err *err)
{
	char path[ATS_PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/%s", places->runtime, name);
	return ats_fd_unix_listen(path, type, mode, ret_fd, err);
}

int
sockets_open(struct vault_fds *fds, const struct options *opt, const struct ats_places *places,
    struct ats_err *err)
{
	unsigned mode = opt->system ? 0660 : 0600;
	int rc = 0;

	/* Whoever connects there is looked at; the mode lets the engine's user reach it. */
	if (opt->engine_user != NULL && fds->engine < 0)
		rc = listen_at(places, "engine.sock", SOCK_SEQPACKET, 0666, &fds->engine, err);
	if (rc < 0 || fds->door >= 0)	/* systemd's */
		return rc;
	rc = listen_at(places, "vault.sock", SOCK_SEQPACKET, mode, &fds->listener, err);
	return rc < 0 ? rc : listen_at(places, "brain.sock", SOCK_STREAM, mode, &fds->door, err);
}

void
sockets_remove(const struct ats_places *places)
{
	static const char *const names[] = { "vault.sock", "brain.sock", "engine.sock" };
	char path[ATS_PATH_MAX + 16];

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", places->runtime, names[i]);
		(void)unlink(path);
	}
}
