/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors: whole reads and writes, passing by SCM_RIGHTS, pipes and sockets that are
 * CLOEXEC and (where said) NONBLOCK at creation. */
#ifndef ATS_COMMON_FD_H
#define ATS_COMMON_FD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

#define ATS_FD_PASS_MAX 8

void ats_fd_close(int *fd);	/* closes if >= 0 and sets -1; keeps errno */
#define ATS_CLEANUP_FD __attribute__((cleanup(ats_fd_close)))
int ats_steal_fd(int *fd);	/* hands it over: sets -1, returns what it was */

/* Blocking, restarted on EINTR. 0 or -ATS_E_SYS / -ATS_E_EOF / -ATS_E_NOSPC. */
ATS_NODISCARD int ats_fd_read_all(int fd, void *p, size_t n);
ATS_NODISCARD int ats_fd_write_all(int fd, const void *p, size_t n);
/* Restarted on EINTR: like read/write/recv otherwise; these are the fault points of tests. */
ssize_t ats_fd_read(int fd, void *p, size_t n);
ssize_t ats_fd_write(int fd, const void *p, size_t n);
/* Reads a small regular file whole (returns owned, NUL-terminated). -ATS_E_NOTFILE, -ATS_E_TOOBIG,
 * -ATS_E_NOMEM, or what ats_err_sys makes of the system's. */
ATS_NODISCARD int ats_fd_slurp(int dirfd, const char *path, size_t max_bytes,
    char **ret_text, size_t *ret_len, struct ats_err *err);

/* O_NONBLOCK of its description, which others may share; FD_CLOEXEC. 0 or -ATS_E_SYS with errno. */
ATS_NODISCARD int ats_fd_nonblock(int fd, bool on);
ATS_NODISCARD int ats_fd_cloexec(int fd, bool on);
/* Lets a whole answer of usual size stand in what is written to, a socket or a pipe, so that its
 * two ends do not wake each other for every part. Where it cannot be, it is only slower. */
void ats_fd_widen(int fd);
/* A file in memory that holds these bytes, read from its begin on; name is for /proc. Returns owned
 * (CLOEXEC), or -1 with errno. */
ATS_NODISCARD int ats_fd_memory(const char *name, const void *p, size_t n);
/* Moves *fd, unless it is there, to a number of at least min, close-on-exec; the old one is closed
 * in any case. -ATS_E_SYS with errno, and *fd is -1. */
ATS_NODISCARD int ats_fd_raise(int *fd, int min);
/* 0 or -ATS_E_SYS with errno; both ends are owned. */
ATS_NODISCARD int ats_fd_pipe(int ret_fds[2], int flags);	/* O_CLOEXEC is added */
ATS_NODISCARD int ats_fd_socketpair(int type, int ret_fds[2]);	/* AF_UNIX, CLOEXEC */

/* One message with up to ATS_FD_PASS_MAX descriptors (borrowed). Returns bytes sent or
 * -ATS_E_AGAIN / -ATS_E_EOF / -ATS_E_SYS. Never raises SIGPIPE. */
ATS_NODISCARD ssize_t ats_fd_send(int sock, const void *p, size_t n, const int *fds,
    size_t nfds);
/* Received descriptors are CLOEXEC and owned by the caller. Refuses (closes) more than
 * max_fds. Returns bytes, 0 or -ATS_E_EOF at the end, which is behind all that the peer had said,
 * -ATS_E_AGAIN, -ATS_E_SYS, -ATS_E_PROTO. */
ATS_NODISCARD ssize_t ats_fd_recv(int sock, void *p, size_t n, int *ret_fds,
    size_t max_fds, size_t *ret_nfds);

/* Unix sockets. path up to 107 bytes. listen: mode 0600/0660 as given, CLOEXEC, NONBLOCK;
 * replaces a stale socket file, but the caller must hold the lock that proves it stale. */
ATS_NODISCARD int ats_fd_unix_listen(const char *path, int type, unsigned mode, int *ret_fd,
    struct ats_err *err);
/* Blocks until the listener has room. Returns owned, CLOEXEC; errors as ats_err_sys has them. */
ATS_NODISCARD int ats_fd_unix_connect(const char *path, int type, int *ret_fd,
    struct ats_err *err);
/* Who connected (SO_PEERCRED: as it was then); each may be NULL. 0 or -ATS_E_SYS. */
ATS_NODISCARD int ats_fd_peer(int sock, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid);
/* Whether a pipe is empty and nobody can write to it any more. Empty alone is not the end:
 * others may read it, too. */
bool ats_fd_at_end(int fd);

#endif
