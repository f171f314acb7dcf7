/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames that bring calls: known ids are told apart from new ones, and each call goes to
 * who does it. Runs in hands' front; frames come from brain. */
#include "hands/front/calls_private.h"

#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/front/hook.h"
#include "hands/front/link.h"
#include "hands/front/tool_call.h"

#include <string.h>

/* Tells inputs apart; not a defence: the peer would only fool itself. */
static uint64_t
fingerprint(uint64_t h, const char *p, size_t n)
{
	uint64_t w;

	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		h = (h ^ w) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	h = (h ^ n) * 0x9e3779b97f4a7c15u;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

/* True: the id is known, and what is to be done about that has been done. */
static bool
is_duplicate(struct calls *t, uint64_t id, uint64_t print)
{
	struct call *c = calls_find(t, id);

	if (c == NULL)
		return false;
	if (c->fingerprint != print)
		link_refuse(t->f->link, id, ATS_E_ID_REUSED,
		    "this call id was used before with another input");
	else if (c->state == CALL_KEPT && c->ops == NULL && !c->unsent)
		call_send_kept(c);
	return true;
}

/* Who takes a tool's call, by its profile; and who its validate: a worker, unless front
 * has a check of its own. */
#define START_READ(sym) tool_call_start
#define START_WRITE(sym) tool_call_start
#define START_SHELL(sym) front_##sym
#define START_FRONT(sym) front_##sym
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)                         \
	[ATS_TOOL_##sym] = START_##profile(sym),
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
static tool_start *const starts[ATS_TOOL_COUNT] = {
#include "proto/tools.def"
};
#undef TOOL
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)                         \
	[ATS_TOOL_##sym] = front_check_##sym,
static tool_start *const checks[ATS_TOOL_COUNT] = {
#include "proto/tools.def"
};

static tool_start *
starter(const struct ats_tool_row *row, bool validate)
{
	enum ats_tool_id id = ats_tool_id(row);

	if (!validate)
		return starts[id];
	return checks[id] != NULL ? checks[id] : tool_call_start;
}

static void
start(struct calls *t, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m,
    bool validate)
{
	const struct ats_tool_row *row;
	struct call *c;
	/* A retry may say another attempt and deadline. */
	uint64_t print = fingerprint(strlen(m->name) + validate, m->name, strlen(m->name));

	if (m->keep)
		print = fingerprint(print, m->input.p, m->input.n);
	if (is_duplicate(t, fr->head.call, print))
		return;
	c = call_new(t, fr->head.call, m->session, print);
	if (c == NULL)
		return;
	row = ats_tool_find(m->name);
	c->keep = m->keep;
	c->progress = m->progress;
	c->split = m->split;
	c->validate = validate;
	c->row = row;
	if (row == NULL) {
		call_fail(c, true, ATS_E_UNKNOWN_TOOL,
		    "There is no tool named %.64s here.", m->name);
		return;
	}
	if (row->class == ATS_CLASS_PURE)
		c->keep = false;
	call_deadline(c, m->deadline_ms > 0 ? m->deadline_ms : 1);
	starter(row, validate)(c, fr, m);
}

int
calls_on_tool(struct calls *t, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CALL_TOOL m;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_TOOL].shape, fr->json,
	    fr->head.json_len, 0, &m, &t->f->arena, err);

	if (rc == 0)
		start(t, fr, &m, false);
	return rc;
}

int
calls_on_validate(struct calls *t, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CALL_VALIDATE v;
	struct ats_msg_CALL_TOOL m;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_VALIDATE].shape, fr->json,
	    fr->head.json_len, 0, &v, &t->f->arena, err);

	if (rc < 0)
		return rc;
	m = (struct ats_msg_CALL_TOOL){ .name = v.name, .input = v.input, .ctx = v.ctx,
		.deadline_ms = v.deadline_ms, .session = v.session };
	start(t, fr, &m, true);
	return 0;
}

int
calls_on_exec(struct calls *t, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CALL_EXEC m;
	struct call *c;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_EXEC].shape, fr->json,
	    fr->head.json_len, 0, &m, &t->f->arena, err);

	if (rc < 0)
		return rc;
	if (is_duplicate(t, fr->head.call, 1))
		return 0;
	c = call_new(t, fr->head.call, m.session, 1);
	if (c == NULL)
		return 0;
	c->keep = true;	/* brain acknowledges it */
	if (m.has_deadline_ms)
		call_deadline(c, m.deadline_ms > 0 ? m.deadline_ms : 1);
	exec_start(c, &m);
	return 0;
}

/* Of one that ran before nothing is kept: brain never sends it again. */
int
calls_on_hook(struct calls *t, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CALL_HOOK m;
	struct call *c;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_HOOK].shape, fr->json,
	    fr->head.json_len, 0, &m, &t->f->arena, err);

	if (rc < 0)
		return rc;
	if (is_duplicate(t, fr->head.call, 2))
		return 0;
	c = call_new(t, fr->head.call, m.session, 2);
	if (c == NULL)
		return 0;
	call_deadline(c, m.deadline_ms > 0 ? m.deadline_ms : 1);
	hook_start(c, &m);
	return 0;
}
