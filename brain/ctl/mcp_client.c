/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's side of atsctl mcp: lines from its stdin, and to its stdout. Process: atsctl; the
 * lines are of any program that speaks MCP, and of any length. */
#include <string.h>

#include "brain/ctl/mcp_meta.h"
#include "brain/ctl/mcp_relay.h"

#define GRACE_MS 2000u		/* from the end of stdin to cancelling what is open */

void
mcp_flush_client(struct mcp_relay *r)
{
	ssize_t n;

	while (r->to_client.len > 0 && !r->gone) {
		n = io_write(&r->out, r->to_client.data, r->to_client.len);
		if (n == -ATS_E_AGAIN)
			return;
		if (n < 0) {
			r->gone = true;
			return;
		}
		ats_buf_consume(&r->to_client, (size_t)n);
	}
}

/* Whether the request that came last is one that may be asked about in its answer. */
static int
shows_dialogs(struct mcp_relay *r)
{
	const struct mcp_request *last = TAILQ_LAST(&r->lines.pending, mcp_request_list);
	struct ats_json_val params;
	struct mcp_meta meta;

	if (last == NULL || !last->forms)
		return 0;
	if (r->asks.state == ASKS_OFF &&
	    ats_json_get((struct ats_slice){ last->line, last->len }, "params", &params)) {
		mcp_meta_read(params.raw, &meta);
		asks_client_shows(&r->asks, meta.info);
	}
	return r->asks.rounds.watches ? 0 : rounds_watch(&r->asks.rounds, &r->to_engine);
}

static int
take_line(struct mcp_relay *r, const char *line, size_t n)
{
	struct round_decision said;
	int rc;

	while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
		n--;
	if (n == 0 || asks_take(&r->asks, line, n))
		return 0;
	rc = rounds_from_client(&r->asks.rounds, &r->lines, line, n, &r->to_client, &r->to_engine,
	    &said);
	if (rc > 0)
		asks_decide(&r->asks, &said);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = mcp_from_client(&r->lines, line, n);
	if (rc == 0)
		rc = shows_dialogs(r);
	if (rc == 0 && r->lines.initialize != NULL && r->lines.initialized != NULL)
		asks_client_ready(&r->asks, (struct ats_slice){ r->lines.initialize,
		    strlen(r->lines.initialize) });
	if (rc == 0)
		rc = ats_buf_add(&r->to_engine, line, n);
	if (rc == 0)
		rc = ats_buf_add_char(&r->to_engine, '\n');
	return rc;
}

static int
refuse_long_line(struct mcp_relay *r)
{
	r->skipping = true;
	ats_buf_reset(&r->from_client);
	r->scanned = 0;
	return ats_buf_addf(&r->to_client,
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":"
	    "-32600,\"message\":\"line over %u bytes\"}}\n",
	    MCP_LINE_MAX);
}

static int
take_lines(struct mcp_relay *r)
{
	struct ats_buf *b = &r->from_client;
	int rc = 0;

	while (rc == 0 && mcp_lines_room(&r->lines)) {
		const char *nl = memchr(b->data + r->scanned, '\n', b->len - r->scanned);
		size_t n;

		if (nl == NULL) {
			r->scanned = b->len;
			if (r->skipping)
				ats_buf_consume(b, b->len);
			else if (b->len > MCP_LINE_MAX)
				return refuse_long_line(r);
			r->scanned = b->len;
			return 0;
		}
		n = (size_t)(nl - b->data);
		if (!r->skipping)
			rc = take_line(r, b->data, n);
		r->skipping = false;
		ats_buf_consume(b, n + 1);
		r->scanned = 0;
	}
	return rc;
}

int
mcp_read_client(struct mcp_relay *r)
{
	char *to;
	ssize_t n;
	int rc = take_lines(r);	/* those that waited for room */

	if (rc < 0 || !r->client_came || r->to_engine.len >= MCP_QUEUE_HIGH ||
	    !mcp_lines_room(&r->lines))
		return rc;
	r->client_came = false;
	rc = ats_buf_reserve(&r->from_client, MCP_READ_BYTES, &to);
	if (rc < 0)
		return rc;
	n = io_read(&r->in, to, MCP_READ_BYTES);
	if (n == -ATS_E_AGAIN)
		return 0;
	if (n > 0) {
		ats_buf_commit(&r->from_client, (size_t)n);
		return take_lines(r);
	}
	/* A last line without a newline is a line all the same. */
	if (r->from_client.len > 0 && !r->skipping)
		rc = take_line(r, r->from_client.data, r->from_client.len);
	ats_buf_reset(&r->from_client);
	r->eof = true;
	mcp_end_soon(r, GRACE_MS);
	return rc;
}
