/* SPDX-License-Identifier: Apache-2.0
 *
 * WebSocket (RFC 6455) as far as a link needs it, and no I/O: one binary message is one frame
 * of ours, whose first four bytes are its length (common/frame.h). No extension, no
 * subprotocol. Whatever a peer sends ends in bytes for the channel or in a reason to close. */
#ifndef ATS_COMMON_WS_H
#define ATS_COMMON_WS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define ATS_WS_HANDSHAKE_MAX 8192u	/* of a request or a response, in bytes */
#define ATS_WS_HEAD_MAX 14u		/* of a frame */
#define ATS_WS_CONTROL_MAX 125u
#define ATS_WS_KEY 25			/* text of Sec-WebSocket-Key, with the NUL */
#define ATS_WS_ACCEPT 29		/* of Sec-WebSocket-Accept */

enum ats_ws_opcode {
	ATS_WS_CONT = 0, ATS_WS_TEXT = 1, ATS_WS_BINARY = 2, ATS_WS_CLOSE = 8, ATS_WS_PING = 9,
	ATS_WS_PONG = 10,
};
enum ats_ws_code {			/* RFC 6455, 7.4.1 */
	ATS_WS_NORMAL = 1000, ATS_WS_BROKEN = 1002, ATS_WS_NOT_BINARY = 1003,
	ATS_WS_NO_CODE = 1005, ATS_WS_MISMATCH = 1007, ATS_WS_TOO_BIG = 1009,
};

/* ---- frames that come ------------------------------------------------------------------ */
struct ats_ws_in {
	bool server;			/* this side: then the peer masks, else it must not */
	bool fin, in_message, in_frame;
	uint8_t opcode;			/* of the frame under way */
	unsigned char head[ATS_WS_HEAD_MAX];
	unsigned head_n;
	unsigned char mask[4];
	unsigned mask_at;
	uint64_t left;			/* payload bytes of the frame that are still to come */
	uint64_t total;			/* of the message's frames so far, as announced */
	unsigned char len4[4];		/* how long the message itself says it is */
	unsigned len4_n;
	unsigned char control[ATS_WS_CONTROL_MAX];
	size_t control_n;
	bool pong_due;			/* the last ping's bytes, to be sent back; the owner
					 * clears it. Earlier ones need no answer (5.5.3) */
	unsigned char pong[ATS_WS_CONTROL_MAX];
	size_t pong_n;
	uint16_t closed;		/* the peer's code, or ATS_WS_NO_CODE; else 0 */
	uint16_t bad;			/* the code to close with, or 0 */
	const char *why;		/* then; valid for ever */
};

/* The start of a connection; allocates nothing. server: the role of this side. */
void ats_ws_in_init(struct ats_ws_in *in, bool server);
/* Decodes n bytes in place, all of them: the messages' bytes stand at buf then, their number is
 * returned. After bad or closed was set what comes is ignored. */
size_t ats_ws_decode(struct ats_ws_in *in, unsigned char *buf, size_t n);

/* ---- frames that leave ------------------------------------------------------------------ */
struct ats_ws_out {
	bool client;			/* then it masks */
	unsigned char len4[4];
	unsigned len4_n;
	uint32_t left;			/* bytes of the message under way */
	unsigned char mask[4];
	unsigned mask_at;
	/* Chance for masks, which the owner puts there: encoding stops where it is used up. */
	unsigned char keys[256];
	unsigned keys_left;
};

/* A header; mask may be NULL. Returns its length. */
size_t ats_ws_head(unsigned char out[ATS_WS_HEAD_MAX], uint8_t opcode, uint64_t len,
    const unsigned char *mask);
/* dst may be src or before it; the mask starts with its byte at (0-3). */
void ats_ws_mask(unsigned char *dst, const unsigned char *src, size_t n,
    const unsigned char mask[4], unsigned at);
/* Takes bytes of a stream of our frames and writes WebSocket frames. Returns how many were
 * written to dst; *ret_used of src were taken: fewer than n when room or the keys are used up.
 * -ATS_E_INVAL: what the stream holds is no frame. */
int ats_ws_encode(struct ats_ws_out *o, const unsigned char *src, size_t n, unsigned char *dst,
    size_t room, size_t *ret_used);

/* ---- opening handshake (ws_http.c) ------------------------------------------------------- */
/* 16 bytes as the text of Sec-WebSocket-Key. */
void ats_ws_key(const unsigned char bytes[16], char ret_key[ATS_WS_KEY]);
/* Sec-WebSocket-Accept for such a key (RFC 6455, 4.2.2). */
void ats_ws_accept(const char *key, char ret_accept[ATS_WS_ACCEPT]);
/* Length of the text, or -ATS_E_TOOBIG. port 0: none is said. */
int ats_ws_request(char *out, size_t size, const char *host, unsigned port, const char *path,
    const char *key);
/* What a server answers: 101 with accept, or a refusal. */
int ats_ws_response(char *out, size_t size, int status, const char *accept);
/* A head as ats_http_head_end found it. 0, or -ATS_E_PROTO with the status to answer. */
ATS_NODISCARD int ats_ws_check_request(const char *head, size_t n, const char *path,
    char ret_accept[ATS_WS_ACCEPT], int *ret_status, struct ats_err *err);
/* key: what was asked with. 0 or -ATS_E_PROTO with the reason. */
ATS_NODISCARD int ats_ws_check_response(const char *head, size_t n, const char *key,
    struct ats_err *err);

#endif
