/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed messages over SOCK_SEQPACKET. Runs in vault, spawner, engine and atsctl. The other
 * side may be compromised: each length is checked against what is left, and what is left
 * at the end must be nothing.
 *
 * Layout, big-endian: u16 type, u32 seq, then by the row's signature
 *   u: 8 bytes    s: u32 length, the bytes, one NUL (so that it is usable in place). */
#include "common/ipc.h"

#include <string.h>

#define IPC_HEAD 6u

static const struct ats_ipc_row *
row_find(const struct ats_ipc_row *rows, size_t nrows, uint16_t type)
{
	for (size_t i = 0; i < nrows; i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static void
put_be(unsigned char *out, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (unsigned char)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t
get_be(const char *in, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)in[i];
	return v;
}

static int
put_field(char sig, const struct ats_ipc_msg *m, unsigned i, unsigned char *out, size_t *len)
{
	size_t n, left = ATS_IPC_MAX - *len;

	if (sig == 'u') {
		if (left < 8)
			return -ATS_E_PROTO;
		put_be(out + *len, m->u[i], 8);
		*len += 8;
		return 0;
	}
	if (sig != 's' || m->s[i] == NULL)
		return -ATS_E_PROTO;
	n = strlen(m->s[i]);
	if (left < 5 || n > left - 5)
		return -ATS_E_PROTO;
	put_be(out + *len, n, 4);
	memcpy(out + *len + 4, m->s[i], n + 1);
	*len += 5 + n;
	return 0;
}

int
ats_ipc_send(int sock, const struct ats_ipc_row *rows, size_t nrows,
    const struct ats_ipc_msg *m)
{
	const struct ats_ipc_row *row = row_find(rows, nrows, m->type);
	static unsigned char out[ATS_IPC_MAX];	/* one thread; too large for a small stack */
	size_t len = IPC_HEAD;
	ssize_t put;

	if (row == NULL || m->nfds > row->fds || strlen(row->sig) > ATS_IPC_FIELDS)
		return -ATS_E_PROTO;
	put_be(out, m->type, 2);
	put_be(out + 2, m->seq, 4);
	for (unsigned i = 0; row->sig[i] != '\0'; i++)
		if (put_field(row->sig[i], m, i, out, &len) < 0)
			return -ATS_E_PROTO;
	put = ats_fd_send(sock, out, len, m->fds, m->nfds);
	explicit_bzero(out, len);
	if (put < 0)
		return (int)put;
	return (size_t)put == len ? 0 : -ATS_E_SYS;
}

static int
get_field(char sig, struct ats_ipc_msg *m, unsigned i, size_t *pos, size_t len)
{
	size_t n, left = len - *pos;
	const char *p = m->buf + *pos;

	if (sig == 'u') {
		if (left < 8)
			return -ATS_E_PROTO;
		m->u[i] = get_be(p, 8);
		*pos += 8;
		return 0;
	}
	if (sig != 's' || left < 5)
		return -ATS_E_PROTO;
	n = (size_t)get_be(p, 4);
	if (n > left - 5 || p[4 + n] != '\0' || memchr(p + 4, '\0', n) != NULL)
		return -ATS_E_PROTO;
	m->s[i] = p + 4;
	*pos += 5 + n;
	return 0;
}

static int
decode(const struct ats_ipc_row *rows, size_t nrows, unsigned from, size_t len,
    struct ats_ipc_msg *m)
{
	const struct ats_ipc_row *row;
	size_t pos = IPC_HEAD;

	if (len < IPC_HEAD)
		return -ATS_E_PROTO;
	m->type = (uint16_t)get_be(m->buf, 2);
	m->seq = (uint32_t)get_be(m->buf + 2, 4);
	row = row_find(rows, nrows, m->type);
	if (row == NULL || (row->from & from) == 0 || m->nfds > row->fds)
		return -ATS_E_PROTO;
	for (m->n = 0; row->sig[m->n] != '\0'; m->n++)
		if (m->n >= ATS_IPC_FIELDS ||
		    get_field(row->sig[m->n], m, m->n, &pos, len) < 0)
			return -ATS_E_PROTO;
	return pos == len ? 0 : -ATS_E_PROTO;
}

int
ats_ipc_recv(int sock, const struct ats_ipc_row *rows, size_t nrows, unsigned from,
    struct ats_ipc_msg *ret_m)
{
	struct ats_ipc_msg *m = ret_m;
	ssize_t got;

	memset(m, 0, offsetof(struct ats_ipc_msg, buf));
	got = ats_fd_recv(sock, m->buf, sizeof(m->buf), m->fds, ATS_FD_PASS_MAX, &m->nfds);
	if (got == -ATS_E_EOF || (got == 0 && m->nfds == 0))
		return 0;
	if (got < 0)
		return (int)got;
	m->len = (size_t)got;
	if (decode(rows, nrows, from, (size_t)got, m) < 0) {
		ats_ipc_done(m);
		return -ATS_E_PROTO;
	}
	return 1;
}

void
ats_ipc_done(struct ats_ipc_msg *m)
{
	for (size_t i = 0; i < m->nfds; i++)
		ats_fd_close(&m->fds[i]);
	m->nfds = 0;
	explicit_bzero(m->buf, m->len);
	m->len = 0;
}
