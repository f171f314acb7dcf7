/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's own programs: a command of a tool, or an MCP server. Each has a session of its own,
 * three pipes, a clean environment with what the configuration adds, and the credential where the
 * configuration says. All that it started ends with it. */
#ifndef ATS_GATEWAY_PROGRAM_H
#define ATS_GATEWAY_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define PROGRAM_STDIN_MAX (17u << 20)	/* bytes that wait for it to read */
#define PROGRAM_DATA_MAX (4ull << 30)	/* bytes of private memory of one process (RLIMIT_DATA) */

struct gateway;
struct program;
struct programs;

struct program_ops {
	/* Bytes of its stdout. It may call program_write and program_kill. */
	void (*out)(void *ctx, const char *p, size_t n);
	/* It has ended, and all of its stdout was given; status as of waitpid(2). p is freed after
	 * it. Not called after program_kill. */
	void (*ended)(void *ctx, int status);
};

struct program_plan {
	char *const *argv;	/* argv[0] is an absolute path */
	uint64_t cpu_s;		/* seconds of processor time of a process, 0: no limit */
	const int *files;	/* files[i] becomes ATS_GATEWAY_FILE_FD + i; -1: none */
	size_t nfiles;		/* at most ATS_GATEWAY_FILES_MAX */
};

struct programs *programs_new(struct gateway *g);	/* returns owned, or NULL */
void programs_free(struct programs *ps);		/* kills and waits; NULL is fine */
/* Returns borrowed in *ret. An error means that nothing runs. */
ATS_NODISCARD int program_start(struct programs *ps, const struct program_plan *plan,
    const struct program_ops *ops, void *ctx, struct program **ret, struct ats_err *err);
/* Queues bytes for its stdin. -ATS_E_TOOBIG (it does not read), -ATS_E_EOF (closed),
 * -ATS_E_NOMEM. */
ATS_NODISCARD int program_write(struct program *p, const void *s, size_t n);
void program_close_stdin(struct program *p);	/* after what is queued */
/* Ends it and all that it has started; nothing more is heard of it. NULL is fine. */
void program_kill(struct program *p);
/* The end of its stderr, masked and quoted, in out; returns out. */
const char *program_stderr(const struct program *p, char *out, size_t size);

#endif
