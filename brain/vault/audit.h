/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log: one JSON object a line (proto/audit.def) for each decision about a call, and its
 * end. Append only, the vault's alone. */
#ifndef ATS_VAULT_AUDIT_H
#define ATS_VAULT_AUDIT_H

#include <stdint.h>

#include "common/buf.h"

#define AUDIT_KEPT 4			/* rotated files */

#define AUDIT_STR(m) const char *m;
#define AUDIT_U64(m) uint64_t m;
#define AUDIT_NUM(m) uint64_t m;
#define AUDIT_RAW(m) struct ats_slice m;
/* Borrowed. NULL, empty or 0 is absent; time is filled in. */
struct audit_line {
#define AUDIT(member, wire, type, doc) AUDIT_##type(member)
#include "proto/audit.def"
#undef AUDIT
};
#undef AUDIT_STR
#undef AUDIT_U64
#undef AUDIT_NUM
#undef AUDIT_RAW

struct audit;

/* dir is the vault's own. The file is opened by the first line. Returns owned, or NULL. */
struct audit *audit_new(const char *dir, uint64_t max_bytes);
void audit_free(struct audit *a);
/* Appends the line, by one write. When it cannot be written whole nothing of it stays, and what it
 * is about must not happen: -ATS_E_NOSPC, -ATS_E_SYS, -ATS_E_PERM, logged here. */
ATS_NODISCARD int audit_write(struct audit *a, const struct audit_line *line, struct ats_err *err);

#endif
