/* SPDX-License-Identifier: Apache-2.0
 *
 * The private root of the box. Runs in init, once, in its own mount namespace. Everything
 * that the box shall see is first cloned into detached mounts, then an empty tmpfs is
 * mounted over the workspace (a directory that surely exists) and becomes the root. So a
 * workspace below /tmp, /home, /root or /usr is nothing special. */
#include "hands/confine/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/path.h"
#include "hands/confine/mnt.h"
#include "hands/confine/ns.h"
#include "hands/confine/trees.h"
#include "hands/confine/users.h"
#include "hands/init/roles.h"

#define RO (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define FILES_PER_MIB 256

/* Toolchains and what they need. Symlinks (merged /usr) are made again as they are. */
static const char *const system_dirs[] = { "/usr", "/etc", "/opt", "/bin", "/sbin",
	"/lib", "/lib32", "/lib64", "/libx32", "/nix/store" };
static const char *const devices[] = { "null", "zero", "full", "random", "urandom",
	"tty" };
/* An ordinary uid cannot read these as a rule; groups of hands' own user may. */
static const char *const credentials[] = { "/etc/shadow", "/etc/shadow-", "/etc/gshadow",
	"/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key",
	"/etc/ssh/ssh_host_ed25519_key", "/etc/krb5.keytab", "/etc/docker" };

struct view {
	struct trees trees;
	int ws, git, home, spill, tools, exe, dev[ATS_ARRAY_LEN(devices)];
};

static void
view_done(struct view *v)
{
	trees_done(&v->trees);
	for (size_t i = 0; i < ATS_ARRAY_LEN(v->dev); i++)
		ats_fd_close(&v->dev[i]);
	ats_fd_close(&v->ws);
	ats_fd_close(&v->git);
	ats_fd_close(&v->home);
	ats_fd_close(&v->spill);
	ats_fd_close(&v->tools);
	ats_fd_close(&v->exe);
	free(v);
}

/* Recursive where the id map is possible on all of it, else the workspace's own mount. */
static int
take_mapped(
    const char *path, int userns, uint64_t attrs, int *ret_fd, struct ats_err *err)
{
	int rc = mnt_clone_dir(path, true, ret_fd, err);

	if (rc == 0 && userns >= 0) {
		rc = mnt_idmap(*ret_fd, userns, err);
		if (rc < 0) {
			ats_fd_close(ret_fd);
			rc = mnt_clone_dir(path, false, ret_fd, err);
			if (rc == 0)
				rc = mnt_idmap(*ret_fd, userns, err);
		}
	}
	return rc < 0 ? rc : mnt_set(*ret_fd, attrs, err);
}

/* A descriptor of the launcher's cannot be cloned in this mount namespace: what the path names
 * here must be what it looked at. */
static int
is_the_one(int tree, const struct box *b, struct ats_err *err)
{
	struct stat st;

	if (fstat(tree, &st) < 0)
		return ats_err_sys(err, "stat");
	if (st.st_dev == b->workspace_dev && st.st_ino == b->workspace_ino)
		return 0;
	return ats_err_set(err, ATS_E_ESCAPES, "%s: another directory has taken its place",
	    b->workspace);
}

/* This program, for commands that ask for tools of the host. */
static int
take_exe(struct view *v, const struct box *b, struct ats_err *err)
{
	int rc = b->exe[0] == '\0' ? 0 : mnt_clone_one(b->exe, &v->exe, err);

	return rc < 0 || v->exe < 0 ? rc : mnt_set(v->exe, RO, err);
}

static int
take_own(struct view *v, const struct box *b, int idmap_ws, struct ats_err *err)
{
	char path[PATH_MAX + 16];
	int rc = take_mapped(b->workspace, idmap_ws, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	    &v->ws, err);

	if (rc == 0)
		rc = is_the_one(v->ws, b, err);
	if (rc < 0)
		return ats_err_wrap(err, "workspace");
	if (b->git_dir[0] != '\0')
		rc = take_mapped(b->git_dir, idmap_ws, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		    &v->git, err);
	if (rc < 0)
		return ats_err_wrap(err, "repository");
	(void)snprintf(path, sizeof path, "%s/home", b->state);
	rc = take_mapped(path, -1, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &v->home, err);
	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof path, "%s/spill", b->state);
	rc = take_mapped(path, -1, RO | MOUNT_ATTR_NOEXEC, &v->spill, err);
	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof path, "%s/" STATE_TOOLS, b->state);
	rc = take_mapped(path, -1, RO | MOUNT_ATTR_NOEXEC, &v->tools, err);
	return rc < 0 ? rc : take_exe(v, b, err);
}

static bool
is_system(const char *path)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(system_dirs); i++)
		if (ats_path_is_within(system_dirs[i], path))
			return true;
	return false;
}

/* Where name servers are told is often a link, or some, to a file below /run. */
static int
take_resolver(struct view *v, struct ats_err *err)
{
	char at[PATH_MAX] = "/etc/resolv.conf", link[PATH_MAX], dir[PATH_MAX];
	int rc = 0;

	for (unsigned hop = 0; rc == 0 && hop < 8; hop++) {
		ssize_t n = readlink(at, link, sizeof link - 1);

		if (!is_system(at))
			rc = trees_take(&v->trees, at, false, err);
		if (n <= 0)
			return rc;
		link[n] = '\0';
		memcpy(dir, at, sizeof dir);
		strrchr(dir, '/')[strrchr(dir, '/') == dir] = '\0';
		if (ats_path_join(dir, link, at, sizeof at) < 0)
			return rc;
	}
	return rc;
}

/* Mounts refused by this machine, whatever the workspace is like: said of steps that touch no
 * path of a tool's. errno is theirs. */
static int
of_machine(int rc, struct ats_err *err)
{
	if (rc < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS ||
	    errno == EINVAL || errno == EOPNOTSUPP || errno == ENODEV || errno == ENOENT))
		return ats_err_set(err, ATS_E_UNAVAILABLE, "%s", err->text);
	return rc;
}

static int
take_devices(struct view *v, struct ats_err *err)
{
	char path[64];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(devices); i++) {
		(void)snprintf(path, sizeof path, "/dev/%s", devices[i]);
		rc = mnt_clone_one(path, &v->dev[i], err);
	}
	return rc;
}

static int
take_all(struct view *v, const struct box *b, int idmap_ws, struct ats_err *err)
{
	int rc = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ?
	    ats_err_sys(err, "mount(private /)") : take_devices(v, err);

	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(system_dirs); i++)
		rc = trees_take(&v->trees, system_dirs[i], false, err);
	rc = of_machine(rc, err);
	if (rc == 0)
		rc = take_own(v, b, idmap_ws, err);
	if (rc == 0 && (b->facts & BOX_NET_HOST) != 0)
		rc = take_resolver(v, err);
	for (size_t i = 0; rc == 0 && i < b->ngrants; i++)
		rc = trees_take(&v->trees, b->grants[i],
		    ats_path_is_within(b->workspace, b->grants[i]), err);
	return rc;
}

/* A quarter of the box's memory each: files in them count as that, and no process can be killed
 * to free them. An empty one takes none of it, but some of the kernel's: so their number is
 * bounded, too, one for each page. */
static int
put_tmpfs(const struct box *b, const char *path, unsigned small_mib, struct ats_err *err)
{
	uint64_t mib = b->budget.memory_mib / 4;
	char data[96];

	if ((b->facts & BOX_SMALL) != 0 && mib > small_mib)
		mib = small_mib;
	(void)snprintf(data, sizeof data, "size=%llum,nr_inodes=%llu,mode=1777",
	    (unsigned long long)mib, (unsigned long long)mib * FILES_PER_MIB);
	return mnt_fs("tmpfs", path, MS_NOSUID | MS_NODEV, data, err);
}

static int
put_dev(struct view *v, const struct box *b, struct ats_err *err)
{
	static const char *const links[][2] = { { "/proc/self/fd", "dev/fd" },
		{ "/proc/self/fd/0", "dev/stdin" }, { "/proc/self/fd/1", "dev/stdout" },
		{ "/proc/self/fd/2", "dev/stderr" }, { "pts/ptmx", "dev/ptmx" } };
	char path[64];
	int rc = 0;

	if (mkdir("dev", 0755) < 0 || mkdir("dev/shm", 0755) < 0 ||
	    mkdir("dev/pts", 0755) < 0)
		return ats_err_sys(err, "mkdir dev");
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(devices); i++) {
		(void)snprintf(path, sizeof path, "dev/%s", devices[i]);
		rc = mnt_touch(path, err);
		if (rc == 0)
			rc = mnt_put(&v->dev[i], path, err);
	}
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(links); i++)
		if (symlink(links[i][0], links[i][1]) < 0)
			rc = ats_err_sys(err, "symlink %s", links[i][1]);
	if (rc == 0)
		rc = put_tmpfs(b, "dev/shm", 64, err);
	if (rc == 0)
		rc = mnt_fs("devpts", "dev/pts", MS_NOSUID | MS_NOEXEC,
		    "newinstance,ptmxmode=0666,mode=620", err);
	return rc;
}

/* Grants first: the workspace may lie in one. */
static int
put_workspace(struct view *v, const struct box *b, struct ats_err *err)
{
	const char *ws = b->workspace + 1, *git = b->git_dir + 1;
	int rc = trees_put(&v->trees, true, err);

	if (rc == 0)
		rc = trees_way(&v->trees, ws, err);
	if (rc == 0)
		rc = mnt_mkdirs(ws, err);
	if (rc == 0)
		rc = mnt_put(&v->ws, ws, err);
	if (rc == 0 && v->git >= 0) {
		rc = trees_way(&v->trees, git, err);
		if (rc == 0)
			rc = mnt_mkdirs(git, err);
		if (rc == 0)
			rc = mnt_put(&v->git, git, err);
	}
	return rc < 0 ? rc : trees_seal(&v->trees, err);
}

static int
put_places(struct view *v, const struct box *b, struct ats_err *err)
{
	int rc = mnt_mkdirs("proc", err);

	if (rc == 0)
		rc = mnt_fs("proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, err);
	if (rc < 0)
		return ns_explain_proc(errno, err);
	if (rc == 0)
		rc = mnt_mkdirs("tmp", err);
	if (rc == 0)
		rc = put_tmpfs(b, "tmp", 128, err);
	if (rc == 0)
		rc = mnt_mkdirs(&BOX_SPILL[1], err);
	if (rc == 0)
		rc = mnt_put(&v->spill, &BOX_SPILL[1], err);
	if (rc == 0)
		rc = mnt_mkdirs(&BOX_TOOLS[1], err);
	if (rc == 0)
		rc = mnt_put(&v->tools, &BOX_TOOLS[1], err);
	if (rc == 0 && v->exe >= 0)
		rc = mnt_touch(&BOX_HANDS[1], err);
	if (rc == 0 && v->exe >= 0)
		rc = mnt_put(&v->exe, &BOX_HANDS[1], err);
	if (rc == 0)
		rc = mnt_mkdirs(&BOX_HOME[1], err);
	if (rc == 0)
		rc = mnt_put(&v->home, &BOX_HOME[1], err);
	if (rc == 0)
		rc = put_workspace(v, b, err);
	/* Unless that is below it. */
	if (rc == 0 && (mkdir("var", 0755) == 0 || errno == EEXIST) &&
	    symlink("../tmp", "var/tmp") < 0 && errno != EEXIST)
		rc = ats_err_sys(err, "symlink var/tmp");
	return rc;
}

static int
mask_all(const struct box *b, struct ats_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(credentials); i++)
		rc = mnt_mask(credentials[i], err);
	for (size_t i = 0; rc == 0 && i < b->nmasks; i++)
		rc = trees_mask(b->masks[i], err);
	return rc < 0 ? rc : users_mask(b, err);
}

/* On a directory of ours, which no tool can rename. */
static int
enter(const char *at, struct ats_err *err)
{
	int rc = mnt_fs("tmpfs", at, MS_NOSUID | MS_NODEV, "size=1m,mode=755", err);

	if (rc < 0)
		return rc;
	return chdir(at) < 0 ? ats_err_sys(err, "chdir(new root)") : 0;
}

static int
pivot(struct ats_err *err)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return ats_err_sys(err,
		    "pivot_root (the root must be a mount, not a chroot "
		    "and not an initramfs)");
	if (umount2(".", MNT_DETACH) < 0)
		return ats_err_sys(err, "umount(old root)");
	if (chdir("/") < 0)
		return ats_err_sys(err, "chdir(/)");
	return mnt_readonly(AT_FDCWD, "/", 0, err);
}

/* What shells find in the place of a hidden file. */
static int
put_hidden(struct ats_err *err)
{
	if (mknod(&VIEW_HIDDEN[1], S_IFREG, 0) < 0)
		return ats_err_sys(err, "create %s", VIEW_HIDDEN);
	return 0;
}

static int
build(struct view *v, const struct box *b, struct ats_err *err)
{
	mode_t old = umask(022);
	int rc = of_machine(enter(b->state, err), err);

	if (rc == 0)
		rc = trees_put(&v->trees, false, err);
	if (rc == 0)
		rc = of_machine(put_dev(v, b, err), err);
	if (rc == 0)
		rc = put_places(v, b, err);
	if (rc == 0)
		rc = users_write(b, "run/ats", err);
	if (rc == 0)
		rc = put_hidden(err);
	if (rc == 0)
		rc = of_machine(pivot(err), err);
	if (rc == 0)
		rc = mask_all(b, err);
	(void)umask(old);
	return rc;
}

int
view_build(const struct box *b, int idmap_ws, struct ats_err *err)
{
	struct view *v = calloc(1, sizeof *v);
	int rc;

	if (v == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "view: out of memory");
	memset(v->dev, 0xff, sizeof v->dev);
	v->ws = v->git = v->home = v->spill = v->tools = v->exe = -1;
	rc = trees_init(&v->trees, err);
	if (rc == 0)
		rc = take_all(v, b, idmap_ws, err);
	if (rc == 0)
		rc = build(v, b, err);
	view_done(v);
	return rc;
}
