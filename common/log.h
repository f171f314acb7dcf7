/* SPDX-License-Identifier: Apache-2.0
 *
 * logfmt lines on stderr or a file: ts= level= proc= msg= and what the format adds, quoted by
 * the rules of common/logfmt.h: what a peer says may stand in any field as it is. Library code is
 * silent; the owner of a request logs its failure once. A line that concerns a session, a sandbox
 * or a call names it as session= sandbox= call=c-N, in every process. errno is kept. */
#ifndef ATS_COMMON_LOG_H
#define ATS_COMMON_LOG_H

#include <stddef.h>

#include "common/err.h"

enum ats_log_level { ATS_LOG_ERROR, ATS_LOG_WARN, ATS_LOG_INFO, ATS_LOG_DEBUG };

/* proc is borrowed for ever ("vault", "engine", "front" ...). fd is borrowed. */
void ats_log_init(const char *proc, enum ats_log_level level, int fd);
/* Lines below this level are left out. */
void ats_log_level_set(enum ats_log_level level);
/* "error", "warn", "info" or "debug"; else -ATS_E_INVAL. */
ATS_NODISCARD int ats_log_level_parse(const char *name, enum ats_log_level *ret_level);
/* msg becomes msg="..." (escaped); fields is a format of ats_logfmt_fields, e.g.
 * ats_log(ATS_LOG_WARN, "link closed", "sandbox=%s code=%s", id, name), or NULL. */
void ats_log(enum ats_log_level level, const char *msg, const char *fields, ...)
    ATS_PRINTF(3, 4);
/* Writes a quoted, escaped, cut copy of a string of so many bytes into out[size], for a field
 * whose text has no NUL at its end; returns out. */
const char *ats_log_quote(char *out, size_t size, const char *s, size_t n);
/* Logs and exits 1; main.c only, before the loop. */
void ats_fatal(const char *fmt, ...) ATS_PRINTF(1, 2) __attribute__((noreturn));

#endif
