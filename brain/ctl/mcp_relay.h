/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of atsctl mcp: cmd_mcp.c has its start, loop and end, mcp_engine.c the side of the
 * engine, mcp_client.c that of the client. Nothing here blocks but what reaches brain. */
#ifndef ATS_CTL_MCP_RELAY_H
#define ATS_CTL_MCP_RELAY_H

#include "brain/ctl/brain.h"
#include "brain/ctl/io.h"
#include "brain/ctl/mcp_asks.h"
#include "brain/ctl/mcp_lines.h"

#define MCP_READ_BYTES (64u << 10)
#define MCP_QUEUE_HIGH (8u << 20)	/* queued bytes before the other side is not read */
#define MCP_QUEUE_MAX (160u << 20)

struct mcp_relay {
	struct ctl *c;
	struct session_ask ask;
	struct ctl_session session;
	struct io in, out;
	struct ats_buf from_client;	/* not yet a whole line */
	struct ats_buf to_engine, to_client;
	size_t sent;			/* of to_engine's first line */
	size_t scanned;			/* of from_client, without a newline */
	bool skipping;			/* the rest of a line that is too long */
	struct mcp_lines lines;
	struct mcp_asks asks;
	int signals;
	/* What poll saw: each is read once for it. */
	bool signal_came, client_came, engine_came;
	bool eof, gone;			/* no more from the client; it does not read */
	uint64_t end_ms;		/* when open requests are cancelled, 0: not yet */
	unsigned losses;
};

/* In so many ms what is still open is cancelled; never later than was said before. */
void mcp_end_soon(struct mcp_relay *r, uint64_t in_ms);

/* ---- mcp_engine.c --------------------------------------------------------------------- */
/* Finds or starts brain and opens the session: waits for both. A signal ends the process meanwhile.
 * 0, or negative with the reason in err. */
ATS_NODISCARD int mcp_open_session(struct mcp_relay *r, struct ats_err *err);
/* The connection is lost: opens another and queues what was open on the last one. 0, or the code
 * of exit(), said on stderr; then every open request has its error in to_client. */
ATS_NODISCARD int mcp_reconnect(struct mcp_relay *r);
/* Send what is queued; read what poll saw, into to_client. False: the connection is lost. */
ATS_NODISCARD bool mcp_flush_engine(struct mcp_relay *r);
ATS_NODISCARD bool mcp_read_engine(struct mcp_relay *r);

/* ---- mcp_client.c --------------------------------------------------------------------- */
/* Writes what is queued; sets gone when the client does not read any more. */
void mcp_flush_client(struct mcp_relay *r);
/* Takes the lines that wait, and reads what poll saw; sets eof. Negative: no memory. */
ATS_NODISCARD int mcp_read_client(struct mcp_relay *r);

#endif
