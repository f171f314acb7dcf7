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

#include "common/fd.h"

int
vault_file_of(struct ats_slice bytes, int *ret_fd)
{
	int fd ATS_CLEANUP_FD = memfd_create("arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ats_fd_write_all(fd, bytes.p, bytes.n) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -ATS_E_SYS;
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

int
vault_read_file(int fd, struct ats_buf *out)
{
	struct stat st;
	size_t n = 0;
	char *to;
	int rc;

	/* Only what has seals is in memory: with another file system a read could wait for ever. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fcntl(fd, F_GET_SEALS) < 0)
		return -ATS_E_NOTFILE;
	if (st.st_size < 0 || (uint64_t)st.st_size > out->max)
		return -ATS_E_TOOBIG;
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
