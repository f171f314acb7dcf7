/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shell's mount namespace changes in the view. Runs in the shell zygote once and
 * in every monitor, before Landlock (after it no mount is possible). Names in the
 * workspace are a tool's work: nothing is followed. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/path.h"
#include "hands/confine/mnt.h"
#include "hands/confine/ns.h"
#include "hands/confine/scan.h"
#include "hands/confine/view.h"
#include "hands/init/roles.h"

/* Global files of /proc that tell of the host or act on it. */
static const char *const proc_masks[] = { "kcore", "kmsg", "keys", "kallsyms",
	"timer_list", "sysrq-trigger", "sched_debug", "key-users", "acpi", "scsi" };
static const char *const proc_readonly[] = { "sys", "irq", "bus", "fs" };

/* The directory over itself, writable, with what is mounted below. A file (of a worktree
 * or submodule) read-only: it tells git where its configuration is. */
static int
pin(const char *path, struct ats_err *err)
{
	struct stat st;
	int tree = -1, rc;

	if (lstat(path, &st) < 0 || mnt_is_root(path))
		return 0;
	if (S_ISREG(st.st_mode))
		return mnt_protect(path, err);
	if (!S_ISDIR(st.st_mode))
		return 0;
	rc = mnt_clone(path, &tree, err);
	return rc < 0 ? rc : mnt_put(&tree, path, err);
}

/* The directories on the way to a repository, and its own: moved, one would make room for
 * another, for a mount point cannot be renamed. */
static int
pin_way(const char *from, const char *to, struct ats_err *err)
{
	char path[4096];
	int rc = 0;

	for (const char *p = to + strlen(from) + 1; rc >= 0 && p != NULL && *p != '\0';) {
		p = strchr(p, '/');
		(void)snprintf(path, sizeof path, "%.*s", p != NULL ? (int)(p - to) : 4095, to);
		rc = pin(path, err);
		p = p != NULL ? p + 1 : NULL;
	}
	return rc;
}

/* Nothing can be mounted over a symbolic link (the guard puts it back); what it leads to in the
 * workspace is as good as the name, and so are the directories on the way to it: those when no tool
 * runs, whose they could be. */
static int
protect_target(const char *workspace, const char *link, bool settled, struct ats_err *err)
{
	char real[PATH_MAX];
	int rc = 0;

	if (realpath(link, real) == NULL || !ats_path_is_within(workspace, real) ||
	    strcmp(workspace, real) == 0)
		return 0;
	if (!mnt_is_root(real))
		rc = mnt_protect(real, err);
	return rc < 0 || !settled ? rc : pin_way(workspace, real, err);
}

static int
protect_one(const struct protect_dirs *dirs, size_t d, const bool *absent, struct ats_err *err)
{
	struct stat st;
	char path[4096 + 64];
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < PROTECT_NAMES_MAX; i++) {
		const char *name = protect_name(dirs, d, i);

		if (name == NULL || (absent != NULL && absent[i]))
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", dirs->v[d].path, name);
		if (mnt_is_root(path) || lstat(path, &st) < 0)
			continue;
		rc = S_ISLNK(st.st_mode) ?
		    protect_target(dirs->v[0].path, path, absent == NULL, err) :
		    mnt_protect(path, err);
	}
	return rc < 0 ? rc : 0;
}

/* What the file tools know a repository by that is not called .git stays where it is. */
static int
pin_marks(const char *git, struct ats_err *err)
{
	static const char *const marks[] = { "objects", "refs" };
	char path[4096 + 16];
	int rc = 0;

	(void)snprintf(path, sizeof path, "%s/", git);
	if (strstr(path, "/.git/") != NULL)
		return 0;
	for (size_t i = 0; rc >= 0 && i < ATS_ARRAY_LEN(marks); i++) {
		(void)snprintf(path, sizeof path, "%s/%s", git, marks[i]);
		rc = pin(path, err);
	}
	return rc;
}

int
view_protect(const struct protect_dirs *dirs, const bool (*absent)[PROTECT_NAMES_MAX],
    struct ats_err *err)
{
	bool settled = absent == NULL;
	const struct protect_dir *outer = NULL;
	const char *ws = dirs->v[0].path;
	char git[4096 + 8];
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < dirs->n; i++) {
		const struct protect_dir *d = &dirs->v[i];

		if (settled && i > 0 && ats_path_is_within(ws, d->path))
			rc = pin_way(ws, d->path, err);
		else if (settled && d->kind == PROTECT_GIT && outer != NULL &&
		    ats_path_is_within(outer->path, d->path))
			rc = pin_way(outer->path, d->path, err);
		else if (d->kind == PROTECT_GIT)
			outer = d;
		(void)snprintf(git, sizeof git, "%s/.git", d->path);
		if (rc >= 0 && settled && d->kind != PROTECT_GIT)
			rc = pin(git, err);
		if (rc >= 0 && settled && d->kind == PROTECT_GIT)
			rc = pin_marks(d->path, err);
		if (rc >= 0)
			rc = protect_one(dirs, i, settled ? NULL : absent[i], err);
	}
	return rc < 0 ? rc : 0;
}

static int
mask_socket(void *arg, const char *path, struct ats_err *err)
{
	(void)arg;
	return mnt_mask(path, err);
}

static int
hide(const char *path, struct ats_err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	return S_ISDIR(st.st_mode) ? mnt_mask(path, err) : mnt_cover(VIEW_HIDDEN, path, err);
}

/* A mount point cannot be renamed. */
static int
hold(const char *dir, struct ats_err *err)
{
	int rc;

	if (mnt_is_root(dir))
		return 0;
	rc = pin(dir, err);
	return rc < 0 ? rc : 1;
}

int
view_scan(const struct box *b, struct ats_err *err)
{
	static const struct scan_ops ops = { .socket = mask_socket };
	static const struct scan_denied_ops denied = { hide, hold };
	int rc = b->deny == NULL ? 0 : scan_denied(b->workspace, b->deny, &denied, err);

	return rc < 0 ? rc : scan_workspace(b->workspace, &ops, NULL, err);
}

int
view_shell(const struct box *b, bool is_zygote, struct ats_err *err)
{
	const unsigned long how = MS_REC | (is_zygote ? MS_SHARED : MS_SLAVE);

	if (mount(NULL, b->workspace, NULL, how, NULL) < 0 ||
	    (b->git_dir[0] != '\0' && mount(NULL, b->git_dir, NULL, how, NULL) < 0))
		return ats_err_sys(err, "mount(propagation of %s)", b->workspace);
	if (mnt_is_root(BOX_SPILL) && umount2(BOX_SPILL, MNT_DETACH) < 0)
		return ats_err_sys(err, "umount(%s)", BOX_SPILL);
	return 0;
}

int
view_proc(const struct box *b, unsigned pid_max, struct ats_err *err)
{
	char path[64];
	int rc = mnt_fs("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, err);

	if (rc < 0)
		return rc;
	if ((b->facts & BOX_PID_MAX) != 0 && !ns_pid_max("/proc", pid_max))
		return ats_err_set(err, ATS_E_CONFINE, "pid_max of the call");
	for (size_t i = 0; rc >= 0 && i < ATS_ARRAY_LEN(proc_masks); i++) {
		(void)snprintf(path, sizeof path, "/proc/%s", proc_masks[i]);
		rc = mnt_mask(path, err);
	}
	for (size_t i = 0; rc >= 0 && i < ATS_ARRAY_LEN(proc_readonly); i++) {
		(void)snprintf(path, sizeof path, "/proc/%s", proc_readonly[i]);
		rc = mnt_protect(path, err);
	}
	return rc < 0 ? rc : 0;
}
