/* SPDX-License-Identifier: Apache-2.0
 *
 * A wire: how the bytes of a channel travel over one connected stream socket. Plain, TLS 1.3
 * (RFC 8446), WebSocket (RFC 6455: one binary message is one frame), or WebSocket over TLS.
 * A channel does not know which. The socket is non-blocking; a wire never blocks and never
 * holds more than one TLS record or one WebSocket header beside what its caller gave it.
 * Handshakes happen inside recv, send and flush; until they are over these say AGAIN. */
#ifndef ATS_COMMON_WIRE_H
#define ATS_COMMON_WIRE_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/addr.h"

struct ats_tls;
struct ats_wire;

struct ats_wire_plan {
	enum ats_addr_kind kind;
	bool server;		/* this side accepted: its role in TLS and WebSocket */
	const char *host;	/* client: SNI, name of the certificate, Host:. Borrowed, copied */
	unsigned port;		/* client: in Host:, unless it is 0 */
	const char *path;	/* WebSocket: what is asked for, or alone is served */
	struct ats_tls *tls;	/* for TLS and WSS; borrowed for the life of the wire */
};
/* Takes fd, also on failure. Returns owned in *ret. */
ATS_NODISCARD int ats_wire_new(int fd, const struct ats_wire_plan *plan,
    struct ats_wire **ret, struct ats_err *err);
void ats_wire_free(struct ats_wire *w);		/* closes the socket; NULL is fine */
int ats_wire_fd(const struct ats_wire *w);

/* > 0 bytes; -ATS_E_AGAIN; -ATS_E_EOF at the peer's orderly end or reset; -ATS_E_PROTO (it
 * broke TLS or WebSocket), -ATS_E_PERM (its certificate is not the expected one), -ATS_E_SYS.
 * ats_wire_why says which. */
ssize_t ats_wire_recv(struct ats_wire *w, void *buf, size_t n);
/* Takes a prefix of the parts: > 0 bytes, or as above. After AGAIN the same bytes must be
 * offered first. more: further bytes follow at once (MSG_MORE). */
ssize_t ats_wire_send(struct ats_wire *w, const struct iovec *iov, size_t n, bool more);
/* What the wire itself has to write (handshake, pong, close, held records): 0 done,
 * -ATS_E_AGAIN, or as above. */
int ats_wire_flush(struct ats_wire *w);
/* Bytes that recv would give without the socket becoming readable. */
bool ats_wire_pending(const struct ats_wire *w);
/* The wire waits until the socket takes bytes: the owner watches for that, then flushes. */
bool ats_wire_wants_write(const struct ats_wire *w);
/* splice(2) may go around it: plain only. */
bool ats_wire_splices(const struct ats_wire *w);
/* The orderly end of TLS and WebSocket, as far as the socket takes it now. */
void ats_wire_shutdown(struct ats_wire *w);
/* Why it failed; "" before that. */
const char *ats_wire_why(const struct ats_wire *w);
/* Whether a TLS session is under it; then 32 bytes that only its two ends know (RFC 5705, RFC
 * 8446 7.5; label "EXPORTER-ats-link", no context). False as well before the handshake ended. */
bool ats_wire_exporter(const struct ats_wire *w, unsigned char ret_bytes[32]);

#endif
