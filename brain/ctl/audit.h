/* SPDX-License-Identifier: Apache-2.0
 *
 * The vault's audit log as lines, in the order in which they were written, over its rotated
 * files. Reads only; nothing is printed here. Process: atsctl. */
#ifndef ATS_CTL_AUDIT_H
#define ATS_CTL_AUDIT_H

#include <sys/types.h>

#include "common/json.h"
#include "common/path.h"

#define AUDIT_FILES 5u			/* audit.jsonl, .1 (the newest that is rotated) ... .4 */
#define AUDIT_LINE_MAX (8u << 20)	/* arguments of ATS_GATEWAY_ARGS_MAX, escaped */

struct audit_filter {
	const char *session, *tool;	/* or NULL: any */
	uint64_t since_ms;		/* since 1970; 0: any */
};
/* Whether a line is wanted: 1, 0, or -ATS_E_JSON, -ATS_E_UTF8, -ATS_E_FIELD when it is no line of
 * the log: no strict JSON, no object, or without a time. */
ATS_NODISCARD int audit_wants(const struct audit_filter *f, struct ats_slice line);

struct audit_file {
	int fd;				/* -1: none */
	unsigned age;			/* of its name when it was opened, 0 the newest */
	dev_t dev;
	ino_t ino;
	uint64_t line;			/* number of the last one that was given */
};
struct audit {
	char dir[ATS_PATH_MAX];
	struct audit_file now;		/* the one that is read */
	struct audit_file next[AUDIT_FILES];	/* those that follow it, the last of these first */
	size_t nnext;
	bool checked;			/* now is the newest, or what is left in it is its end */
	struct ats_buf in;
	size_t used;			/* bytes of the line that was given last */
	bool skipping;			/* the rest of a line that is too long */
};
/* Opens what there is in dir. -ATS_E_NOENT when there is no log, -ATS_E_PERM. */
ATS_NODISCARD int audit_open(struct audit *a, const char *dir, struct ats_err *err);
void audit_close(struct audit *a);
/* The next whole line: 1, 0 at the end for now, -ATS_E_SYS, or -ATS_E_TOOBIG for one that is
 * passed over. A last line without its end is not there: it is torn, or not yet written. After 0
 * it may be called again: what was added since then comes, also from files that took the
 * place of the newest. *ret_line is valid until the next call. */
ATS_NODISCARD int audit_next(struct audit *a, struct ats_slice *ret_line);
/* File and number of the line that was given last, for messages. */
void audit_where(const struct audit *a, char *out, size_t size);

#endif
