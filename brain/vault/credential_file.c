/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of credentials, and what a value may be. Runs in the vault before it is confined, and in
 * the spawner; the files are the user's, what a command prints is its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/credentials.h"
#include "common/fd.h"
#include "common/path.h"

/* systemd's own directory is of the service alone; its files may be root's and read by a group. */
static int
check_file(const struct credential_source *s, const struct stat *st, struct ats_err *err)
{
	unsigned mode = (unsigned)(st->st_mode & 07777);
	bool ours = s->kind == CREDENTIAL_FILE;

	if (!S_ISREG(st->st_mode))
		return ats_err_set(err, ATS_E_NOTFILE, "credentials.%s: %s is not a regular file",
		    s->name, s->at);
	if (ours && st->st_uid != geteuid())
		return ats_err_set(err, ATS_E_PERM, "credentials.%s: %s is uid %u's, not ours; "
		    "chown it", s->name, s->at, (unsigned)st->st_uid);
	if (ours ? mode != 0600 && mode != 0400 : (mode & 0027) != 0)
		return ats_err_set(err, ATS_E_PERM, "credentials.%s: %s has mode %04o: others may "
		    "have read it; chmod 600 it, and think of a new value", s->name, s->at, mode);
	if (st->st_size > ATS_SECRET_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "credentials.%s: %s is longer than %u bytes",
		    s->name, s->at, ATS_SECRET_MAX);
	return 0;
}

static int
find_path(const struct credential_source *s, char out[ATS_PATH_MAX], struct ats_err *err)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	int n;

	if (s->kind == CREDENTIAL_FILE)
		n = snprintf(out, ATS_PATH_MAX, "%s", s->at);
	else if (dir == NULL || dir[0] != '/')
		return ats_err_set(err, ATS_E_NOENT, "credentials.%s: there is no "
		    "$CREDENTIALS_DIRECTORY: brain must be started by a unit with "
		    "LoadCredential=%s:"
		    "PATH", s->name, s->at);
	else
		n = snprintf(out, ATS_PATH_MAX, "%s/%s", dir, s->at);
	return n < 0 || n >= ATS_PATH_MAX ?
	    ats_err_set(err, ATS_E_TOOBIG, "credentials.%s: path too long", s->name) : 0;
}

int
credential_open(const struct credential_source *s, int *ret_fd, struct ats_err *err)
{
	char path[ATS_PATH_MAX];
	int fd ATS_CLEANUP_FD = -1;
	struct stat st;
	int rc = find_path(s, path, err);

	if (rc < 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return ats_err_set(err, ATS_E_NOTFILE, "credentials.%s: %.300s is a symbolic link; "
		    "name the file itself", s->name, path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "credentials.%s: %.300s", s->name, path);
	rc = check_file(s, &st, err);
	if (rc == 0)
		*ret_fd = ats_steal_fd(&fd);
	return rc;
}

int
credential_take(char *bytes, size_t n, const char *name, struct ats_secret **ret,
    struct ats_err *err)
{
	const char *end = memchr(bytes, '\n', n);
	size_t len = end != NULL ? (size_t)(end - bytes) : n;
	int rc = 0;

	if (len > 0 && bytes[len - 1] == '\r')
		len--;
	if (len == 0)
		rc = ats_err_set(err, ATS_E_INVAL, "credentials.%s: the first line is empty", name);
	for (size_t i = 0; rc == 0 && i < len; i++)
		if ((unsigned char)bytes[i] < 0x20 || bytes[i] == 0x7f)
			rc = ats_err_set(err, ATS_E_INVAL, "credentials.%s: the first line holds a "
			    "control character; it must be the value alone", name);
	if (rc == 0)
		rc = ats_secret_new(bytes, len, ret, err);
	ats_secret_wipe(bytes, n);
	return rc;
}

int
credential_read(int fd, const char *name, struct ats_secret **ret, struct ats_err *err)
{
	char bytes[ATS_SECRET_MAX];
	size_t n = 0;
	ssize_t got = 1;
	int rc;

	while (got > 0 && n < sizeof(bytes)) {
		got = ats_fd_read(fd, bytes + n, sizeof(bytes) - n);
		n += got > 0 ? (size_t)got : 0;
	}
	rc = got < 0 ? ats_err_sys(err, "credentials.%s", name) :
	    credential_take(bytes, n, name, ret, err);
	ats_secret_wipe(bytes, sizeof(bytes));
	return rc;
}
