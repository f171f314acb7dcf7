/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of brain.def for common/ipc. */
#ifndef ATS_PROTO_BRAIN_H
#define ATS_PROTO_BRAIN_H

#include "common/ipc.h"

enum ats_brain_from {
	ATS_BRAIN_VAULT = 1, ATS_BRAIN_SPAWNER = 2, ATS_BRAIN_ENGINE = 4, ATS_BRAIN_CLIENT = 8,
	ATS_BRAIN_GATEWAY = 16, ATS_BRAIN_HTTP = 32
};
enum ats_brain_msg {
#define MSG(name, number, from, sig, fds, doc) ATS_MSG_##name = (number),
#include "proto/brain.def"
#undef MSG
};
/* How an error with ATS_E_UNKNOWN_ID begins that tells root whose a thing is; a uid follows. */
#define ATS_IS_OF_UID "it is of uid "
/* Of START_SCRIPT and RUN_SCRIPT. */
enum ats_script_step { SCRIPT_BUILD = 1, SCRIPT_PROBE = 2, SCRIPT_DESTROY = 3 };
/* Of GATEWAY_TOOL and GW_TOOL: what a tool's maker says of it. */
enum ats_gateway_flag {
	GATEWAY_READ_ONLY = 1, GATEWAY_DESTRUCTIVE = 2, GATEWAY_IDEMPOTENT = 4,
	GATEWAY_HIDDEN = 8,		/* policy denies every call of it: no list has it */
	GATEWAY_ASKS = 16		/* a person is asked about every call */
};
/* Of GATEWAY_STATE. */
enum ats_gateway_state {
	GATEWAY_WAITS = 1,		/* for a person; the time limit stands still */
	GATEWAY_STARTED = 2,		/* ordered, or a tool of the sandbox may run */
	GATEWAY_REFUSED = 3		/* error code and text say why; it did not start */
};
/* What a brain that is started for a user has of the environment. */
#define ATS_BRAIN_ENVIRONMENT                                                            \
	"HOME", "PATH", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", \
	    "XDG_STATE_HOME", "TZ"
#define ATS_GATEWAY_INLINE (48u << 10)	/* arguments in a message; longer ones are in a file */
#define ATS_GATEWAY_ARGS_MAX (1u << 20)	/* arguments of a call at most */
#define ATS_GATEWAY_FILES_MAX 4		/* arguments of a call that are files */
#define ATS_GATEWAY_FILE_FD 10		/* of a program's first one; the second's is one more */
#define ATS_GATEWAY_NAME_MAX 32		/* [a-z][a-z0-9_-]*, without "__" */
#define ATS_GATEWAY_TOOL_MAX 65		/* NAME__TOOL with its NUL, as clients see it */
extern const struct ats_ipc_row ats_brain_rows[];
extern const size_t ats_brain_nrows;

/* Shorthand over ats_ipc_send with these rows: values in the order of the signature, each
 * a uint64_t (cast!) or a const char *. fds are borrowed. 0, -ATS_E_PROTO (does not fit its
 * row), -ATS_E_AGAIN or -ATS_E_EOF. */
ATS_NODISCARD int ats_brain_send(int sock, enum ats_brain_msg type, uint32_t seq,
    const int *fds, size_t nfds, ...);

#endif
