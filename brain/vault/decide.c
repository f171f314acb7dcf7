/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a call may run. Runs in the vault. It is the engine that asks, which may be compromised:
 * all that it says is judged again here, and by what was read here; it can obtain no call that
 * the policy refuses, and none that a person must see without one. */
#include "brain/vault/decide.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "brain/policy/canon.h"
#include "brain/vault/args.h"
#include "brain/vault/audit.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/json.h"
#include "common/map.h"

#define LIMIT_MOST_MS 3600000
#define SHARE_LEAST 8u

int64_t
decide_now_ms(const struct vault *v)
{
	return v->decide->clock_ms + (int64_t)ats_clock_ms();
}

int
decide_open(struct vault *v, struct ats_err *err)
{
	const struct config *c = v->conf;
	struct decide *d = ats_calloc(1, sizeof(*d));

	if (d == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	v->decide = d;
	TAILQ_INIT(&d->asks);
	d->clock_ms = ats_clock_wall_ms() - (int64_t)ats_clock_ms();
	d->by_id = ats_map_new((size_t)(c->max_approvals + c->max_gateway_calls) + ASKS_OVER);
	d->approvals = approvals_new((size_t)c->max_approvals);
	d->grants = grants_new((size_t)c->max_approvals);
	if (d->by_id == NULL || d->approvals == NULL || d->grants == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	if (getrandom(&d->epoch, sizeof(d->epoch), 0) != sizeof(d->epoch))
		return ats_err_sys(err, "getrandom");
	return 0;
}

void
decide_free(struct vault *v)
{
	struct decide *d = v->decide;

	if (d == NULL)
		return;
	asks_free(v);
	if (d->expiry != NULL)
		event_free(d->expiry);
	approvals_free(d->approvals);
	grants_free(d->grants);
	ats_map_free(d->by_id);
	free(d);
	v->decide = NULL;
}

/* ---- what is asked ------------------------------------------------------------------------- */

static struct ask *
make(struct vault *v, uint64_t id)
{
	struct ask *a = ats_calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->id = id;
	a->state = ASK_OVER;
	ats_buf_init(&a->args, ATS_GATEWAY_ARGS_MAX);
	if (ats_map_put(v->decide->by_id, id, a) < 0) {
		free(a);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&v->decide->asks, a, link);
	v->decide->n++;
	return a;
}

/* Only a session that a user has registered, and that this engine was told of, can ask. */
static int
take_session(struct vault *v, struct ask *a, const char *id, struct ats_err *err)
{
	const struct session *s = reg_find(v->reg, id);

	if (s == NULL || !s->told)
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "There is no such session.");
	(void)snprintf(a->session, sizeof(a->session), "%s", s->id);
	a->uid = s->uid;
	return 0;
}

static bool
is_tool_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	return n > 0 && n < ATS_GATEWAY_TOOL_MAX && s[n] == '\0';
}

static int
take_tool(struct vault *v, struct ask *a, const char *tool, const struct gateway_tool **ret,
    struct ats_err *err)
{
	const char *mark = strstr(tool, "__");
	char name[ATS_GATEWAY_NAME_MAX + 1];

	*ret = NULL;
	if (!is_tool_name(tool))
		return ats_err_set(err, ATS_E_UNKNOWN_TOOL, "There is no such tool.");
	(void)snprintf(a->tool, sizeof(a->tool), "%s", tool);
	if (mark == NULL)
		return 0;
	if ((size_t)(mark - tool) >= sizeof(name))
		return ats_err_set(err, ATS_E_UNKNOWN_TOOL, "There is no such tool.");
	(void)snprintf(name, sizeof(name), "%.*s", (int)(mark - tool), tool);
	a->gateway = gateway_find(v, name);
	*ret = a->gateway != NULL ? gateway_tools_find(a->gateway, tool) : NULL;
	if (*ret == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_TOOL, "There is no tool %s now. The list of "
		    "tools says what there is.", tool);
	a->name = ats_strdup((*ret)->name);
	return a->name == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") : 0;
}

/* The arguments as they are shown, hashed and executed, from those that came. */
static int
take_args(struct vault *v, struct ask *a, const struct gateway_tool *t, struct ats_ipc_msg *m,
    struct ats_err *err)
{
	struct ats_buf file ATS_CLEANUP_BUF = { 0 };
	struct ats_slice text = { m->s[4], strlen(m->s[4]) };
	struct ats_err why = { 0 };
	size_t filed = text.n == 0 && m->nfds > 0 ? 1 : 0;
	int rc = 0;

	ats_buf_init(&file, ATS_GATEWAY_ARGS_MAX);
	if (filed == 1) {
		rc = vault_read_file(m->fds[0], &file);
		text = (struct ats_slice){ file.data, file.len };
	}
	if (rc < 0)
		return ats_err_set(err, -rc, "Its arguments cannot be read: %s. Nothing was run.",
		    ats_err_text(rc));
	rc = policy_canon(text, &a->args, &why);
	if (rc == 0 && ats_json_type((struct ats_slice){ a->args.data, a->args.len }) !=
	    ATS_JSON_OBJECT)
		rc = ats_err_set(&why, ATS_E_JSON, "they are no JSON object");
	if (rc < 0)
		return ats_err_set(err, why.code != 0 ? why.code : -rc, "Its arguments cannot be "
		    "taken: %.300s. Nothing was run; correct them and call again.",
		    why.code != 0 ? why.text : ats_err_text(rc));
	rc = ask_files_take(v, a, t != NULL ? t->said : NULL, m->fds + filed, m->nfds - filed,
	    err);
	if (rc < 0)
		return rc;
	a->args_n = a->args.len;
	v->decide->bytes += a->args_n;
	policy_sha256((struct ats_slice){ a->args.data, a->args.len }, a->sha256);
	return v->decide->bytes <= ASKS_BYTES ? 0 : ats_err_set(err, ATS_E_FULL,
	    "The calls under way have too many bytes of arguments together. Nothing was run; wait "
	    "for some of them, then call again.");
}

/* ---- what is answered ------------------------------------------------------------------------ */

static int
judge(struct vault *v, struct ask *a, const struct gateway_tool *t, struct ats_err *err)
{
	struct policy_call call = { .kind = t != NULL ? POLICY_GATEWAY : POLICY_SANDBOX,
		.tool = a->tool, .args = { a->args.data, a->args.len } };
	struct policy_decision d;
	char missing[120];

	if (t != NULL) {
		call.permission = t->said == NULL ? POLICY_NONE :
		    (enum policy_effect)t->said->permission;
		call.read_only = (t->flags & GATEWAY_READ_ONLY) != 0;
	}
	if (t != NULL && gateway_tool_misses(t, call.args, missing, sizeof(missing)))
		return ats_err_set(err, ATS_E_FIELD, "Its argument \"%s\" is required and missing. "
		    "Nothing was run; add it and call again.", missing);
	if (t != NULL && gateway_tool_has_no(a->gateway, t, call.args, missing, sizeof(missing)))
		return ats_err_set(err, ATS_E_FIELD, "It has no argument \"%s\". Nothing was run; "
		    "look at its description, and call again without it.", missing);
	policy_decide(v->conf->rules, &call, v->conf->gateway_policy, &d);
	(void)snprintf(a->rule, sizeof(a->rule), "%s", d.why);
	a->effect = d.effect;
	if (t != NULL && a->effect == POLICY_ALLOW && v->decide->strict == a->id) {
		a->effect = POLICY_ASK;
		(void)snprintf(a->rule, sizeof(a->rule), "a hook wants a person to decide");
	}
	/* The engine asks about a tool of the sandbox where a rule of its own reading says ask. */
	if (t == NULL && a->effect == POLICY_ALLOW)
		a->effect = POLICY_ASK;
	return a->effect != POLICY_DENY ? 0 : ats_err_set(err, ATS_E_DENIED, "Refused by policy "
	    "(%s). It was not run, and this is final: calling again gives the same answer. Go on "
	    "without it, or tell the user that this rule is in the way.", d.why);
}

/* So many of all may be one session's: what runs in its sandbox cannot keep the others out. */
static size_t
share_of(uint64_t all)
{
	return all <= SHARE_LEAST ? (size_t)all : all / 4 < SHARE_LEAST ? SHARE_LEAST :
	    (size_t)all / 4;
}

static int
check_share(const struct vault *v, const struct ask *a, struct ats_err *err)
{
	const struct ask *o;
	size_t waits = 0, runs = 0;

	TAILQ_FOREACH(o, &v->decide->asks, link) {
		if (o == a || o->state == ASK_OVER || strcmp(o->session, a->session) != 0)
			continue;
		waits += o->state == ASK_WAITS;
		runs += o->state != ASK_WAITS && o->gateway != NULL;
	}
	if (a->effect == POLICY_ASK && waits >= share_of(v->conf->max_approvals))
		return ats_err_set(err, ATS_E_FULL, "%zu calls of this session wait for a person "
		    "already, which is its share of limits.approvals. Nothing was run; call again "
		    "when one of them is answered.", waits);
	if (a->gateway != NULL && runs >= share_of(v->conf->max_gateway_calls))
		return ats_err_set(err, ATS_E_FULL, "%zu calls of this session run already, which "
		    "is its share of limits.gateway_calls. Nothing was run; call again when one of "
		    "them has ended.", runs);
	return 0;
}

static int
check_room(const struct vault *v, const struct ask *a, struct ats_err *err)
{
	if (a->gateway != NULL && v->decide->running >= v->conf->max_gateway_calls)
		return ats_err_set(err, ATS_E_FULL, "%llu calls of such tools run already "
		    "(limits.gateway_calls). Nothing was run; call again when one has ended.",
		    (unsigned long long)v->conf->max_gateway_calls);
	return check_share(v, a, err);
}

void
decide_on_ask(struct vault *v, struct ats_ipc_msg *m)
{
	const struct gateway_tool *t = NULL;
	struct ats_err err = { 0 };
	struct ask *a;
	int rc;

	if (asks_find(v, m->u[0]) != NULL && !asks_forget(v, m->u[0])) {
		engine_kill(v, "it asks about a call that is under way");
		return;
	}
	a = make(v, m->u[0]);
	if (a == NULL) {
		engine_kill(v, "it asks about more calls than there can be");
		return;
	}
	rc = take_session(v, a, m->s[2], &err);
	if (rc == 0)
		rc = take_tool(v, a, m->s[3], &t, &err);
	if (rc == 0)
		rc = take_args(v, a, t, m, &err);
	if (rc == 0)
		rc = judge(v, a, t, &err);
	if (rc == 0)
		rc = check_room(v, a, &err);
	if (rc == 0 && a->gateway != NULL)
		a->limit_ms = m->u[1] == 0 ? ats_gw_timeout_ms(&a->gateway->src->conf, t->said) :
		    m->u[1] < LIMIT_MOST_MS ? m->u[1] : LIMIT_MOST_MS;
	if (rc == 0 && a->effect == POLICY_ASK)
		rc = approve_ask(v, a, &err);
	else if (rc == 0)
		ask_permit(v, a);
	if (rc == 0)
		return;
	(void)!ask_audit(v, a, "refused", NULL, err.code, NULL, NULL);
	ask_end(v, a, err.code, "%s", err.text);
}

void
decide_on_refused(struct vault *v, const struct ats_ipc_msg *m)
{
	const struct session *s = reg_find(v->reg, m->s[1]);
	struct ats_buf why ATS_CLEANUP_BUF = { 0 };
	char call[32];
	struct audit_line l = { .event = "refused", .session = m->s[1], .call = call,
		.tool = m->s[2], .decision = policy_effect_name(POLICY_DENY),
		.code = ats_err_name(ATS_E_DENIED) };

	if (s == NULL || !s->told || !is_tool_name(m->s[2])) {
		engine_kill(v, "it has refused what nobody can ask for");
		return;
	}
	ats_buf_init(&why, 4096);
	(void)!ats_utf8_show(&why, m->s[3], strnlen(m->s[3], 600));
	(void)snprintf(call, sizeof(call), "c-%llu", (unsigned long long)m->u[0]);
	l.uid = s->uid;
	l.rule = why.data;
	(void)!audit_write(v->audit, &l, NULL);	/* it has said so */
}
