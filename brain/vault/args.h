/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of calls that are too long for a message: they go in files of memory. */
#ifndef ATS_VAULT_ARGS_H
#define ATS_VAULT_ARGS_H

#include "common/buf.h"

/* A file of memory with these bytes that nobody can change. *ret_fd is owned. */
ATS_NODISCARD int vault_file_of(struct ats_slice bytes, int *ret_fd);
/* Copies the whole of fd into out, which is empty and has the most that is taken as its cap. Only
 * files of memory are read: no other one's owner can make a read wait. -ATS_E_NOTFILE,
 * -ATS_E_TOOBIG, -ATS_E_NOMEM, -ATS_E_SYS. */
ATS_NODISCARD int vault_read_file(int fd, struct ats_buf *out);

#endif
