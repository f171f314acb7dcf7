/* SPDX-License-Identifier: Apache-2.0
 *
 * Links to hands elsewhere. Runs in the spawner, so that the engine, which reads what comes
 * from there, needs no way to any socket but its own. Path and argv are the configuration's;
 * of the peer only its uid is looked at. */
#include "brain/vault/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "brain/vault/dialer.h"
#include "common/fd.h"
#include "common/path.h"
#include "proto/brain.h"

/* Without waiting: a full backlog is one more reason to try later. at: where path is found. */
static int
connect_now(const char *at, const char *path, int *ret_fd, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	if (fd < 0)
		return ats_err_sys(err, "unix:%s: socket", path);
	strncpy(sa.sun_path, at, sizeof(sa.sun_path) - 1);	/* checked by parse_url */
	if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return errno == EAGAIN ? ats_err_set(err, ATS_E_AGAIN,
		    "unix:%s: too many wait for it already", path) :
		    ats_err_sys(err, "unix:%s", path);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

static int
attach_unix(const struct config *conf, const char *at, const char *path, int *ret_link,
    struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1, rc = connect_now(at, path, &fd, err);
	uid_t uid;

	if (rc < 0)
		return rc;
	if (ats_fd_peer(fd, &uid, NULL, NULL) < 0)
		return ats_err_sys(err, "unix:%s: peer", path);
	if (!config_allows_uid(conf, uid))
		return ats_err_set(err, ATS_E_PERM, "unix:%s: uid %u listens there, which "
		    "sandbox.allow_uids does not name", path, (unsigned)uid);
	*ret_link = ats_steal_fd(&fd);
	return 0;
}

/* What is in that directory may be a sandbox's to change: its socket, or a directory on the way to
 * it, made a symbolic link must not lead to another one of the user's. */
static int
attach_beneath(const struct config *conf, const char *path, int *ret_link, struct ats_err *err)
{
	const char *rel = ats_path_below(conf->script_dir, path);
	int dir ATS_CLEANUP_FD = open(conf->script_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int sock ATS_CLEANUP_FD = -1;
	char at[40];

	if (dir < 0)
		return ats_err_sys(err, "sandbox.script_dir");
	sock = rel == NULL ? -ATS_E_ESCAPES : ats_path_open_beneath(dir, rel, O_PATH, 0, err);
	if (sock == -ATS_E_ESCAPES)
		return ats_err_set(err, ATS_E_PERM, "unix:%s leads outside of sandbox.script_dir",
		    path);
	if (sock < 0)
		return sock;
	(void)snprintf(at, sizeof(at), "/proc/self/fd/%d", sock);
	return attach_unix(conf, at, path, ret_link, err);
}

static int
attach_said(const struct config *conf, struct children *k, const char *id, const char *url,
    int *ret_link, struct ats_err *err)
{
	struct ats_addr addr;
	int rc = ats_addr_parse(url, &addr, err);

	if (rc == 0)
		rc = config_check_script_addr(conf, &addr, err);
	if (rc < 0)
		return rc;
	return addr.kind == ATS_ADDR_UNIX ? attach_beneath(conf, addr.path, ret_link, err) :
	    dialer_start(k, id, &addr, &conf->via, err);
}

static int
start_command(const struct config *conf, struct children *k, const char *id, pid_t *ret_pid,
    int *ret_link, struct ats_err *err)
{
	const struct ats_conf_strv *argv = config_command(conf, conf->provider_at);
	struct child_command what = { .id = id, .box = id };

	if (argv == NULL)
		return ats_err_set(err, ATS_E_INVAL, "sandbox.url names no command");
	what.argv = (const char *const *)(uintptr_t)argv->v;
	return children_start_command(k, &what, ret_pid, ret_link, err);
}

int
remote_start(const struct config *conf, struct children *k, const char *id, const char *url,
    pid_t *ret_pid, int *ret_link, struct ats_err *err)
{
	*ret_pid = 0;
	*ret_link = -1;
	switch (conf->provider) {
	case PROVIDER_UNIX:
		return attach_unix(conf, conf->provider_at, conf->provider_at, ret_link, err);
	case PROVIDER_EXEC:
		return start_command(conf, k, id, ret_pid, ret_link, err);
	case PROVIDER_CONNECT:
		return dialer_start(k, id, &conf->addr, &conf->via, err);
	case PROVIDER_SCRIPT:
		return attach_said(conf, k, id, url, ret_link, err);
	case PROVIDER_STDIO:
	case PROVIDER_LISTEN:
		break;
	}
	return ats_err_set(err, ATS_E_INVAL, "sandbox.url names no sandbox to connect to");
}

int
remote_script(const struct config *conf, const char *box, uint64_t step,
    struct child_command *ret, struct ats_err *err)
{
	const struct ats_conf_strv *argv = config_script(conf, step);

	if (argv == NULL)
		return ats_err_set(err, ATS_E_NOENT, "no command for this step");
	/* What is destroyed may be of a sandbox that is no more, with its log. */
	ret->box = step == SCRIPT_DESTROY ? NULL : box;
	ret->argv = (const char *const *)(uintptr_t)argv->v;
	ret->leaves = step == SCRIPT_BUILD;
	return 0;
}
