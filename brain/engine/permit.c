/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for calls of the sandbox's tools. Runs in the engine; calls are a client's, rules come
 * from the vault, which has read them as we do. */
#include "brain/engine/permit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/ctx.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/refused.h"
#include "brain/engine/sessions.h"
#include "brain/engine/turns.h"
#include "brain/policy/rules.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/json.h"
#include "common/log.h"

int
permit_on_rule(struct engine *e, uint64_t effect, const char *text)
{
	struct ats_err err = { 0 };

	if (sessions_count(e->sessions) > 0 || effect < POLICY_ALLOW || effect > POLICY_DENY)
		return -ATS_E_PROTO;
	if (e->rules == NULL)
		e->rules = policy_rules_new();
	if (e->rules == NULL)
		return -ATS_E_NOMEM;
	if (policy_rules_add(e->rules, (enum policy_effect)effect, text, &err) == 0)
		return 0;
	ats_log(ATS_LOG_ERROR, "a rule cannot be read", "why=\"%s\"", err.text);
	return -ATS_E_PROTO;
}

/* What the rules say; POLICY_ALLOW without any. */
static enum policy_effect
decide(struct call *c, struct policy_decision *ret)
{
	struct policy_call call = { .kind = POLICY_SANDBOX, .home = ATS_PLACE_HOME };
	uint64_t began;

	if (c->e->rules == NULL || c->session == NULL || c->input == NULL)
		return POLICY_ALLOW;
	call.tool = c->tool == NULL ? "Bash" : c->tool->name;
	call.args = (struct ats_slice){ c->input, c->input_len };
	call.workspace = c->session->workspace;
	call.cwd = c->cwd != NULL ? c->cwd : c->session->cwd;
	began = ats_clock_us();
	policy_decide(c->e->rules, &call, POLICY_DEFAULT_ASK, ret);
	c->policy_us += ats_clock_us() - began;
	return ret->effect;
}

/* By an engine before this one a person was asked, and about this. */
static bool
was_permitted(struct call *c)
{
	char sha[ATS_SHA256_HEX];

	if (!c->agreed || c->tool == NULL)
		return false;
	ats_sha256_hex(c->input, c->input_len, sha);
	c->permitted = strcmp(sha, c->asked_sha) == 0;
	return c->permitted;
}

/* An exec is asked for as Bash with the words of its program. */
static int
ask_person(struct call *c, struct ats_err *err)
{
	struct ats_slice args = { c->input, c->input_len };
	struct ats_buf words ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	if (c->tool != NULL) {
		ats_sha256_hex(args.p, args.n, c->asked_sha);
		return gateway_ask_person(c, c->tool->name, args, err);
	}
	ats_buf_init(&words, c->input_len + 64);
	ats_json_w_init(&w, &words);
	ats_json_w_object(&w, NULL);
	ats_json_w_raw(&w, "argv", args.p, args.n);
	ats_json_w_end(&w);
	if (w.rc < 0)
		return ats_err_set(err, -w.rc, "%s", ats_err_text(w.rc));
	return gateway_ask_person(c, "Bash", (struct ats_slice){ words.data, words.len }, err);
}

/* A check is told that it would be refused; a call did not start. */
static void
refuse(struct call *c, const struct policy_decision *d)
{
	ats_log(ATS_LOG_INFO, "a rule refused a call", "session=%s call=c-%llu tool=%s why=\"%s\"",
	    c->session->id, (unsigned long long)c->id,
	    c->tool == NULL ? "exec" : c->tool->name, d->why);
	events_emit(c->e, c->session->uid, "call.refused", c->session->id, NULL, c->id,
	    ats_err_name(ATS_E_DENIED));
	refused_note(c, d->why);
	call_fail(c, c->validate ? OUTCOME_DONE : OUTCOME_NOT_STARTED, ATS_E_DENIED,
	    "Refused by policy (%s). It was not run%s, and this is final: calling again gives the "
	    "same answer. Go on without it, or tell the user that this rule is in the way.",
	    d->why, call_may_have_run(c) ? " again" : "");
}

bool
permit_check(struct call *c)
{
	struct policy_decision d;
	struct ats_err err = { 0 };

	if (c->e->rules == NULL && !c->hook_asks)
		return true;
	if (c->tool != NULL && c->session != NULL)
		turns_look_at_input(c);		/* which file it is is settled from here on */
	switch (decide(c, &d)) {
	case POLICY_DENY:
		refuse(c, &d);
		return false;
	case POLICY_ASK:
		break;
	default:
		if (!c->hook_asks)
			return true;
		(void)snprintf(d.why, sizeof(d.why), "a hook wants it");
		break;
	}
	c->asks = c->validate;
	if (c->validate || c->permitted || (c->hook_allows && !c->hook_asks) || was_permitted(c))
		return true;
	if (ask_person(c, &err) < 0) {
		refused_note(c, d.why);
		call_fail(c, OUTCOME_NOT_STARTED, err.code, "A person would have to approve this "
		    "(%s), but cannot be asked: %s. It was not run%s.", d.why, err.text,
		    call_may_have_run(c) ? " again" : "");
	}
	return false;
}

int
permit_check_again(struct call *c, struct ats_err *err)
{
	struct policy_decision d;
	enum policy_effect effect;

	if (c->e->rules == NULL || c->cwd != NULL || c->tool == NULL ||
	    c->tool->profile != ATS_PROFILE_READ)
		return 0;
	effect = decide(c, &d);
	if (effect == POLICY_ALLOW || (effect == POLICY_ASK &&
	    (c->permitted || c->validate || (c->hook_allows && !c->hook_asks))))
		return 0;
	refused_note(c, d.why);
	return ats_err_set(err, ATS_E_DENIED, "the working directory has changed since it was "
	    "asked for, and policy says otherwise there (%s)", d.why);
}
