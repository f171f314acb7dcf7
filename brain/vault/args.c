/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in the vault. A file that comes is the engine's, who may be compromised and may change it
 * meanwhile: it is copied once, never mapped, and judged by the copy. */
#include "brain/vault/args.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/fd.h"

#define STEP (64u << 10)

static int
seal(int fd)
{
	return lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW |
	    F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ? -ATS_E_SYS : 0;
}

int
vault_file_of(struct ats_slice bytes, int *ret_fd)
{
	int fd ATS_CLEANUP_FD = memfd_create("arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ats_fd_write_all(fd, bytes.p, bytes.n) < 0 || seal(fd) < 0)
		return -ATS_E_SYS;
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

/* Only what has seals is in memory: with another file system a read could wait for ever. */
static int
check(int fd, uint64_t max, struct stat *st)
{
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || fcntl(fd, F_GET_SEALS) < 0)
		return -ATS_E_NOTFILE;
	return st->st_size < 0 || (uint64_t)st->st_size > max ? -ATS_E_TOOBIG : 0;
}

int
vault_read_file(int fd, struct ats_buf *out)
{
	struct stat st;
	size_t n = 0;
	char *to;
	int rc = check(fd, out->max, &st);

	if (rc < 0)
		return rc;
	rc = ats_buf_reserve(out, (size_t)st.st_size, &to);
	if (rc < 0)
		return rc;
	while (n < (size_t)st.st_size) {
		ssize_t got = pread(fd, to + n, (size_t)st.st_size - n, (off_t)n);

		if (got <= 0)
			return -ATS_E_SYS;	/* it was cut meanwhile */
		n += (size_t)got;
	}
	ats_buf_commit(out, n);
	return 0;
}

/* Each byte is hashed as it goes into the copy: it does not matter what becomes of fd meanwhile. */
static int
copy(int from, int to, uint64_t size, struct ats_sha256 *sha)
{
	char buf[STEP];
	uint64_t n = 0;

	while (n < size) {
		size_t want = size - n < sizeof(buf) ? (size_t)(size - n) : sizeof(buf);
		ssize_t got = pread(from, buf, want, (off_t)n);

		if (got <= 0 || ats_fd_write_all(to, buf, (size_t)got) < 0)
			return -ATS_E_SYS;
		ats_sha256_add(sha, buf, (size_t)got);
		n += (uint64_t)got;
	}
	return 0;
}

int
vault_copy_file(int from, uint64_t max, int *ret_fd, uint64_t *ret_size,
    char sha256[ATS_SHA256_HEX])
{
	int fd ATS_CLEANUP_FD = memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ats_sha256 *sha;
	struct stat st;
	int rc = check(from, max, &st);

	if (rc < 0)
		return rc;
	sha = ats_sha256_new();
	if (fd < 0 || sha == NULL) {
		ats_sha256_free(sha);
		return fd < 0 ? -ATS_E_SYS : -ATS_E_NOMEM;
	}
	rc = copy(from, fd, (uint64_t)st.st_size, sha);
	ats_sha256_finish(sha, sha256);
	if (rc == 0)
		rc = seal(fd);
	if (rc < 0)
		return rc;
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}
