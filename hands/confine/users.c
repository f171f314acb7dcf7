/* SPDX-License-Identifier: Apache-2.0
 *
 * The box's own account files. Runs in init while the view is built; the input is the
 * host's /etc, already bound at etc/ below the working directory, and the names in the
 * home directory, which tools of an earlier box may have put there. */
#include "hands/confine/users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "hands/confine/mnt.h"
#include "hands/init/roles.h"

#define FILE_MAX (256u << 10)
#define SYSTEM_ID_MAX 999u	/* above: people */
#define NOBODY 65534u
#define RC "rc"			/* what stands in for each start-up file */

/* One call must not decide what shells of the next one run first. */
static const char *const start_up[] = { ".bashrc", ".bash_profile", ".bash_login",
	".profile", ".bash_logout", ".zshenv", ".zprofile", ".zshrc" };
static const char rc_text[] =
    "# Start-up files of shells stay as they are in a sandbox: they would run in later "
    "calls.\n";

/* Copies the lines whose third field is a system id, but not that of the worker. */
static int
copy_system(const char *text, unsigned skip, struct ats_buf *out)
{
	int rc = 0;

	for (const char *p = text; rc == 0 && *p != '\0';) {
		const char *eol = strchr(p, '\n');
		size_t n = eol != NULL ? (size_t)(eol - p) + 1 : strlen(p);
		const char *f = memchr(p, ':', n);
		unsigned long id;

		f = f != NULL ? memchr(f + 1, ':', n - (size_t)(f + 1 - p)) : NULL;
		if (f != NULL) {
			id = strtoul(f + 1, NULL, 10);
			if ((id <= SYSTEM_ID_MAX || id == NOBODY) && id != skip)
				rc = ats_buf_add(out, p, n);
		}
		p += n;
	}
	return rc;
}

static int
write_one(const char *dir, const char *name, const char *line, unsigned skip,
    struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf out = { 0 };
	ATS_CLEANUP_FD int fd = -1;
	char path[256], etc[64];
	char *text = NULL;
	size_t len = 0;
	int rc;

	ats_buf_init(&out, FILE_MAX + 4096);
	rc = ats_buf_add_str(&out, line);
	(void)snprintf(etc, sizeof etc, "etc/%s", name);
	if (rc == 0 && ats_fd_slurp(AT_FDCWD, etc, FILE_MAX, &text, &len, NULL) == 0)
		rc = copy_system(text, skip, &out);
	free(text);
	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (rc < 0 || fd < 0 || ats_fd_write_all(fd, out.data, out.len) < 0)
		return ats_err_sys(err, "write %s", path);
	return 0;
}

static int
write_rc(const char *dir, struct ats_err *err)
{
	ATS_CLEANUP_FD int fd = -1;
	char path[256];

	(void)snprintf(path, sizeof path, "%s/" RC, dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ats_fd_write_all(fd, rc_text, sizeof rc_text - 1) < 0)
		return ats_err_sys(err, "write %s", path);
	return 0;
}

int
users_write(const struct box *b, const char *dir, struct ats_err *err)
{
	char line[256];
	int rc;

	(void)snprintf(line, sizeof line, "agent:x:%u:%u:agent:%s:/bin/bash\n",
	    b->worker_uid, b->worker_gid, BOX_HOME);
	rc = write_one(dir, "passwd", line, b->worker_uid, err);
	if (rc < 0)
		return rc;
	(void)snprintf(line, sizeof line, "agent:x:%u:\n", b->worker_gid);
	rc = write_one(dir, "group", line, b->worker_gid, err);
	return rc < 0 ? rc : write_rc(dir, err);
}

/* Places for the mounts: regular files. A directory is nothing that a shell would read. */
static int
mask_start_up(const char *name, struct ats_err *err)
{
	char path[sizeof BOX_HOME + 64];
	struct stat st;

	(void)snprintf(path, sizeof path, BOX_HOME "/%s", name);
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return 0;
		if (unlink(path) < 0)
			return ats_err_sys(err, "unlink %s", path);
	}
	if (mknod(path, S_IFREG | 0644, 0) < 0 && errno != EEXIST)
		return ats_err_sys(err, "create %s", path);
	return mnt_cover("/run/ats/" RC, path, err);
}

int
users_mask(const struct box *b, struct ats_err *err)
{
	int rc = mnt_cover("/run/ats/passwd", "/etc/passwd", err);

	(void)b;
	if (rc == 0)
		rc = mnt_cover("/run/ats/group", "/etc/group", err);
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(start_up); i++)
		rc = mask_start_up(start_up[i], err);
	return rc;
}
