/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of open requests when a connection is lost, or their client is: to the engine that
 * comes next, and to the client. Process: atsctl; ids and lines are the client's. No input and
 * output here. */
#include "brain/ctl/mcp_lines.h"

#include <stdio.h>
#include <string.h>

#include "proto/unsure.h"

static int
add_line(struct ats_buf *out, const char *s, size_t n)
{
	int rc = ats_buf_add(out, s, n);

	return rc < 0 ? rc : ats_buf_add_char(out, '\n');
}

int
mcp_replay(struct mcp_lines *m, struct ats_buf *out)
{
	struct mcp_request *r;
	int rc = 0;

	if (m->initialize != NULL)
		rc = add_line(out, m->initialize, strlen(m->initialize));
	if (rc == 0 && m->initialized != NULL)
		rc = add_line(out, m->initialized, strlen(m->initialized));
	TAILQ_FOREACH(r, &m->pending, link) {
		if (rc == 0 &&
		    (m->initialize == NULL || strcmp(r->line, m->initialize) != 0))
			rc = add_line(out, r->line, r->len);
		r->again = true;
	}
	return rc;
}

int
mcp_cancel_all(const struct mcp_lines *m, struct ats_buf *out)
{
	struct mcp_request *r;
	int rc = 0;

	TAILQ_FOREACH(r, &m->pending, link) {
		if (rc == 0)
			rc = ats_buf_addf(out, "{\"jsonrpc\":\"2.0\",\"method\":"
			    "\"notifications/cancelled\",\"params\":{\"requestId\":%s,"
			    "\"reason\":\"the client left\"}}\n", r->id);
	}
	return rc;
}

static int
add_error(struct ats_buf *out, const char *id, bool modern, const char *why)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_raw(&w, "id", id, strlen(id));
	ats_json_w_object(&w, "error");
	ats_json_w_i64(&w, "code", modern ? -32603 : -32000);
	ats_json_w_str(&w, "message", why);
	ats_json_w_object(&w, "data");
	ats_json_w_str(&w, "code", ats_err_name(ATS_E_EOF));
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	return ats_json_w_line(&w);
}

int
mcp_lose_nulls(struct mcp_lines *m, struct ats_buf *out)
{
	uint64_t n = m->nulls < MCP_PENDING_MAX ? m->nulls : MCP_PENDING_MAX;
	int rc = 0;

	m->nulls = 0;
	for (; rc == 0 && n > 0; n--)
		rc = add_error(out, "null", false, "a line was no request, and brain was lost "
		    "before it said why");
	return rc;
}

int
mcp_fail_all(struct mcp_lines *m, struct ats_buf *out, const char *why)
{
	char unsure[sizeof(ATS_UNSURE) + 300];
	int rc = 0;

	(void)snprintf(unsure, sizeof(unsure), ATS_UNSURE ": %s", why);
	while (rc == 0 && !TAILQ_EMPTY(&m->pending)) {
		struct mcp_request *r = TAILQ_FIRST(&m->pending);

		if (!r->parked)
			rc = add_error(out, r->as != NULL ? r->as : r->id, r->modern,
			    r->calls && r->again ? unsure : why);
		mcp_forget(m, r);
	}
	return rc;
}
