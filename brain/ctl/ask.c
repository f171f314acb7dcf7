/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the vault over SOCK_SEQPACKET. Process: atsctl. */
#include <string.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/leave.h"
#include "common/clock.h"

#define ANSWER_MS 60000u

static int
send_request(int fd, enum ats_brain_msg type, const char *a, const char *b)
{
	if (b != NULL)
		return ats_brain_send(fd, type, 1, NULL, 0, a, b);
	if (a != NULL)
		return ats_brain_send(fd, type, 1, NULL, 0, a);
	return ats_brain_send(fd, type, 1, NULL, 0);
}

/* The answer to what was sent, or why it could not be sent. */
static int
take_answer(int fd, int rc, struct ats_ipc_msg *m, struct ats_err *err)
{
	if (rc == 0)
		rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT,
		    m);
	if (rc == 0 || rc == -ATS_E_EOF || rc == -ATS_E_SYS)
		return ats_err_set(
		    err, ATS_E_EOF, "brain closed the connection; see its log");
	if (rc == -ATS_E_AGAIN)
		return ats_err_set(
		    err, ATS_E_SILENT, "brain does not answer; see its log");
	if (rc < 0)
		return ats_err_set(err, -rc, "brain: %s", ats_err_text(rc));
	if (m->type == ATS_MSG_OK)
		return 0;
	if (m->type == ATS_MSG_FAILED && m->u[0] > 0 && m->u[0] < 1000)
		rc = ats_err_set(err, (int)m->u[0], "%s",
		    m->s[1] != NULL && m->s[1][0] != '\0' ? m->s[1] :
							     ats_err_text((int)m->u[0]));
	else
		rc = ats_err_set(err, ATS_E_PROTO,
		    "brain answered with a wrong message; do "
		    "atsctl and ats-brain belong together?");
	ats_ipc_done(m);
	return rc;
}

int
brain_ask(int fd, enum ats_brain_msg type, const char *a, const char *b,
    struct ats_ipc_msg *m, struct ats_err *err)
{
	return take_answer(fd, send_request(fd, type, a, b), m, err);
}

int
brain_ask_leaving(const struct ctl *c, int fd, enum ats_brain_msg type, const char *a,
    const char *b, struct ats_ipc_msg *m, struct ats_err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t end = ats_clock_ms() + ANSWER_MS, now;
	int sent = send_request(fd, type, a, b);

	while (c->leave != NULL && sent == 0 && p.revents == 0 && (now = ats_clock_ms()) < end) {
		int rc = leave_poll(c->leave, &p, (int)(end - now), err);

		if (rc < 0)
			return rc;
	}
	if (c->leave != NULL && sent == 0 && p.revents == 0)
		sent = -ATS_E_AGAIN;
	return take_answer(fd, sent, m, err);
}

int
brain_enroll(int fd, const char *workspace, bool rotate, struct ats_ipc_msg *m,
    struct ats_err *err)
{
	return take_answer(fd, ats_brain_send(fd, ATS_MSG_ENROLL, 1, NULL, 0, workspace,
	    (uint64_t)rotate), m, err);
}
