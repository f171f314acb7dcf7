/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the client that go on with a round (mcp_rounds.h). Process: atsctl; all of it is the
 * client's. What goes wrong decides nothing and runs nothing. */
#include "brain/ctl/mcp_rounds_private.h"

#include <stdlib.h>
#include <string.h>

#include "brain/ctl/mcp_meta.h"
#include "brain/ctl/mcp_state.h"

#define PARAMS (-32602)
#define INVALID (-32600)
#define CAPABILITY (-32021)		/* MissingRequiredClientCapability */

/* data: JSON, or NULL. 1, or -ATS_E_NOMEM. */
static int
refuse(struct ats_buf *out, struct ats_slice id, int code, const char *text, const char *data)
{
	struct ats_json_w w;
	int rc;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_raw(&w, "id", id.p, id.n);
	ats_json_w_object(&w, "error");
	ats_json_w_i64(&w, "code", code);
	ats_json_w_str(&w, "message", text);
	if (data != NULL)
		ats_json_w_raw(&w, "data", data, strlen(data));
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	rc = ats_json_w_line(&w);
	return rc < 0 ? rc : 1;
}

/* The round that has an id in use which is not the engine's to judge, or NULL. */
static struct mcp_round *
uses_id(const struct mcp_rounds *r, struct ats_slice id)
{
	struct mcp_round *x;

	TAILQ_FOREACH(x, &r->all, link)
		if (x->request != NULL && x->state != ROUND_WAITS &&
		    (mcp_same(x->request->id, id) || mcp_same(x->request->as, id)))
			return x;
	return NULL;
}

/* 0: the engine is to hear it as it is. */
static int
on_cancelled(struct mcp_rounds *r, struct mcp_lines *m, const struct mcp_envelope *p,
    struct ats_buf *engine)
{
	struct ats_json_val id;
	struct mcp_round *x;
	int rc;

	if (p->params.p == NULL || !ats_json_get(p->params, "requestId", &id))
		return 0;
	x = round_of(r, id.raw);
	if (x != NULL && x->state == ROUND_WAITS) {
		round_free(r, x);	/* mcp_from_client forgets its request */
		return 0;
	}
	x = uses_id(r, id.raw);
	if (x == NULL)
		return 0;
	if (!mcp_same(x->request->as, id.raw))
		return 1;		/* it is answered: ask again, it said */
	rc = ats_buf_addf(engine, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":%s}}\n", x->request->id);
	if (rc < 0)
		return rc;
	mcp_forget(m, x->request);
	x->request = NULL;
	round_free(r, x);
	return 1;
}

static int
join(struct mcp_round *x, const struct mcp_envelope *p, const struct mcp_meta *meta)
{
	char *token = meta->token.p != NULL ? ats_slice_dup(meta->token) : NULL;
	char *as = ats_slice_dup(p->id);

	if (as == NULL || (meta->token.p != NULL && token == NULL)) {
		free(as);
		free(token);
		return -ATS_E_NOMEM;
	}
	free(x->new_token);
	x->new_token = token;
	free(x->request->as);
	x->request->as = as;
	x->request->parked = false;
	x->state = ROUND_JOINED;
	return 0;
}

static int
give_held(struct mcp_rounds *r, struct mcp_round *x, struct ats_slice id, struct ats_buf *client)
{
	struct ats_slice line = { x->held, x->held_len };
	char *as = ats_slice_dup(id);
	struct mcp_envelope p;
	int rc = as != NULL ? 0 : -ATS_E_NOMEM;

	if (rc == 0 && mcp_envelope_of(line, &p))
		rc = round_splice(client, line, p.id, as);
	free(as);
	if (rc < 0)
		return rc;
	round_free(r, x);
	return 1;
}

/* What the person said, to be told the vault; what was not shown is not decided. */
static int
take_said(struct mcp_rounds *r, struct mcp_round *x, const struct mcp_envelope *p,
    const struct mcp_meta *meta, struct ats_slice said, struct ats_buf *client,
    struct round_decision *ret)
{
	int rc = join(x, p, meta);

	if (rc < 0)
		return rc;
	if (round_known(r, x->shown) == NULL) {
		x->shown[0] = '\0';	/* it is over, or comes again */
		return round_ask_if_due(r, x, client) < 0 ? -ATS_E_NOMEM : 1;
	}
	ret->said = elicit_said_by(said);
	memcpy(ret->approval, x->shown, sizeof(ret->approval));
	memcpy(ret->sha256, x->sha256, sizeof(ret->sha256));
	elicit_way(meta->info, ret->way);
	return 1;
}

/* Whether there is one, and it leaves nothing open. To dismiss a dialog is an answer: the person
 * decides elsewhere, or not at all. */
static bool
is_answer(const struct ats_json_val *said)
{
	return said->type == ATS_JSON_OBJECT && (elicit_said_by(said->raw) != ELICIT_NOTHING ||
	    ats_json_member_is(said->raw, "action", "cancel"));
}

/* Whether what the client sends may be the result of a dialog, or is not there. */
static bool
is_result(const struct ats_json_val *said)
{
	return said->type == ATS_JSON_END || (said->type == ATS_JSON_OBJECT &&
	    (ats_json_member_is(said->raw, "action", "accept") ||
	    ats_json_member_is(said->raw, "action", "decline") ||
	    ats_json_member_is(said->raw, "action", "cancel")));
}

static int
on_retry(struct mcp_rounds *r, struct mcp_lines *m, const struct mcp_envelope *p,
    const struct ats_json_val *state, struct ats_buf *client, struct round_decision *ret)
{
	struct ats_json_val all = { .type = ATS_JSON_END }, said = { .type = ATS_JSON_END };
	char digest[ATS_SHA256_HEX];
	const struct mcp_known *k;
	struct mcp_state s;
	struct mcp_meta meta;
	struct mcp_round *x;

	mcp_meta_read(p->params, &meta);
	state_digest(p->params, digest);
	if (!meta.modern || !state_read(r->key, state, digest, &s))
		return 0;		/* the engine knows none, and says so */
	TAILQ_FOREACH(x, &r->all, link)
		if (x->nr == s.nr)
			break;
	if (x == NULL || x->state != ROUND_PARKED || s.expires_ms < round_now_ms())
		return refuse(client, p->id, PARAMS, "requestState: it was used, or is too old; "
		    "call again without it", NULL);
	if (mcp_is_awaited(m, p->id))
		return refuse(client, p->id, INVALID,
		    "id: a request of that id is not answered yet", NULL);
	if (x->held != NULL)
		return give_held(r, x, p->id, client);
	if (!meta.forms)
		return refuse(client, p->id, CAPABILITY,
		    "the client must show forms to answer this",
		    "{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}");
	if (ats_json_get(p->params, "inputResponses", &all) && all.type == ATS_JSON_OBJECT)
		(void)ats_json_get(all.raw, ROUND_DIALOG, &said);
	if ((all.type != ATS_JSON_END && all.type != ATS_JSON_OBJECT) || !is_result(&said))
		return refuse(client, p->id, PARAMS, "inputResponses: expected an object of the "
		    "results of dialogs", NULL);
	/* No answer, or one to what waits no more: what waits is asked about. */
	k = round_known(r, x->approval);
	if (k != NULL && (!is_answer(&said) || strcmp(s.approval, x->shown) != 0 ||
	    strcmp(x->shown, x->approval) != 0)) {
		char *id = ats_slice_dup(p->id);
		int rc = id != NULL ? round_ask(r, x, k, id, client) : -ATS_E_NOMEM;

		free(id);
		return rc < 0 ? rc : 1;
	}
	return take_said(r, x, p, &meta, said.type == ATS_JSON_OBJECT ? said.raw :
	    (struct ats_slice){ "{}", 2 }, client, ret);
}

int
rounds_from_client(struct mcp_rounds *r, struct mcp_lines *m, const char *line, size_t n,
    struct ats_buf *client, struct ats_buf *engine, struct round_decision *ret)
{
	struct ats_json_val state;
	struct mcp_envelope p;

	*ret = (struct round_decision){ .said = ELICIT_NOTHING };
	if (TAILQ_EMPTY(&r->all) || ats_json_scan(line, n, NULL) < 0 ||
	    !mcp_envelope_of((struct ats_slice){ line, n }, &p))
		return 0;
	if (p.method.p == NULL || !p.versioned)
		return 0;
	if (p.id.p == NULL)
		return mcp_is_method(&p, "notifications/cancelled") ?
		    on_cancelled(r, m, &p, engine) : 0;
	if (uses_id(r, p.id) != NULL)
		return refuse(client, p.id, INVALID, "id: the request of that id is not over yet",
		    NULL);
	if (mcp_is_method(&p, "tools/call") && p.params.p != NULL &&
	    ats_json_get(p.params, "requestState", &state))
		return on_retry(r, m, &p, &state, client, ret);
	return 0;
}
