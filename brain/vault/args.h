/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of calls that are too long for a message: they go in files of memory. */
#ifndef ATS_VAULT_ARGS_H
#define ATS_VAULT_ARGS_H

#include <stdint.h>

#include "common/buf.h"
#include "common/digest.h"

/* A file of memory with these bytes that nobody can change. *ret_fd is owned. */
ATS_NODISCARD int vault_file_of(struct ats_slice bytes, int *ret_fd);
/* Copies the whole of fd into out, which is empty and has the most that is taken as its cap. Only
 * files of memory are read: no other one's owner can make a read wait. -ATS_E_NOTFILE,
 * -ATS_E_TOOBIG, -ATS_E_NOMEM, -ATS_E_SYS. */
ATS_NODISCARD int vault_read_file(int fd, struct ats_buf *out);

/* Copies the whole of fd, which is as above and has at most max bytes, into a file as
 * vault_file_of makes one, and hashes what it copies. *ret_fd is owned. */
ATS_NODISCARD int vault_copy_file(int fd, uint64_t max, int *ret_fd, uint64_t *ret_size,
    char sha256[ATS_SHA256_HEX]);

#endif
