/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of credentials: held by the vault in memory that is locked, handed to a gateway's
 * process through a pipe, and shown to nobody. */
#ifndef ATS_VAULT_CREDENTIALS_H
#define ATS_VAULT_CREDENTIALS_H

#include "brain/vault/sources.h"
#include "common/buf.h"
#include "common/secret.h"

#define CREDENTIAL_MS 10000		/* a command that has not ended by then is killed */

struct ats_ipc_msg;
struct ats_json_w;
struct vault;
struct credentials;

/* Opens the file or systemd's of s, and looks whether it is what it should be: a regular file, no
 * link, ours, and nobody else's to read. *ret_fd is owned. Runs in the vault before it is confined
 * and in the spawner. -ATS_E_PERM, -ATS_E_NOENT, ... with what to do. */
ATS_NODISCARD int credential_open(const struct credential_source *s, int *ret_fd,
    struct ats_err *err);
/* Reads the first line of at most ATS_SECRET_MAX bytes. Returns owned in *ret. */
ATS_NODISCARD int credential_read(int fd, const char *name, struct ats_secret **ret,
    struct ats_err *err);
/* The same from bytes, which are wiped. */
ATS_NODISCARD int credential_take(char *bytes, size_t n, const char *name,
    struct ats_secret **ret, struct ats_err *err);

/* Before the vault is confined: reads all that need no command. One that cannot be read is an
 * error when it is used. -ATS_E_NOMEM. */
ATS_NODISCARD int credentials_open(struct vault *v, struct ats_err *err);
void credentials_free(struct vault *v);
/* 0 and the value, borrowed until the loop runs again; -ATS_E_AGAIN: it is being read, and
 * gateway_credential_known follows; else why it cannot be had. */
ATS_NODISCARD int credentials_get(struct vault *v, const char *name,
    const struct ats_secret **ret, struct ats_err *err);
/* Reads it again; gateway_credential_known follows. -ATS_E_UNKNOWN_ID, -ATS_E_BUSY. */
ATS_NODISCARD int credentials_again(struct vault *v, const char *name, struct ats_err *err);
/* An upstream does not accept the value that it has: it is read again, as above. False: that was
 * done not long ago, or cannot be done. */
bool credentials_refused(struct vault *v, const char *name);
/* Takes what is of a credential; false: it is of something else. */
bool credentials_on_spawner(struct vault *v, struct ats_ipc_msg *m);
/* Appends text with *** for each value that is known, as it is and as a JSON string has it. */
ATS_NODISCARD int credentials_mask(const struct vault *v, struct ats_slice text,
    struct ats_buf *out);
/* An array of all, or of the one of that name: name, source, state, why, who uses it. */
void credentials_json(const struct vault *v, const char *name, struct ats_json_w *w);
/* An array of those that cannot be had, as far as that can be known without running a command of
 * theirs: name, source, error. Opens nothing. */
void credentials_unwell_json(const struct vault *v, struct ats_json_w *w);

#endif
