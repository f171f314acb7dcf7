/* SPDX-License-Identifier: Apache-2.0
 *
 * What credentials.c (the values, for the vault), credential_reading.c (how one comes) and
 * credential_mask.c share; nobody else includes this. */
#ifndef ATS_VAULT_CREDENTIALS_PRIVATE_H
#define ATS_VAULT_CREDENTIALS_PRIVATE_H

#include "brain/vault/credentials.h"
#include "brain/vault/said.h"

struct event;

enum credential_state { CREDENTIAL_UNREAD, CREDENTIAL_READING, CREDENTIAL_HAVE, CREDENTIAL_FAILED };
struct credential {
	struct vault *v;
	const struct credential_source *src;
	enum credential_state state;
	struct ats_secret *value;	/* of the last reading that went well, or NULL */
	struct ats_err why;		/* of FAILED, and of READING that is to fail */
	uint64_t failed_ms, refused_ms;
	/* of READING: what the command says */
	int fd;
	struct event *rd, *timer;
	char *bytes;			/* ATS_SECRET_MAX of them */
	size_t n;
	struct said said;
};
struct credentials {
	struct credential *v;
	size_t n;
};

/* ---- credentials.c */
/* The one of that name (borrowed), or NULL. */
struct credential *credential_find(const struct vault *v, const char *name);

/* ---- credential_reading.c */
/* Has it read, by the spawner: the end is told by gateway_credential_known. -ATS_E_AGAIN,
 * -ATS_E_NOMEM, ...: nothing is under way. */
ATS_NODISCARD int credential_start(struct credential *c, struct ats_err *err);
/* Now, of a file, before the vault is confined. */
void credential_read_now(struct credential *c);
/* Frees what a reading under way holds, and wipes what came. */
void credential_stop(struct credential *c);

/* ---- credential_mask.c */
/* Appends from with *** for each time that the value is in it; one of a few letters is not looked
 * for, since it stands in every text. */
ATS_NODISCARD int credential_mask_one(const char *value, size_t n, const struct ats_buf *from,
    struct ats_buf *out);

#endif
