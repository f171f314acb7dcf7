/* SPDX-License-Identifier: Apache-2.0
 *
 * Links to hands elsewhere. Runs in the spawner, so that the engine, which reads what comes
 * from there, needs no way to any socket but its own. Path and argv are the configuration's;
 * of the peer only its uid is looked at. */
#include "brain/vault/remote.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "brain/vault/dialer.h"
#include "common/fd.h"

/* Without waiting: a full backlog is one more reason to try later. */
static int
connect_now(const char *path, int *ret_fd, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	if (fd < 0)
		return ats_err_sys(err, "unix:%s: socket", path);
	strncpy(sa.sun_path, path, sizeof(sa.sun_path) - 1);	/* checked by parse_url */
	if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return errno == EAGAIN ? ats_err_set(err, ATS_E_AGAIN,
		    "unix:%s: too many wait for it already", path) :
		    ats_err_sys(err, "unix:%s", path);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

static int
attach_unix(const struct config *conf, int *ret_link, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1, rc = connect_now(conf->provider_at, &fd, err);
	uid_t uid;

	if (rc < 0)
		return rc;
	if (ats_fd_peer(fd, &uid, NULL, NULL) < 0)
		return ats_err_sys(err, "unix:%s: peer", conf->provider_at);
	if (!config_allows_uid(conf, uid))
		return ats_err_set(err, ATS_E_PERM, "unix:%s: uid %u listens there, which "
		    "sandbox.allow_uids does not name", conf->provider_at, (unsigned)uid);
	*ret_link = ats_steal_fd(&fd);
	return 0;
}

int
remote_start(const struct config *conf, struct children *k, const char *id, pid_t *ret_pid,
    int *ret_link, struct ats_err *err)
{
	const struct ats_conf_strv *argv;

	*ret_pid = 0;
	*ret_link = -1;
	if (conf->provider == PROVIDER_UNIX)
		return attach_unix(conf, ret_link, err);
	if (conf->provider == PROVIDER_CONNECT)
		return dialer_start(k, id, &conf->addr, err);
	argv = conf->provider == PROVIDER_EXEC ? config_command(conf, conf->provider_at) : NULL;
	if (argv == NULL)
		return ats_err_set(err, ATS_E_INVAL, "sandbox.url names no sandbox elsewhere");
	return children_start_command(k, id, (const char *const *)(uintptr_t)argv->v, ret_pid,
	    ret_link, err);
}
