/* SPDX-License-Identifier: Apache-2.0
 *
 * Approvals over vault.sock: what waits for a person, and what the person says. Process: atsctl.
 * The vault is believed; what an agent wrote, the arguments, is not. */
#ifndef ATS_CTL_APPROVAL_H
#define ATS_CTL_APPROVAL_H

#include "brain/ctl/ctl.h"
#include "common/buf.h"
#include "common/digest.h"
#include "common/ipc.h"
#include "proto/brain.h"

#define APPROVAL_ID_MAX 32
#define APPROVAL_WAY_TERMINAL "terminal"
#define APPROVAL_TEXT_MAX \
	(64u << 20) /* of arguments of ATS_GATEWAY_ARGS_MAX, escaped and indented */

struct approval {
	char id[APPROVAL_ID_MAX], session[64], workspace[ATS_PATH_MAX];
	char gateway[ATS_GATEWAY_TOOL_MAX];	/* empty: a tool of the sandbox */
	char tool[ATS_GATEWAY_TOOL_MAX];
	uint64_t asked_ms, expires_ms;		/* since 1970 */
	struct ats_buf args;			/* canonical JSON, scanned */
	char sha256[ATS_SHA256_HEX];		/* of args */
};
void approval_init(struct approval *a);
void approval_done(struct approval *a);

/* What comes over a connection of brain_connect. */
enum approval_event {
	APPROVAL_NEW,		/* a */
	APPROVAL_LEFT,		/* a.id, text: why */
	APPROVAL_ANSWER,	/* of request seq: code 0 for OK, else code and text */
};
struct approval_msg {
	enum approval_event event;
	struct approval a;
	uint32_t seq;
	int code;
	char text[256];
};
/* Each sends one request, numbered seq; approval_read brings its answer, for approval_ask after
 * all that wait now. session: an id or empty; way: for the audit (proto/brain.def, APPROVE).
 * -ATS_E_EOF. */
ATS_NODISCARD int approval_ask(int fd, uint32_t seq, bool follow, const char *session,
    const char *way, struct ats_err *err);
ATS_NODISCARD int approval_approve(int fd, uint32_t seq, const char *id, const char *sha256,
    const char *way, struct ats_err *err);
ATS_NODISCARD int approval_deny(int fd, uint32_t seq, const char *id, const char *reason,
    const char *way, struct ats_err *err);
/* Reads one message; a of the last one is emptied first. wait: for as long as the connection's
 * timeout. 1; 0 without wait when nothing is there; -ATS_E_EOF when brain left; -ATS_E_PROTO. */
ATS_NODISCARD int approval_read(int fd, bool wait, struct approval_msg *m, struct ats_err *err);
/* The answer to request seq, in err when it is FAILED; what comes before it is dropped. */
ATS_NODISCARD int approval_await(int fd, uint32_t seq, struct approval_msg *m,
    struct ats_err *err);

/* Appends all of it for a person, escaped and with its arguments in full: whole lines.
 * -ATS_E_TOOBIG, -ATS_E_NOMEM. */
ATS_NODISCARD int approval_show(struct ats_buf *out, const struct approval *a);
/* "14:03:59", or with the date when it is another day than now's. */
void approval_clock(uint64_t ms, char out[32]);

#endif
