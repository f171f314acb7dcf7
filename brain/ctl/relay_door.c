/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a relay directory at brain's door. Each has an id of its own there, so that after a
 * loss of brain the same call is asked for again, not made twice. Process: atsctl relay. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "brain/ctl/relay_server.h"
#include "common/clock.h"
#include "common/fd.h"

#define RETURN_MS 30000u	/* for a brain that somebody else starts again */
#define CANCEL_MS 5000u		/* for the answer to a call that was cancelled */
#define FLUSH_MS 1000u
#define OUT_MAX (128u << 20)

/* ---- lines ---------------------------------------------------------------------------- */
static int
add_request(struct relay_server *s, const char *method, const char *params, size_t n,
    uint64_t *ret_rpc)
{
	uint64_t id = s->session.door.next_id++;
	struct ats_json_w w;
	int rc;

	ats_json_w_init(&w, &s->out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	if (ret_rpc != NULL)
		ats_json_w_u64(&w, "id", id);
	ats_json_w_str(&w, "method", method);
	ats_json_w_raw(&w, "params", params, n);
	ats_json_w_end(&w);
	rc = ats_json_w_line(&w);
	if (rc == 0 && ret_rpc != NULL)
		*ret_rpc = id;
	return rc;
}

static int
add_initialize(struct relay_server *s)
{
	static const char params[] = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"atsctl relay\",\"version\":\"" ATS_VERSION "\"}}";
	uint64_t unused;
	int rc = add_request(s, "initialize", params, sizeof(params) - 1, &unused);

	return rc < 0 ? rc : add_request(s, "notifications/initialized", "{}", 2, NULL);
}

static int
add_list(struct relay_server *s)
{
	s->list_again = s->list_rpc != 0;
	return s->list_again ? 0 : add_request(s, "tools/list", "{}", 2, &s->list_rpc);
}

static int
add_call(struct relay_server *s, struct relay_call *call)
{
	call->maybe = call->rpc != 0;
	return add_request(s, "ats/tool.call", call->params.data, call->params.len, &call->rpc);
}

static void
add_cancel(struct relay_server *s, struct relay_call *call)
{
	char params[64];
	uint64_t unused;
	int n = snprintf(params, sizeof(params), "{\"call_id\":\"%s\"}", call->key);

	call->cancelled = true;
	(void)!add_request(s, "ats/call.cancel", params, (size_t)n, &unused);
}

/* ---- connection ------------------------------------------------------------------------ */
static int
open_session(struct relay_server *s, bool again, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + RETURN_MS;
	int rc = session_open(s->c, &s->ask, &s->session, err);

	while (rc == -ATS_E_NOENT && again && ats_clock_ms() < end) {
		(void)poll(NULL, 0, 100);	/* nothing tells that a brain starts */
		rc = session_open(s->c, &s->ask, &s->session, err);
	}
	if (rc == 0 && ats_fd_nonblock(s->session.door.fd, true) < 0)
		rc = ats_err_sys(err, "O_NONBLOCK");
	return rc;
}

int
relay_connect(struct relay_server *s, struct ats_err *err)
{
	bool again = s->session.nonce != 0;
	int rc;

	session_done(&s->session);
	ats_buf_done(&s->out);
	ats_buf_init(&s->out, OUT_MAX);
	s->list_rpc = 0;
	rc = open_session(s, again, err);
	if (rc < 0)
		return rc;
	rc = add_initialize(s);
	if (rc == 0)
		rc = add_list(s);
	for (size_t i = 0; i < RELAY_CALLS && rc == 0; i++) {
		struct relay_call *call = &s->calls[i];

		if (call->id[0] != '\0' && call->answer.len == 0)
			rc = add_call(s, call);
		if (rc == 0 && call->cancelled)
			add_cancel(s, call);
	}
	return rc < 0 ? ats_err_set(err, -rc, "%s", ats_err_text(rc)) : 0;
}

static int
flush(struct relay_server *s)
{
	ssize_t n;

	while (s->out.len > 0) {
		n = ats_fd_send(s->session.door.fd, s->out.data, s->out.len, NULL, 0);
		if (n == -ATS_E_AGAIN)
			return 0;
		if (n < 0)
			return -ATS_E_EOF;
		ats_buf_consume(&s->out, (size_t)n);
	}
	return 0;
}

/* ---- what comes ------------------------------------------------------------------------ */
static int
on_list(struct relay_server *s, const struct door_msg *m)
{
	struct ats_specs tools = { 0 };
	struct ats_err err = { 0 };
	int rc = door_result(m, &err);

	s->list_rpc = 0;
	if (rc == 0)
		rc = relay_tools(m->result, &tools, &err);
	if (rc == 0 && s->listed && ats_specs_equal(&tools, &s->tools)) {
		ats_specs_done(&tools);
	} else if (rc == 0) {
		bool first = !s->listed;

		ats_specs_done(&s->tools);
		s->tools = tools;
		s->listed = true;
		if (!first)		/* the first is written when all is ready */
			rc = relay_write_specs(s, &err);
	}
	if (rc < 0)
		(void)ctl_fail(0, "relay: the list of tools: %s", err.text);
	if (s->list_again) {
		s->list_again = false;
		return add_list(s);
	}
	return 0;
}

static int
on_answer(struct relay_server *s, struct relay_call *call, const struct door_msg *m)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&text, ATS_RELAYDIR_RESPONSE_MAX);
	rc = relay_response(m, call->maybe, &text);
	if (rc == 0)
		relay_publish(s, call, &text);
	else
		relay_publish_error(s, call, "the answer cannot be passed on");
	return 0;
}

static int
on_line(struct relay_server *s, const struct door_msg *m)
{
	static const char changed[] = "\"notifications/tools/list_changed\"";

	if (m->method.p != NULL)
		return m->method.n == sizeof(changed) - 1 &&
		    memcmp(m->method.p, changed, sizeof(changed) - 1) == 0 ? add_list(s) : 0;
	if (s->list_rpc != 0 && door_is_answer(m, s->list_rpc))
		return on_list(s, m);
	for (size_t i = 0; i < RELAY_CALLS; i++) {
		struct relay_call *call = &s->calls[i];

		if (call->id[0] != '\0' && call->answer.len == 0 && door_is_answer(m, call->rpc))
			return on_answer(s, call, m);
	}
	return 0;			/* of the handshake, or a cancel */
}

int
relay_door_step(struct relay_server *s, struct ats_err *err)
{
	struct door_msg m;
	int filled, rc = flush(s);

	if (rc < 0)
		return ats_err_set(err, ATS_E_EOF, "brain closed the connection");
	filled = door_fill(&s->session.door);
	while ((rc = door_line(&s->session.door, &m, err)) > 0) {
		rc = on_line(s, &m);
		if (rc < 0)
			return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(rc));
	}
	if (rc < 0 || (filled <= 0 && filled != -ATS_E_AGAIN))
		return ats_err_set(err, ATS_E_EOF, "brain closed the connection");
	return flush(s) < 0 ? ats_err_set(err, ATS_E_EOF, "brain closed the connection") : 0;
}

/* ---- calls ----------------------------------------------------------------------------- */
int
relay_submit(struct relay_server *s, const char *id, const char *key, struct ats_buf *params)
{
	struct relay_call *call = s->calls;

	while (call->id[0] != '\0')
		call++;
	ATS_BUG(call >= s->calls + RELAY_CALLS);
	*call = (struct relay_call){ .end_ms = ats_clock_ms() + RELAY_CALL_MS };
	(void)snprintf(call->id, sizeof(call->id), "%s", id);
	(void)snprintf(call->key, sizeof(call->key), "%s", key);
	call->params = *params;
	*params = (struct ats_buf){ 0 };
	s->ncalls++;
	return add_call(s, call);
}

void
relay_deadlines(struct relay_server *s)
{
	uint64_t now = ats_clock_ms();

	for (size_t i = 0; i < RELAY_CALLS; i++) {
		struct relay_call *call = &s->calls[i];

		if (call->id[0] == '\0' || call->answer.len > 0 || now < call->end_ms)
			continue;
		if (call->cancelled) {
			relay_publish_error(s, call,
			    "there was no answer in time; the call may have "
			    "been done");
		} else {
			add_cancel(s, call);
			call->end_ms = now + CANCEL_MS;
		}
	}
}

void
relay_finish(struct relay_server *s)
{
	uint64_t end = ats_clock_ms() + FLUSH_MS, now;

	for (size_t i = 0; i < RELAY_CALLS; i++) {
		struct relay_call *call = &s->calls[i];

		if (call->id[0] == '\0')
			continue;
		if (call->answer.len > 0) {
			relay_publish(s, call, &call->answer);
			continue;
		}
		add_cancel(s, call);
		relay_publish_error(s, call, "the host stopped serving this directory before there "
		    "was an answer; the call may have been done");
	}
	while (s->session.door.fd >= 0 && s->out.len > 0 && flush(s) == 0 && s->out.len > 0 &&
	       (now = ats_clock_ms()) < end) {
		struct pollfd p = { .fd = s->session.door.fd, .events = POLLOUT };

		(void)poll(&p, 1, (int)(end - now));
	}
}
