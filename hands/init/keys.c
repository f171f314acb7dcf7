/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading keys. Runs in the launcher, before there is a box; files and descriptor are those
 * of whoever started us. */
#include "hands/init/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/secret.h"

#define PEM_MAX (8u << 10)	/* of one file */
#define TEXTS 4u		/* of FRONT_FD_KEY: the key, certificate, its key, CAs */

/* Up to size bytes; none remain in a buffer of stdio. */
static int
read_some(int fd, const char *what, char *to, size_t size, size_t *ret_n, struct ats_err *err)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < size && got > 0) {
		got = ats_fd_read(fd, to + n, size - n);
		if (got > 0)
			n += (size_t)got;
	}
	if (got < 0)
		return ats_err_sys(err, "read of %s", what);
	if (n == size)
		return ats_err_set(err, ATS_E_TOOBIG, "%s: more than %zu bytes", what, size - 1);
	*ret_n = n;
	return 0;
}

/* Only its owner may read it, and that is us or root. Follows links: what secrets are mounted
 * as is one, often. */
static int
open_secret(const char *path, char ret_real[PATH_MAX], int *ret_fd, struct ats_err *err)
{
	struct stat st;
	int fd ATS_CLEANUP_FD = -1;

	if (realpath(path, ret_real) == NULL)
		return ats_err_sys(err, "%s", path);
	fd = open(ret_real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return ats_err_set(err, ATS_E_INVAL, "%s is no regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return ats_err_set(err, ATS_E_INVAL, "%s belongs to user %u, who could change it; "
		    "it must be ours or root's", path, (unsigned)st.st_uid);
	if ((st.st_mode & 077) != 0)
		return ats_err_set(err, ATS_E_INVAL, "%s can be read by others (mode %03o); "
		    "remedy: chmod 600, or mount it with mode 0400", path,
		    (unsigned)st.st_mode & 0777);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

/* A key that was waited for, and the workspace that may come with it. */
static int
read_given(int fd, const char *path, struct keys *k, char *to, size_t size, size_t *ret_n,
    struct ats_err *err)
{
	char given[KEY_GIVEN_MAX];
	size_t n = 0;
	int rc = read_some(fd, path, given, sizeof(given), &n, err);

	if (rc == 0)
		rc = key_cut_workspace(given, &n, k->workspace, sizeof(k->workspace), err);
	if (rc == 0 && n >= size)
		rc = ats_err_set(err, ATS_E_TOOBIG, "%s: a line of more than %zu bytes", path,
		    size - 1);
	if (rc == 0) {
		memcpy(to, given, n);
		*ret_n = n;
	}
	ats_secret_wipe(given, sizeof(given));
	return rc;
}

static int
read_key_text(const struct hands_options *o, struct keys *k, char *to, size_t size,
    size_t *ret_n, struct ats_err *err)
{
	char real[PATH_MAX];
	int fd ATS_CLEANUP_FD = -1, rc;

	if (o->key_fd >= 0) {
		fd = o->key_fd;
		return read_some(fd, "--key-fd", to, size, ret_n, err);
	}
	rc = open_secret(o->key_file, real, &fd, err);
	if (rc == 0 && o->key_wait_s > 0)
		rc = read_given(fd, o->key_file, k, to, size, ret_n, err);
	else if (rc == 0)
		rc = read_some(fd, o->key_file, to, size, ret_n, err);
	if (rc == 0)
		memcpy(k->kept[0], real, sizeof(real));
	return rc;
}

static int
read_pem(const char *path, bool secret, struct keys *k, char *to, size_t *ret_n,
    struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1, rc = 0;

	if (path == NULL)
		return 0;
	if (secret)
		rc = open_secret(path, k->kept[1], &fd, err);
	else if ((fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		rc = ats_err_sys(err, "%s", path);
	if (rc == 0)
		rc = read_some(fd, path, to, PEM_MAX, ret_n, err);
	if (rc == 0 && memchr(to, '\0', *ret_n) != NULL)
		rc = ats_err_set(err, ATS_E_INVAL, "%s is no PEM text", path);
	return rc;
}

/* The texts, each with its NUL. */
static int
read_all(const struct hands_options *o, struct keys *k, char *all, size_t *ret_n,
    struct ats_err *err)
{
	char line[KEY_TEXT_MAX];
	size_t n = 0, len = 0;
	const char *const files[TEXTS - 1] = { o->tls_cert, o->tls_key, o->tls_ca };
	int rc = read_key_text(o, k, line, sizeof(line), &len, err);

	if (rc == 0) {
		memcpy(all, line, len);
		n = len + 1;
		rc = key_parse(line, len, &k->key, err);
	}
	ats_secret_wipe(line, sizeof(line));
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(files); i++) {
		len = 0;
		rc = read_pem(files[i], files[i] == o->tls_key, k, all + n, &len, err);
		n += len + 1;
	}
	*ret_n = n;
	return rc;
}

int
keys_read(const struct hands_options *o, struct keys *ret, struct ats_err *err)
{
	size_t size = KEY_TEXT_MAX + TEXTS * PEM_MAX, n = 0;
	char *all;
	int rc;

	if (o->key_file == NULL && o->key_fd < 0)
		return 0;
	all = calloc(1, size);
	if (all == NULL)
		return -ATS_E_NOMEM;
	rc = read_all(o, ret, all, &n, err);
	if (rc == 0)
		rc = ats_secret_new(all, n, &ret->texts, err);
	ats_secret_wipe(all, size);
	free(all);
	if (rc == 0 && o->connects && ats_addr_has_tls(&o->connect) && !ret->key.has_pin &&
	    o->tls_ca == NULL)
		rc = ats_err_set(err, ATS_E_INVAL, "--connect %s: nothing says which certificate "
		    "is brain's; the line that \"atsctl sandbox enroll\" prints ends in its "
		    "fingerprint, or give --tls-ca FILE", o->connect.text);
	return rc;
}

void
keys_remove(struct keys *k)
{
	if (k->kept[0][0] != '\0' && unlink(k->kept[0]) == 0)
		k->kept[0][0] = '\0';
}

int
keys_pass(const struct keys *k, int *ret_fd, struct ats_err *err)
{
	const char *bytes;
	int ends[2], rc = 0;
	size_t n;

	*ret_fd = -1;
	if (k->texts == NULL)
		return 0;
	if (ats_fd_pipe(ends, O_NONBLOCK) < 0)
		return ats_err_sys(err, "pipe");
	bytes = ats_secret_bytes(k->texts, &n);
	if (write(ends[1], bytes, n) != (ssize_t)n)
		rc = ats_err_set(err, ATS_E_SYS, "a pipe does not take %zu bytes", n);
	ats_fd_close(&ends[1]);
	if (rc == 0)
		*ret_fd = ats_steal_fd(&ends[0]);
	ats_fd_close(&ends[0]);
	return rc;
}

void
keys_done(struct keys *k)
{
	key_done(&k->key);
	ats_secret_free(k->texts);
	k->texts = NULL;
}
