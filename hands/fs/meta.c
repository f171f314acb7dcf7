/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies what belongs to a file besides its content. Runs in workers of the write
 * profile, usually without any capability: what it may not copy makes the caller write in
 * place. */
#include "hands/fs/replace.h"

#include "common/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIST_MAX 65536u
#define VALUE_MAX 65536u

/* The names; *ret_n 0 when there are none or the file system has none. NULL: no memory.
 */
static char *
list(int fd, char *small, size_t small_size, size_t *ret_n)
{
	ssize_t n = flistxattr(fd, small, small_size);
	char *p;

	*ret_n = n > 0 ? (size_t)n : 0;
	if (n >= 0 || errno != ERANGE)
		return small;
	p = ats_malloc(LIST_MAX);
	n = p != NULL ? flistxattr(fd, p, LIST_MAX) : -1;
	*ret_n = n > 0 ? (size_t)n : 0;
	return p;
}

/* Kernel-made labels: writing a file drops or makes them anyway. */
static bool
is_ours(const char *name)
{
	return strncmp(name, "security.", 9) != 0 && strncmp(name, "trusted.", 8) != 0;
}

static int
copy_one(int old_fd, int fd, const char *name, char *value)
{
	ssize_t n = fgetxattr(old_fd, name, value, VALUE_MAX);

	if (n < 0)
		return errno == ENODATA ? 0 : 1;
	return fsetxattr(fd, name, value, (size_t)n, 0) == 0 ? 0 : 1;
}

static int
copy_xattrs(int old_fd, int fd, struct ats_err *err)
{
	char small[512], small_new[512];
	size_t n, n_new;
	char *names = list(old_fd, small, sizeof(small), &n), *value = NULL;
	char *made = list(fd, small_new, sizeof(small_new), &n_new);
	int rc = 0;

	if (names != NULL && n > 0)
		value = ats_malloc(VALUE_MAX);
	if (names == NULL || made == NULL || (n > 0 && value == NULL))
		rc = ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	/* The directory's default ACL may have come with the new file. */
	for (size_t i = 0; rc == 0 && i < n_new; i += strlen(made + i) + 1)
		if (is_ours(made + i) &&
		    memmem(names, n, made + i, strlen(made + i) + 1) == NULL &&
		    fremovexattr(fd, made + i) < 0)
			rc = 1;
	for (size_t i = 0; rc == 0 && i < n; i += strlen(names + i) + 1)
		if (is_ours(names + i))
			rc = copy_one(old_fd, fd, names + i, value);
	free(value);
	if (names != small)
		free(names);
	if (made != small_new)
		free(made);
	return rc;
}

int
replace_copy_meta(int old_fd, const struct stat *old, int fd, struct ats_err *err)
{
	mode_t want = old->st_mode & 07777;
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return ats_err_sys(err, "cannot look at the temporary file");
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid == st.st_uid ? (uid_t)-1 : old->st_uid, old->st_gid) <
		0)
		return 1;
	rc = copy_xattrs(old_fd, fd, err);
	if (rc != 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return ats_err_sys(err, "cannot look at the temporary file");
	if ((st.st_mode & 07777) != want && fchmod(fd, want) < 0)
		return 1;
	return 0;
}
