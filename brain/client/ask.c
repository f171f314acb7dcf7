/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are asked for: checked, written once, and put behind those before them. Process: an
 * agent runtime, whose arguments these are; it may have them from a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/client/client.h"

/* Of the runtime, which may have it from anywhere: as strict as with what a peer sends. */
static bool
is_object(const char *s, size_t n)
{
	struct ats_slice text = { s, n };

	return ats_json_scan(s, n, NULL) == 0 && ats_json_type(text) == ATS_JSON_OBJECT;
}

static int
check(const struct ats *a, enum call_kind kind, const struct ats_request *q)
{
	if (q == NULL || q->size != sizeof(*q) || q->name == NULL || q->input == NULL ||
	    (q->ctx != NULL && kind == CALL_HOOK))
		return ATS_ERR_ARG;
	if (a->state == CLIENT_FAILED)
		return ATS_ERR_OPEN;
	if (a->ncalls >= CLIENT_calls || q->input_len > CLIENT_request_bytes ||
	    strlen(q->name) > CLIENT_name_bytes ||
	    (q->call_id != NULL && strlen(q->call_id) > CLIENT_name_bytes - 64))
		return ATS_ERR_LIMIT;
	if (!is_object(q->input, q->input_len) ||
	    (q->ctx != NULL && !is_object(q->ctx, strlen(q->ctx))))
		return ATS_ERR_ARG;
	return 0;
}

static int
write_params(const struct client_call *c, const struct ats_request *q, struct ats_buf *out)
{
	bool hook = c->kind == CALL_HOOK;
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, hook ? "event" : "name", q->name);
	ats_json_w_raw(&w, hook ? "input" : "arguments", q->input, q->input_len);
	ats_json_w_str(&w, "call_id", c->call_id);
	if (q->timeout_ms > 0 && !hook)
		ats_json_w_u64(&w, "timeout_ms", q->timeout_ms);
	if (q->ctx != NULL)
		ats_json_w_raw(&w, "ctx", q->ctx, strlen(q->ctx));
	ats_json_w_end(&w);
	return w.rc;
}

static int
fill(struct ats *a, struct client_call *c, const struct ats_request *q)
{
	static const char *const methods[] = { [CALL_TOOL] = "ats/tool.call",
		[CALL_VALIDATE] = "ats/tool.validate", [CALL_HOOK] = "ats/hook.run" };
	struct ats_buf params ATS_CLEANUP_BUF = { 0 }, line ATS_CLEANUP_BUF = { 0 };
	char id[40];
	int rc;

	ats_buf_init(&params, CLIENT_request_bytes);
	ats_buf_init(&line, CLIENT_request_bytes);
	(void)snprintf(id, sizeof(id), "%s-%llu", a->nonce, (unsigned long long)c->nr);
	c->call_id = strdup(q->call_id != NULL ? q->call_id : id);
	if (c->call_id == NULL)
		return ATS_ERR_MEMORY;
	rc = write_params(c, q, &params);
	if (rc == 0)
		rc = calls_request(&line, c->nr, methods[c->kind],
		    (struct ats_slice){ params.data, params.len });
	if (rc < 0)
		return rc == -ATS_E_TOOBIG ? ATS_ERR_LIMIT : ATS_ERR_MEMORY;
	if (line.len > CLIENT_waiting_bytes - a->waiting)
		return ATS_ERR_LIMIT;
	c->line = ats_buf_steal(&line, &c->line_len);
	return c->line != NULL ? 0 : ATS_ERR_MEMORY;
}

static int
ask(struct ats *a, enum call_kind kind, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call)
{
	struct client_call *c;
	int rc = check(a, kind, q);

	if (rc < 0)
		return rc;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return ATS_ERR_MEMORY;
	c->nr = a->next_nr++;
	c->kind = kind;
	c->done = done;
	c->arg = arg;
	rc = fill(a, c, q);
	if (rc < 0) {
		free(c->call_id);
		free(c);
		return rc;
	}
	TAILQ_INSERT_TAIL(&a->calls, c, link);
	a->ncalls++;
	a->waiting += c->line_len;
	if (ret_call != NULL)
		*ret_call = c->nr;
	if (a->state == CLIENT_AWAY)
		open_begin(a);
	else if (a->state == CLIENT_OPEN && !a->working)
		calls_pump(a);
	else
		client_wake(a, 0);
	return 0;
}

int
ats_send_tool(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call)
{
	return ask(a, CALL_TOOL, q, done, arg, ret_call);
}

int
ats_send_validate(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call)
{
	return ask(a, CALL_VALIDATE, q, done, arg, ret_call);
}

int
ats_send_hook(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call)
{
	return ask(a, CALL_HOOK, q, done, arg, ret_call);
}

int
ats_cancel(struct ats *a, uint64_t call)
{
	struct client_call *c = calls_find(a, call);

	if (c == NULL || c->cancelled)
		return 0;
	c->cancelled = a->stale = true;
	if (c->queued && a->state == CLIENT_OPEN)
		calls_give_cancel(a, c);
	client_wake(a, 0);
	return 0;
}
