/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the MCP relay. Process: atsctl; the MCP client controls one side, the engine
 * the other. No input and output here. */
#include "brain/ctl/mcp_lines.h"

#include <stdlib.h>
#include <string.h>

#include "brain/ctl/mcp_envelope.h"
#include "brain/ctl/mcp_meta.h"
#include "common/fault.h"
#include "proto/unsure.h"

void
mcp_lines_init(struct mcp_lines *m)
{
	*m = (struct mcp_lines){ 0 };
	TAILQ_INIT(&m->pending);
}

void
mcp_forget(struct mcp_lines *m, struct mcp_request *r)
{
	TAILQ_REMOVE(&m->pending, r, link);
	m->n--;
	m->bytes -= r->len;
	free(r->line);
	free(r->id);
	free(r->as);
	free(r);
}

void
mcp_lines_done(struct mcp_lines *m)
{
	while (!TAILQ_EMPTY(&m->pending))
		mcp_forget(m, TAILQ_FIRST(&m->pending));
	free(m->initialize);
	free(m->initialized);
	mcp_lines_init(m);
}

bool
mcp_lines_room(const struct mcp_lines *m)
{
	return m->n < MCP_PENDING_MAX && m->bytes < MCP_PENDING_BYTES;
}

struct mcp_request *
mcp_find(const struct mcp_lines *m, struct ats_slice id)
{
	struct mcp_request *r;

	TAILQ_FOREACH(r, &m->pending, link) {
		if (mcp_same(r->id, id))
			return r;
	}
	return NULL;
}

bool
mcp_is_awaited(const struct mcp_lines *m, struct ats_slice id)
{
	struct mcp_request *r;

	TAILQ_FOREACH(r, &m->pending, link) {
		if (!r->parked && mcp_same(r->as != NULL ? r->as : r->id, id))
			return true;
	}
	return false;
}

static int
remember(struct mcp_lines *m, struct ats_slice line, const struct mcp_envelope *p)
{
	struct mcp_request *r = ats_calloc(1, sizeof(*r));
	struct mcp_meta meta;

	if (r == NULL)
		return -ATS_E_NOMEM;
	mcp_meta_read(p->bad ? (struct ats_slice){ NULL, 0 } : p->params, &meta);
	r->modern = meta.modern;
	r->forms = meta.forms && meta.modern && mcp_is_method(p, "tools/call");
	r->calls = mcp_is_method(p, "tools/call");
	r->listen = meta.modern && mcp_is_method(p, "subscriptions/listen");
	r->line = ats_slice_dup(line);
	r->id = ats_slice_dup(p->id);
	r->len = line.n;
	if (r->line == NULL || r->id == NULL) {
		free(r->line);
		free(r->id);
		free(r);
		return -ATS_E_NOMEM;
	}
	TAILQ_INSERT_TAIL(&m->pending, r, link);
	m->n++;
	m->bytes += r->len;
	return 0;
}

static int
replace(char **to, struct ats_slice line)
{
	char *s = ats_slice_dup(line);

	if (s == NULL)
		return -ATS_E_NOMEM;
	free(*to);
	*to = s;
	return 0;
}

/* A cancelled request gets no answer, and must not run again after a loss. */
static void
on_cancelled(struct mcp_lines *m, struct ats_slice params)
{
	struct ats_json_val v;
	struct mcp_request *r;

	if (!ats_json_get(params, "requestId", &v))
		return;
	r = mcp_find(m, v.raw);
	if (r != NULL)
		mcp_forget(m, r);
}

/* The engine agrees to that revision, the only one with arrays, when it is asked for it. */
static bool
asks_for_batches(struct ats_slice params)
{
	struct ats_json_val v;

	return params.p != NULL && ats_json_get(params, "protocolVersion", &v) &&
	    v.raw.n == 12 && memcmp(v.raw.p, "\"2025-03-26\"", 12) == 0;
}

static int
one_from_client(struct mcp_lines *m, struct ats_slice object)
{
	struct mcp_envelope p;
	int rc = 0;

	(void)mcp_envelope_read(object, &p);
	if (p.id.p == NULL && p.bad) {
		m->nulls++;
		return 0;
	}
	if (p.answer)			/* nobody answers an answer */
		return 0;
	if (p.id.p == NULL) {
		if (mcp_is_method(&p, "notifications/cancelled"))
			on_cancelled(m, p.params);
		else if (mcp_is_method(&p, "notifications/initialized"))
			rc = replace(&m->initialized, object);
		return rc;
	}
	if (mcp_is_method(&p, "initialize")) {
		rc = replace(&m->initialize, object);
		m->batches = !p.bad && asks_for_batches(p.params);
	}
	return rc < 0 ? rc : remember(m, object, &p);
}

static int
batch_from_client(struct mcp_lines *m, struct ats_slice array)
{
	struct ats_json_val v;
	struct ats_json_iter it;
	struct ats_slice key;
	bool empty = true;
	int rc = 0;

	ats_json_iter_init(&it, array);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		empty = false;
		if (v.type == ATS_JSON_OBJECT)
			rc = one_from_client(m, v.raw);
		else
			m->nulls++;
	}
	m->nulls += empty;
	return rc;
}

int
mcp_from_client(struct mcp_lines *m, const char *line, size_t n)
{
	struct ats_json_val top;

	if (ats_json_scan(line, n, NULL) == 0) {
		top = ats_json_value((struct ats_slice){ line, n });
		if (top.type == ATS_JSON_OBJECT)
			return one_from_client(m, top.raw);
		if (top.type == ATS_JSON_ARRAY && m->batches)
			return batch_from_client(m, top.raw);
	}
	m->nulls++;
	return 0;
}

static bool
subscription_of(const struct mcp_envelope *p, struct ats_json_val *ret_id)
{
	struct ats_json_val meta;

	return p->params.p != NULL && ats_json_get(p->params, "_meta", &meta) &&
	       ats_json_get(meta.raw, MCP_KEY "subscriptionId", ret_id);
}

/* The acknowledgement of a subscription that was asked for again after a loss: the client has one
 * already. */
static bool
is_acked_again(struct mcp_lines *m, const struct mcp_envelope *p)
{
	struct mcp_request *r;
	struct ats_json_val id;
	bool again;

	if (!mcp_is_method(p, "notifications/subscriptions/acknowledged") ||
	    !subscription_of(p, &id))
		return false;
	r = mcp_find(m, id.raw);
	if (r == NULL || !r->listen)
		return false;
	again = r->acked;
	r->acked = true;
	return again;
}

static enum mcp_fate
one_from_engine(struct mcp_lines *m, struct ats_slice object)
{
	enum mcp_fate fate = MCP_PASS;
	struct mcp_envelope p;
	struct mcp_request *r;
	size_t at;

	(void)mcp_envelope_read(object, &p);
	if (p.method.p != NULL)
		return is_acked_again(m, &p) ? MCP_RELISTEN : MCP_PASS;
	if (!p.answer)
		return MCP_PASS;
	if (p.id.p == NULL) {
		m->nulls -= m->nulls > 0;
		return MCP_PASS;
	}
	r = mcp_find(m, p.id);
	if (r == NULL)
		return MCP_DROP;
	if (r->calls && r->again && ats_unsure_at(object, &at))
		fate = MCP_UNSURE;
	mcp_forget(m, r);
	return fate;
}

/* The request that a line answers, if it begins as the engine begins a result
 * (brain/engine/answer.c); what is in it is the client's to read. NULL: look closer. */
static struct mcp_request *
plainly_answered(const struct mcp_lines *m, struct ats_slice line)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":", mid[] = ",\"result\":{";
	struct ats_json_val id;

	if (line.n < sizeof(head) || memcmp(line.p, head, sizeof(head) - 1) != 0)
		return NULL;
	line.p += sizeof(head) - 1;
	line.n -= sizeof(head) - 1;
	id = ats_json_value(line);
	if (!mcp_is_id(&id) || id.raw.p != line.p || line.n - id.raw.n < sizeof(mid) ||
	    memcmp(line.p + id.raw.n, mid, sizeof(mid) - 1) != 0)
		return NULL;
	return mcp_find(m, id.raw);
}

enum mcp_fate
mcp_from_engine(struct mcp_lines *m, struct ats_slice line)
{
	struct mcp_request *r = plainly_answered(m, line);
	struct ats_json_val top, v;
	enum mcp_fate fate = MCP_DROP;
	struct ats_json_iter it;
	struct ats_slice key;

	if (r != NULL) {
		mcp_forget(m, r);
		return MCP_PASS;
	}
	if (ats_json_scan(line.p, line.n, NULL) < 0)
		return MCP_LOST;
	top = ats_json_value(line);
	if (top.type != ATS_JSON_ARRAY)
		return one_from_engine(m, top.raw);
	ats_json_iter_init(&it, top.raw);
	while (ats_json_next(&it, &key, &v)) {
		if (one_from_engine(m, v.raw) != MCP_DROP)
			fate = MCP_PASS;
	}
	return fate;
}

int
mcp_unsure(struct ats_slice line, struct ats_buf *out)
{
	size_t at = 0;
	int rc;

	line = ats_json_value(line).raw;
	(void)ats_unsure_at(line, &at);
	rc = ats_unsure_add(line, at, out);
	return rc < 0 ? rc : ats_buf_add_char(out, '\n');
}

int
mcp_relistened(struct ats_slice line, struct ats_buf *out)
{
	struct ats_json_val id, kept, tools;
	struct mcp_envelope p;

	(void)mcp_envelope_of(line, &p);
	if (!subscription_of(&p, &id) || !ats_json_get(p.params, "notifications", &kept) ||
	    !ats_json_get(kept.raw, "toolsListChanged", &tools) || !tools.b)
		return 0;
	return ats_buf_addf(out, "{\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/tools/list_changed\",\"params\":{\"_meta\":{\"" MCP_KEY
	    "subscriptionId\":%.*s}}}\n", (int)id.raw.n, id.raw.p);
}

bool
mcp_is_notification(const char *line, size_t n)
{
	struct mcp_envelope p;

	return ats_json_scan(line, n, NULL) == 0 &&
	    mcp_envelope_of((struct ats_slice){ line, n }, &p) && p.method.p != NULL &&
	    p.id.p == NULL && !p.bad && !mcp_is_method(&p, "notifications/initialized");
}

bool
mcp_awaits(const struct mcp_lines *m)
{
	struct mcp_request *r;

	TAILQ_FOREACH(r, &m->pending, link) {
		if (!r->listen && !r->parked)
			return true;
	}
	return m->nulls > 0;
}
