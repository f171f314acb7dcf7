/* SPDX-License-Identifier: Apache-2.0
 *
 * logfmt lines on stderr or a file: ts= level= proc= msg= and what the format adds, quoted by
 * the rules of common/logfmt.h: what a peer says may stand in any field as it is. Library code is
 * silent; the owner of a request logs its failure once. A line that concerns a session, a sandbox
 * or a call names it as session= sandbox= call=c-N, in every process. errno is kept.
 *
 * Where the descriptor is systemd's journal (JOURNAL_STREAM), each line begins with its priority,
 * <3>, <4>, <6> or <7>, which the journal takes off: journalctl -p warning. */
#ifndef ATS_COMMON_LOG_H
#define ATS_COMMON_LOG_H

#include <stddef.h>

#include "common/err.h"

enum ats_log_level { ATS_LOG_ERROR, ATS_LOG_WARN, ATS_LOG_INFO, ATS_LOG_DEBUG };

/* proc is borrowed for ever ("vault", "engine", "front" ...). fd is borrowed. Reads the environment
 * and asks what fd is, once: before the process is confined, or where fstat(2) is allowed. */
void ats_log_init(const char *proc, enum ats_log_level level, int fd);
/* Lines below this level are left out. */
void ats_log_level_set(enum ats_log_level level);
/* "error", "warn", "info" or "debug"; else -ATS_E_INVAL. */
ATS_NODISCARD int ats_log_level_parse(const char *name, enum ats_log_level *ret_level);
/* msg becomes msg="..." (escaped); fields is a format of ats_logfmt_fields, e.g.
 * ats_log(ATS_LOG_WARN, "link closed", "sandbox=%s code=%s", id, name), or NULL. */
void ats_log(enum ats_log_level level, const char *msg, const char *fields, ...)
    ATS_PRINTF(3, 4);
/* The priority for a line of another form on stderr, as what is misused; "" for no journal. */
ATS_NODISCARD const char *ats_log_mark(enum ats_log_level level);
/* The environment of a process of ours that gets our log: what says where that goes, and
 * ats_fault_env(). Valid until the next call. */
ATS_NODISCARD const char *const *ats_log_env(void);
/* Writes a quoted, escaped, cut copy of a string of so many bytes into out[size], for a field
 * whose text has no NUL at its end; returns out. */
const char *ats_log_quote(char *out, size_t size, const char *s, size_t n);
/* Logs and exits 1; main.c only, before the loop. */
void ats_fatal(const char *fmt, ...) ATS_PRINTF(1, 2) __attribute__((noreturn));

#endif
