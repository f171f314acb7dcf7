/* SPDX-License-Identifier: Apache-2.0
 *
 * Workspace and state directory. Runs in the launcher. The workspace's content is not
 * looked at, except where root must give it to the worker's uid (no namespaces). */
#include "hands/init/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/path.h"
#include "hands/confine/filters.h"
#include "hands/confine/mnt.h"
#include "hands/confine/ns.h"
#include "hands/confine/worktree.h"
#include "hands/init/bare_state.h"
#include "hands/init/roles.h"
#include "hands/init/tools_place.h"
#include "hands/init/worker_id.h"

static int
make_dir(const char *state, const char *name, mode_t mode, uid_t uid, gid_t gid,
    struct ats_err *err)
{
	char path[PATH_MAX + 16];
	ATS_CLEANUP_FD int fd = -1;

	(void)snprintf(path, sizeof path, "%s/%s", state, name);
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return ats_err_sys(err, "mkdir %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ats_err_sys(err, "open %s", path);
	if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
		return ats_err_sys(err, "chown %s", path);
	return fchmod(fd, mode) < 0 ? ats_err_sys(err, "chmod %s", path) : 0;
}

/* Tools of a box whose workspace lies above may rename what is on the way at any moment. So a
 * path that brain registered is not resolved here: it is opened once, no component may be a
 * link, and what was opened is what is meant from here on. People may name a link. */
static int
find_workspace(struct init_plan *p, struct stat *ret_st, struct ats_err *err)
{
	const char *asked = p->options->workspace;
	char real[PATH_MAX];
	int rc;

	if (p->options->link_fd < 0 && realpath(asked, real) == NULL)
		return ats_err_sys(err, "workspace %s", asked);
	if (p->options->link_fd >= 0 && (ats_path_join("/", asked, real, sizeof real) < 0 ||
		strcmp(asked, real) != 0))
		return ats_err_set(err, ATS_E_INVAL, "workspace %s: not a resolved path", asked);
	rc = mnt_open_dir(real, &p->workspace, err);
	if (rc < 0)
		return ats_err_wrap(err, "workspace");
	if (fstat(p->workspace, ret_st) < 0)
		return ats_err_sys(err, "workspace %s", asked);
	if (!S_ISDIR(ret_st->st_mode) || strcmp(real, "/") == 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "workspace %s: not a directory that can "
		    "be a workspace",
		    real);
	(void)snprintf(p->box.workspace, sizeof p->box.workspace, "%s", real);
	p->box.workspace_dev = ret_st->st_dev;
	p->box.workspace_ino = ret_st->st_ino;
	return 0;
}

/* Can the mount that holds the workspace be id-mapped? Tried on a detached copy. */
static int
try_idmap(const struct init_plan *p, struct ats_err *err)
{
	ATS_CLEANUP_FD int tree = -1;
	int rc = mnt_clone_at(p->workspace, p->box.workspace, false, &tree, err);

	return rc < 0 ? rc : mnt_idmap(tree, p->idmap_ws, err);
}

/* Root: files stay their owner's on disk and are the worker's in the box. Without id maps
 * (NFS, some FUSE) the worker runs as the owner; an owner 0 cannot be that. */
static int
choose_root(struct init_plan *p, const struct stat *ws, struct ats_err *err)
{
	struct box *b = &p->box;
	struct ats_err why = { 0 };
	uid_t own = worker_id_choose(b->state);

	if ((ats_caps_effective() >> CAP_SYS_ADMIN & 1) == 0)
		return ns_explain(BOX_ROOT, EPERM, err);
	b->front_uid = b->front_gid = ROLE_UID_FRONT;
	b->worker_uid = b->worker_gid = own;
	if (ns_idmap(ws->st_uid, ws->st_gid, own, own, &p->idmap_ws, &why) == 0 &&
	    try_idmap(p, &why) == 0) {
		b->facts |= BOX_IDMAP;
	} else {
		ats_fd_close(&p->idmap_ws);
		if (ws->st_uid == 0)
			return ats_err_set(err, ATS_E_UNAVAILABLE,
			    "the workspace belongs to "
			    "root and its file system cannot be id-mapped (%s); remedy: "
			    "give "
			    "it to a user",
			    why.text);
		b->worker_uid = ws->st_uid;
		b->worker_gid = ws->st_gid != 0 ? ws->st_gid : own;
	}
	return 0;
}

/* Gives to that id what root owns on that device below at, then at itself: the top last, so that
 * a walk that failed begins again. By descriptors, since others may rename what is in it. at is
 * closed. */
static int
give(int at, dev_t dev, uid_t to)
{
	struct stat st;
	DIR *d = fdopendir(at);
	const struct dirent *e;
	int rc = 0, sub;

	if (d == NULL) {
		(void)close(at);
		return -1;
	}
	while (rc == 0 && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			rc = errno == ENOENT ? 0 : -1;
		} else if (st.st_dev == dev && S_ISDIR(st.st_mode)) {
			sub = openat(at, e->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			rc = sub < 0 ? -1 : give(sub, dev, to);
		} else if (st.st_dev == dev && st.st_uid == 0) {
			rc = fchownat(at, e->d_name, to, to, AT_SYMLINK_NOFOLLOW);
		}
	}
	if (rc == 0 && fstat(at, &st) == 0 && st.st_dev == dev && st.st_uid == 0)
		rc = fchown(at, to, to);
	(void)closedir(d);
	return rc;
}

/* A workspace of root's becomes the worker's. */
static int
give_workspace(const struct init_plan *p, uid_t to, struct ats_err *err)
{
	int at = openat(p->workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (at < 0 || give(at, p->box.workspace_dev, to) < 0)
		return ats_err_sys(err, "chown of the workspace to uid %u", to);
	return 0;
}

static int
choose_uid(struct init_plan *p, const struct stat *ws, struct ats_err *err)
{
	struct box *b = &p->box;
	uid_t own = worker_id_choose(b->state);

	b->front_uid = b->front_gid = ROLE_UID_FRONT;
	b->worker_uid = ws->st_uid != 0 ? ws->st_uid : own;
	b->worker_gid = ws->st_gid != 0 ? ws->st_gid : own;
	if (p->uid != 0)
		return ats_err_set(err, ATS_E_UNAVAILABLE,
		    "uid+landlock: needs root; remedy: "
		    "start as root or set min_level to landlock");
	return !p->probe && ws->st_uid == 0 ? give_workspace(p, own, err) : 0;
}

static int
choose(
    struct init_plan *p, enum box_situation s, const struct stat *ws, struct ats_err *err)
{
	struct box *b = &p->box;

	if (s == BOX_ROOT)
		return choose_root(p, ws, err);
	if (s == BOX_UID || (s == BOX_NONE && p->uid == 0))
		return choose_uid(p, ws, err);
	if (p->uid == 0)
		return ats_err_set(err, ATS_E_UNAVAILABLE,
		    "workers must not be uid 0; remedy: start as an ordinary user");
	b->front_uid = b->worker_uid = p->uid;
	b->front_gid = b->worker_gid = p->gid;
	if (getgroups(0, NULL) > 0)
		b->facts |= BOX_GROUPS_KEPT;
	return 0;
}

static int
make_state(struct init_plan *p, struct ats_err *err)
{
	struct box *b = &p->box;
	int rc = make_dir(b->state, "home", 0700, b->worker_uid, b->worker_gid, err);

	/* Front writes it, read workers read it: by their group. */
	if (rc == 0)
		rc = make_dir(b->state, "spill",
		    b->front_uid != b->worker_uid ? 02750 : 0700, b->front_uid,
		    b->worker_gid, err);
	if (rc == 0 && !box_has_namespaces(b))
		rc = make_dir(b->state, "tmp", 0700, b->worker_uid, b->worker_gid, err);
	if (rc == 0 && box_has_own_sockets(b))
		rc = make_dir(b->state, "sockets", 0700, b->worker_uid, b->worker_gid, err);
	if (rc == 0 && box_has_uids(b) && !box_has_namespaces(b) && chmod(b->state, 0711) < 0)
		rc = ats_err_sys(err, "chmod %s", b->state);
	return rc;
}

/* The place by which tools may read that path, or NULL. With a view there is the one of the
 * workspace that we could lie in; without, and for what the view shows of the host, there are
 * more. */
static const char *
readable_by(const struct box *b, const char *path, bool all)
{
	static const char *const system[] = { "/usr", "/etc", "/opt", "/nix/store", "/bin",
		"/sbin", "/lib" };

	if (ats_path_is_within(b->workspace, path))
		return b->workspace;
	for (size_t i = 0; all && i < ATS_ARRAY_LEN(system); i++)
		if (ats_path_is_within(system[i], path))
			return system[i];
	for (size_t i = 0; all && i < b->ngrants; i++)
		if (ats_path_is_within(b->grants[i], path))
			return b->grants[i];
	return NULL;
}

/* What is ours must not be reached by a path that tools have. */
static int
check_state(const struct box *b, struct ats_err *err)
{
	const char *in = readable_by(b, b->state, !box_has_namespaces(b));

	if (in == NULL)
		return 0;
	return ats_err_set(err, ATS_E_INVAL, "state directory %s: tools may read %s", b->state,
	    in);
}

/* Nor a key that could not be removed. */
static int
check_kept(const struct init_plan *p, struct ats_err *err)
{
	const struct box *b = &p->box;

	for (size_t i = 0; p->keys != NULL && i < ATS_ARRAY_LEN(p->keys->kept); i++) {
		const char *path = p->keys->kept[i];
		const char *in = path[0] == '\0' ? NULL : readable_by(b, path, true);

		if (in == NULL && path[0] != '\0' && b->git_dir[0] != '\0' &&
		    ats_path_is_within(b->git_dir, path))
			in = b->git_dir;
		if (in == NULL && path[0] != '\0' && ats_path_is_within(b->state, path))
			in = b->state;
		if (in == NULL && path[0] != '\0' && b->situation == BOX_NONE &&
		    b->worker_uid == p->uid)
			in = "/";
		if (in != NULL)
			return ats_err_set(err, ATS_E_INVAL, "%s holds a key, cannot be removed "
			    "(it is needed again, or lies where we may not), and tools may read "
			    "%s; remedy: mount it elsewhere, /run/secrets for one, or give it "
			    "as --key-fd N", path, in);
	}
	return 0;
}

/* An outer box may have the only listener that there can be, or allow none. */
static bool
can_listen(void)
{
	int status = 1, listener;
	pid_t pid = ns_fork(0);

	if (pid == 0)
		_exit(ats_caps_no_new_privs(NULL) < 0 || filter_listen(&listener, NULL) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int
places_prepare(struct init_plan *p, enum box_situation s, struct ats_err *err)
{
	struct box *b = &p->box;
	struct ats_err left_out = { 0 };
	struct stat ws;
	int rc;

	memset(b, 0, sizeof *b);
	b->situation = s;
	b->facts = p->options->small ? BOX_SMALL : 0;
	if (p->options->git_config)
		b->facts |= BOX_GIT_CONFIG;
	if (p->options->net_host)
		b->facts |= BOX_NET_HOST;
	if ((s == BOX_UID || s == BOX_LANDLOCK) && !p->options->net_host && can_listen())
		b->facts |= BOX_LISTENER;
	b->budget = p->options->budget;
	budget_complete(&b->budget, p->options->small);
	p->uid = geteuid();
	p->gid = getegid();
	p->idmap_ws = -1;
	b->ngrants = p->options->nro;
	memcpy(b->grants, p->options->ro, sizeof b->grants);
	b->nmasks = p->options->nmask;
	memcpy(b->masks, p->options->mask, sizeof b->masks);
	rc = find_workspace(p, &ws, err);
	if (rc == 0 && worktree_find(b->workspace, b->git_dir, &left_out) == 0 &&
	    left_out.code != 0)
		ats_log(ATS_LOG_WARN, "the workspace's repository is left out", "why=\"%s\"",
		    left_out.text);
	if (rc == 0 && realpath(p->options->state_dir, b->state) == NULL)
		rc = ats_err_sys(err, "state directory %s", p->options->state_dir);
	if (rc == 0 && p->uid == 0 && (s == BOX_UID || s == BOX_NONE))
		rc = bare_state(b->state, err);
	if (rc == 0)
		rc = check_state(b, err);
	if (rc == 0)
		rc = choose(p, s, &ws, err);
	if (rc == 0)
		rc = check_kept(p, err);
	if (rc == 0)
		rc = make_state(p, err);
	if (rc == 0)
		rc = tools_place_make(p, err);
	if (rc == 0)
		box_set_places(b);
	return rc;
}
