/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of approvals. Process: atsctl; the vault controls the messages, an agent the
 * arguments in them. */
#include "brain/ctl/approval.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "brain/ctl/safe.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/json.h"

void
approval_init(struct approval *a)
{
	*a = (struct approval){ 0 };
	ats_buf_init(&a->args, ATS_GATEWAY_ARGS_MAX);
}

void
approval_done(struct approval *a)
{
	ats_buf_done(&a->args);
	approval_init(a);
}

static int
sent(int rc, struct ats_err *err)
{
	return rc == 0 ? 0 : ats_err_set(err, rc == -ATS_E_PROTO ? ATS_E_TOOBIG : ATS_E_EOF,
	    rc == -ATS_E_PROTO ? "too long for a message to brain" :
				 "brain closed the connection; see its log");
}

int
approval_ask(int fd, uint32_t seq, bool follow, const char *session, const char *way,
    struct ats_err *err)
{
	return sent(ats_brain_send(fd, ATS_MSG_APPROVALS, seq, NULL, 0, (uint64_t)follow, session,
	    way), err);
}

int
approval_approve(int fd, uint32_t seq, const char *id, const char *sha256, const char *way,
    struct ats_err *err)
{
	return sent(ats_brain_send(fd, ATS_MSG_APPROVE, seq, NULL, 0, id, sha256, way), err);
}

int
approval_deny(int fd, uint32_t seq, const char *id, const char *reason, const char *way,
    struct ats_err *err)
{
	return sent(ats_brain_send(fd, ATS_MSG_DENY, seq, NULL, 0, id, reason, way), err);
}

static int
put(char *out, size_t size, const char *s)
{
	size_t n = strlen(s);

	if (n >= size)
		return -ATS_E_PROTO;
	memcpy(out, s, n + 1);
	return 0;
}

/* The file is the vault's; it is read once, into memory of ours, and never looked at again. */
static int
read_args(struct ats_buf *out, int fd)
{
	struct stat st;
	char *to;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (off_t)ATS_GATEWAY_ARGS_MAX)
		return -ATS_E_PROTO;
	if (ats_buf_reserve(out, (size_t)st.st_size, &to) < 0)
		return -ATS_E_NOMEM;
	for (size_t at = 0; at < (size_t)st.st_size;) {
		ssize_t n = pread(fd, to + at, (size_t)st.st_size - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ATS_E_PROTO;
		at += (size_t)n;
	}
	ats_buf_commit(out, (size_t)st.st_size);
	return 0;
}

static int
take_approval(struct approval *a, const struct ats_ipc_msg *m)
{
	int rc;

	a->asked_ms = m->u[1];
	a->expires_ms = m->u[2];
	if (!ats_id_valid(m->s[0]) || put(a->id, sizeof(a->id), m->s[0]) < 0 ||
	    put(a->session, sizeof(a->session), m->s[3]) < 0 ||
	    put(a->gateway, sizeof(a->gateway), m->s[4]) < 0 ||
	    put(a->tool, sizeof(a->tool), m->s[5]) < 0 ||
	    put(a->workspace, sizeof(a->workspace), m->s[7]) < 0 ||
	    (m->nfds > 0) == (m->s[6][0] != '\0'))
		return -ATS_E_PROTO;
	rc = m->nfds > 0 ? read_args(&a->args, m->fds[0]) : ats_buf_add_str(&a->args, m->s[6]);
	if (rc == 0)
		rc = ats_json_scan(a->args.data, a->args.len, NULL);
	if (rc < 0)
		return rc == -ATS_E_NOMEM ? rc : -ATS_E_PROTO;
	ats_sha256_hex(a->args.data, a->args.len, a->sha256);
	return 0;
}

static int
take(struct approval_msg *m, const struct ats_ipc_msg *ipc)
{
	approval_done(&m->a);
	m->seq = ipc->seq;
	m->code = 0;
	m->text[0] = '\0';
	switch (ipc->type) {
	case ATS_MSG_APPROVAL:
		m->event = APPROVAL_NEW;
		return take_approval(&m->a, ipc);
	case ATS_MSG_APPROVAL_GONE:
		m->event = APPROVAL_LEFT;
		(void)snprintf(m->text, sizeof(m->text), "%s", ipc->s[1]);
		return ats_id_valid(ipc->s[0]) ? put(m->a.id, sizeof(m->a.id), ipc->s[0]) :
						 -ATS_E_PROTO;
	case ATS_MSG_OK:
		m->event = APPROVAL_ANSWER;
		return 0;
	case ATS_MSG_FAILED:
		m->event = APPROVAL_ANSWER;
		m->code = ipc->u[0] > 0 && ipc->u[0] < 1000 ? (int)ipc->u[0] : ATS_E_PROTO;
		(void)snprintf(m->text, sizeof(m->text), "%s",
		    ipc->s[1][0] != '\0' ? ipc->s[1] : ats_err_text(m->code));
		return 0;
	default:
		return -ATS_E_PROTO;
	}
}

int
approval_read(int fd, bool wait, struct approval_msg *m, struct ats_err *err)
{
	static struct ats_ipc_msg ipc;	/* 64 KiB */
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc;

	if (!wait && poll(&p, 1, 0) == 0)
		return 0;
	rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT, &ipc);
	if (rc == 0 || rc == -ATS_E_EOF || rc == -ATS_E_SYS)
		return ats_err_set(err, ATS_E_EOF, "brain closed the connection; see its log");
	if (rc == -ATS_E_AGAIN)
		return wait ? ats_err_set(err, ATS_E_SILENT, "brain does not answer; see its log") :
			      0;
	if (rc == 1) {
		rc = take(m, &ipc);
		ats_ipc_done(&ipc);
	}
	if (rc < 0)
		return ats_err_set(err, -rc, rc == -ATS_E_NOMEM ? "out of memory" :
		    "brain sent a wrong message; do atsctl and ats-brain belong together?");
	return 1;
}

int
approval_await(int fd, uint32_t seq, struct approval_msg *m, struct ats_err *err)
{
	int rc;

	do {
		rc = approval_read(fd, true, m, err);
		if (rc < 0)
			return rc;
	} while (m->event != APPROVAL_ANSWER || m->seq != seq);
	return m->code == 0 ? 0 : ats_err_set(err, m->code, "%s", m->text);
}

void
approval_clock(uint64_t ms, char out[32])
{
	time_t t = (time_t)(ms / 1000), now = (time_t)(ats_clock_wall_ms() / 1000);
	struct tm tm, today;

	out[0] = '\0';
	if (localtime_r(&t, &tm) == NULL || localtime_r(&now, &today) == NULL)
		return;
	(void)!strftime(out, 32, tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday ?
	    "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
}

static int
add_row(struct ats_buf *out, const char *name, const char *value)
{
	int rc = ats_buf_addf(out, "%-10s ", name);

	if (rc == 0)
		rc = safe_text(out, value, strlen(value));
	return rc < 0 ? rc : ats_buf_add_char(out, '\n');
}

int
approval_show(struct ats_buf *out, const struct approval *a)
{
	char asked[32], expires[32];
	int rc;

	approval_clock(a->asked_ms, asked);
	approval_clock(a->expires_ms, expires);
	rc = add_row(out, "approval", a->id);
	if (rc == 0)
		rc = add_row(out, "gateway", a->gateway[0] != '\0' ? a->gateway :
		    "none: it runs in the sandbox");
	if (rc == 0)
		rc = add_row(out, "tool", a->tool);
	if (rc == 0)
		rc = add_row(out, "session", a->session);
	if (rc == 0)
		rc = add_row(out, "workspace", a->workspace);
	if (rc == 0)
		rc = ats_buf_addf(out, "asked      %s, expires %s\narguments  %zu bytes\n", asked,
		    expires, a->args.len);
	if (rc == 0)
		rc = safe_json(out, (struct ats_slice){ a->args.data, a->args.len });
	return rc < 0 ? rc : ats_buf_add_char(out, '\n');
}
