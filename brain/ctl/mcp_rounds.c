/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of requests (MCP 2026-07-28, Multi Round-Trip Requests). Process: atsctl.
 *
 * A round begins when the engine says that a request waits for an approval. It WAITS until the
 * vault has told that approval, too; then the client gets it back as a dialog, and it is PARKED:
 * what the engine answers is held. The client's second request, with a requestState that only we
 * can have made for this one and that is good once, JOINS it. A state is no permission: it names
 * what was shown, and what the person says goes to the vault with the digest kept from then. */
#include "brain/ctl/mcp_rounds_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "brain/ctl/mcp_meta.h"
#include "brain/ctl/mcp_state.h"
#include "common/clock.h"
#include "common/fault.h"

#define WAITS "ats/call.waits"

int
rounds_init(struct mcp_rounds *r)
{
	uint64_t chance;

	*r = (struct mcp_rounds){ .next = 1 };
	TAILQ_INIT(&r->all);
	TAILQ_INIT(&r->known);
	if (getrandom(r->key, sizeof(r->key), 0) != (ssize_t)sizeof(r->key) ||
	    getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return -ATS_E_SYS;
	(void)snprintf(r->watch_id, sizeof(r->watch_id), "ats-watch-%016" PRIx64, chance);
	return 0;
}

void
round_free(struct mcp_rounds *r, struct mcp_round *x)
{
	TAILQ_REMOVE(&r->all, x, link);
	r->n--;
	r->held -= x->held_len;
	free(x->token);
	free(x->new_token);
	free(x->held);
	free(x);
}

static void
known_free(struct mcp_rounds *r, struct mcp_known *k)
{
	TAILQ_REMOVE(&r->known, k, link);
	r->nknown--;
	free(k->text);
	free(k);
}

void
rounds_all_gone(struct mcp_rounds *r)
{
	while (!TAILQ_EMPTY(&r->known))
		known_free(r, TAILQ_FIRST(&r->known));
}

void
rounds_done(struct mcp_rounds *r)
{
	while (!TAILQ_EMPTY(&r->all))
		round_free(r, TAILQ_FIRST(&r->all));
	rounds_all_gone(r);
}

struct mcp_known *
round_known(const struct mcp_rounds *r, const char *approval)
{
	struct mcp_known *k;

	TAILQ_FOREACH(k, &r->known, link)
		if (strcmp(k->id, approval) == 0)
			return k;
	return NULL;
}

void
rounds_gone(struct mcp_rounds *r, const char *approval)
{
	struct mcp_known *k = round_known(r, approval);

	if (k != NULL)
		known_free(r, k);
}

uint64_t
round_now_ms(void)
{
	return (uint64_t)ats_clock_wall_ms();
}

/* ---- lines ----------------------------------------------------------------------- */
int
round_splice(struct ats_buf *out, struct ats_slice line, struct ats_slice part, const char *with)
{
	size_t before = out->len, head = (size_t)(part.p - line.p), tail = head + part.n;
	int rc = ats_buf_add(out, line.p, head);

	if (rc == 0)
		rc = ats_buf_add_str(out, with);
	if (rc == 0)
		rc = ats_buf_add(out, line.p + tail, line.n - tail);
	if (rc == 0)
		rc = ats_buf_add_char(out, '\n');
	if (rc < 0)
		ats_buf_truncate(out, before);
	return rc;
}

int
rounds_watch(struct mcp_rounds *r, struct ats_buf *engine)
{
	int rc = ats_buf_addf(engine, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":"
	    "\"ats/call.watch\"}\n", r->watch_id);

	r->watches = r->watches || rc == 0;
	return rc;
}

/* ---- asking the client ------------------------------------------------------------- */
static void
write_required(struct ats_json_w *w, const char *id, const char *text, const char *state)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "jsonrpc", "2.0");
	ats_json_w_raw(w, "id", id, strlen(id));
	ats_json_w_object(w, "result");
	ats_json_w_str(w, "resultType", "input_required");
	ats_json_w_object(w, "inputRequests");
	ats_json_w_object(w, ROUND_DIALOG);
	ats_json_w_str(w, "method", "elicitation/create");
	ats_json_w_object(w, "params");
	ats_json_w_str(w, "mode", "form");
	ats_json_w_str(w, "message", text);
	elicit_write_schema(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_str(w, "requestState", state);
	ats_json_w_object(w, "_meta");
	ats_json_w_object(w, MCP_KEY "serverInfo");
	ats_json_w_str(w, "name", "agent-tool-server");
	ats_json_w_str(w, "version", ATS_VERSION);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
}

int
round_ask(struct mcp_rounds *r, struct mcp_round *x, const struct mcp_known *k, const char *id,
    struct ats_buf *client)
{
	struct mcp_state says;
	char state[STATE_MAX];
	struct ats_json_w w;
	int rc;

	memcpy(x->shown, k->id, sizeof(x->shown));
	memcpy(x->sha256, k->sha256, sizeof(x->sha256));
	x->expires_ms = k->expires_ms + ROUNDS_LATE_MS;
	says = (struct mcp_state){ .nr = x->nr, .expires_ms = x->expires_ms };
	memcpy(says.approval, k->id, sizeof(says.approval));
	state_write(r->key, &says, x->digest, state);
	ats_json_w_init(&w, client);
	write_required(&w, id, k->text, state);
	rc = ats_json_w_line(&w);
	if (rc < 0) {
		x->shown[0] = '\0';
		return rc;
	}
	free(x->request->as);
	x->request->as = NULL;
	x->request->parked = true;
	x->state = ROUND_PARKED;
	return 0;
}

int
round_ask_if_due(struct mcp_rounds *r, struct mcp_round *x, struct ats_buf *client)
{
	const struct mcp_known *k = round_known(r, x->approval);

	if (k == NULL || x->request == NULL || x->state == ROUND_PARKED ||
	    strcmp(x->shown, x->approval) == 0)
		return 0;
	return round_ask(r, x, k, x->request->as != NULL ? x->request->as : x->request->id,
	    client);
}

int
rounds_approval(struct mcp_rounds *r, const struct approval *a, struct ats_buf *client)
{
	struct mcp_round *x, *next;
	struct mcp_known *k;
	struct ats_buf text;
	int rc;

	if (round_known(r, a->id) != NULL)
		return 1;
	if (r->nknown >= ELICIT_MAX)
		return 0;
	ats_buf_init(&text, ELICIT_TEXT_MAX);
	rc = elicit_text(a, &text);
	k = rc == 0 ? ats_calloc(1, sizeof(*k)) : NULL;
	if (k == NULL) {
		ats_buf_done(&text);
		return rc == -ATS_E_TOOBIG ? 0 : -ATS_E_NOMEM;
	}
	memcpy(k->id, a->id, sizeof(k->id));
	memcpy(k->sha256, a->sha256, sizeof(k->sha256));
	k->expires_ms = a->expires_ms;
	k->text = ats_buf_steal(&text, NULL);
	ats_buf_done(&text);
	TAILQ_INSERT_TAIL(&r->known, k, link);
	r->nknown++;
	for (x = TAILQ_FIRST(&r->all), rc = 0; rc == 0 && x != NULL; x = next) {
		next = TAILQ_NEXT(x, link);
		if (strcmp(x->approval, a->id) == 0)
			rc = round_ask_if_due(r, x, client);
	}
	return rc < 0 ? rc : 1;
}

/* ---- from the engine ----------------------------------------------------------------- */
struct mcp_round *
round_of(const struct mcp_rounds *r, struct ats_slice id)
{
	struct mcp_round *x;

	TAILQ_FOREACH(x, &r->all, link)
		if (x->request != NULL && mcp_same(x->request->id, id))
			return x;
	return NULL;
}

/* Answers that nobody fetched in time. */
static void
drop_late(struct mcp_rounds *r)
{
	struct mcp_round *x, *next;

	for (x = TAILQ_FIRST(&r->all); x != NULL; x = next) {
		next = TAILQ_NEXT(x, link);
		if (x->held != NULL && x->expires_ms < round_now_ms())
			round_free(r, x);
	}
}

/* *ret is NULL when it is one too many: the person has atsctl approve. */
static int
begin(struct mcp_rounds *r, struct mcp_request *request, struct mcp_round **ret)
{
	struct mcp_round *x;
	struct mcp_meta meta;
	struct mcp_envelope p;

	drop_late(r);
	*ret = NULL;
	if (r->n >= ROUNDS_MAX ||
	    !mcp_envelope_of((struct ats_slice){ request->line, request->len }, &p))
		return 0;
	x = ats_calloc(1, sizeof(*x));
	if (x == NULL)
		return -ATS_E_NOMEM;
	mcp_meta_read(p.params, &meta);
	state_digest(p.params, x->digest);
	x->token = meta.token.p != NULL ? ats_slice_dup(meta.token) : NULL;
	if (x->digest[0] == '\0' || (meta.token.p != NULL && x->token == NULL)) {
		free(x->token);
		free(x);
		return -ATS_E_NOMEM;
	}
	x->nr = r->next++;
	x->request = request;
	TAILQ_INSERT_TAIL(&r->all, x, link);
	r->n++;
	*ret = x;
	return 0;
}

static int
on_waits(struct mcp_rounds *r, struct mcp_lines *m, const struct mcp_envelope *p,
    struct ats_buf *client)
{
	struct ats_json_val id, approval;
	struct mcp_request *request;
	struct mcp_round *x;

	if (p->params.p == NULL || !ats_json_get(p->params, "requestId", &id) ||
	    !ats_json_get(p->params, "approval", &approval) ||
	    approval.type != ATS_JSON_STRING || approval.raw.n - 2 >= APPROVAL_ID_MAX)
		return 1;
	request = mcp_find(m, id.raw);
	if (request == NULL || !request->forms)
		return 1;
	x = round_of(r, id.raw);
	if (x == NULL && begin(r, request, &x) < 0)
		return -ATS_E_NOMEM;
	if (x == NULL)
		return 1;
	memcpy(x->approval, approval.raw.p + 1, approval.raw.n - 2);
	x->approval[approval.raw.n - 2] = '\0';
	if (!ats_id_valid(x->approval))
		x->approval[0] = '\0';
	return round_ask_if_due(r, x, client) < 0 ? -ATS_E_NOMEM : 1;
}

/* A token is one of a request that waits: the first is over when the second comes. */
static int
on_progress(struct mcp_rounds *r, const struct mcp_envelope *p, struct ats_slice line,
    struct ats_buf *client)
{
	struct ats_json_val token;
	struct mcp_round *x;

	if (p->params.p == NULL || !ats_json_get(p->params, "progressToken", &token))
		return 0;
	TAILQ_FOREACH(x, &r->all, link) {
		if (x->request == NULL || x->state == ROUND_WAITS ||
		    !mcp_same(x->token, token.raw))
			continue;
		if (x->state == ROUND_JOINED && x->new_token != NULL &&
		    round_splice(client, line, token.raw, x->new_token) < 0)
			return -ATS_E_NOMEM;
		return 1;
	}
	return 0;
}

/* The oldest go first; one answer alone fits. */
static int
hold(struct mcp_rounds *r, struct mcp_round *x, struct ats_slice line)
{
	struct mcp_round *y, *next;
	char *held = ats_slice_dup(line);

	if (held == NULL)
		return -ATS_E_NOMEM;
	for (y = TAILQ_FIRST(&r->all); y != NULL && r->held + line.n > ROUNDS_HELD_MAX; y = next) {
		next = TAILQ_NEXT(y, link);
		if (y->held != NULL)
			round_free(r, y);
	}
	x->held = held;
	x->held_len = line.n;
	r->held += line.n;
	return 0;
}

static int
on_answer(struct mcp_rounds *r, struct mcp_lines *m, const struct mcp_envelope *p,
    struct ats_slice line, struct ats_buf *client)
{
	struct mcp_round *x = round_of(r, p->id);
	struct mcp_request *request;
	int rc;

	if (x == NULL)
		return 0;
	if (x->state == ROUND_WAITS) {
		round_free(r, x);
		return 0;
	}
	request = x->request;
	rc = x->state == ROUND_PARKED ? hold(r, x, line) :
	    round_splice(client, line, p->id, request->as);
	if (rc < 0)
		return rc;
	if (x->state == ROUND_JOINED)
		round_free(r, x);
	else
		x->request = NULL;
	mcp_forget(m, request);
	return 1;
}

int
rounds_from_engine(struct mcp_rounds *r, struct mcp_lines *m, struct ats_slice line,
    struct ats_buf *client)
{
	struct mcp_envelope p;

	/* Most lines need no look: their heads tell. */
	if (TAILQ_EMPTY(&r->all) && (!r->watches ||
	    memmem(line.p, line.n < 64 ? line.n : 64, WAITS, sizeof(WAITS) - 1) == NULL))
		return 0;
	if (ats_json_scan(line.p, line.n, NULL) < 0)
		return -ATS_E_PROTO;
	if (!mcp_envelope_of(line, &p))
		return 0;
	if (mcp_is_method(&p, WAITS))
		return on_waits(r, m, &p, client);
	if (mcp_is_method(&p, "notifications/progress"))
		return on_progress(r, &p, line, client);
	return p.method.p == NULL && p.id.p != NULL && p.answer ?
	    on_answer(r, m, &p, line, client) : 0;
}
