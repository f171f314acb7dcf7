/* SPDX-License-Identifier: Apache-2.0
 *
 * The self-test of the confinement. Runs in hands' front, once, in a worker of each
 * profile; their reports are only passed on when they are JSON of the right size. */
#include "hands/front/report.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/json.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "proto/msg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe {
	struct report *r;
	enum ats_profile profile;
	struct worker *w;
	struct pool_waiter waiter;
	struct ats_buf json;
	bool ended, verified;
};
struct report {
	struct front *f;
	struct probe probes[3];
	struct event timer;
	bool done;
	bool hooks;		/* what a read worker found in the workspace, see tools/hooks.h */
	char why[320];		/* the first failure that has a reason */
};

static const enum ats_profile probed[] = { ATS_PROFILE_SHELL, ATS_PROFILE_READ,
	ATS_PROFILE_WRITE };
static const char *const profile_names[] = { [ATS_PROFILE_READ] = "read",
	[ATS_PROFILE_WRITE] = "write", [ATS_PROFILE_SHELL] = "shell" };

/* All tests passed by then, else the box had ended; the shell's covers most. */
struct ats_slice
front_report_json(const struct report *r)
{
	return (struct ats_slice){ r->probes[0].json.data, r->probes[0].json.len };
}

bool
front_report_hooks(const struct report *r)
{
	return r->hooks;
}

static void
refuse(const struct report *r)
{
	char text[400];

	if (r->why[0] != '\0')
		(void)snprintf(text, sizeof(text), "%s; no tool runs in this box", r->why);
	front_refuse(r->f, r->why[0] != '\0' ? text :
	    "the self-test of the confinement failed or did not end; no tool runs in this "
	    "box");
}

static void
end_probe(struct probe *p)
{
	struct report *r = p->r;
	bool verified = true;

	if (p->ended)
		return;
	p->ended = true;
	if (!p->verified)
		ats_log(ATS_LOG_ERROR, "the confinement self-test failed", "profile=%s",
		    profile_names[p->profile]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(r->probes); i++) {
		if (!r->probes[i].ended)
			return;
		verified = verified && r->probes[i].verified;
	}
	r->done = true;
	(void)evtimer_del(&r->timer);
	if (!verified) {
		refuse(r);
		return;
	}
	link_report_ready(r->f->link);
	pool_start(r->f->pool);
}

/* Which checks failed, by name. */
static void
take_names(const struct probe *p, struct ats_slice report)
{
	ATS_CLEANUP_BUF struct ats_buf names = { 0 };
	struct ats_json_val tests, v;
	struct report *r = p->r;

	ats_buf_init(&names, 4096);
	if (r->why[0] != '\0' || !ats_json_get(report, "tests", &tests) ||
	    !ats_json_get(tests.raw, "names", &v) || v.type != ATS_JSON_STRING ||
	    ats_json_to_str(&v, &names) < 0)
		return;
	(void)snprintf(r->why, sizeof(r->why), "self-test of a %s worker: %.200s does not hold",
	    profile_names[p->profile], names.data);
}

static void
take_report(struct probe *p, const char *text, size_t n)
{
	struct ats_slice s = { text, n };
	struct ats_json_val v;

	if (n == 0 || n > REPORT_MAX || ats_json_scan(text, n, NULL) < 0 ||
	    ats_json_value(s).type != ATS_JSON_OBJECT ||
	    ats_buf_add(&p->json, text, n) < 0)
		return;
	p->verified = ats_json_get(s, "verified", &v) && v.type == ATS_JSON_BOOL && v.b;
	if (!p->verified)
		take_names(p, s);
}

/* A read worker's result has more to say than the report. */
static void
take_output(struct probe *p, const struct reply_head *h, const char *json)
{
	struct ats_msg_RESULT m;
	struct ats_json_val v;

	if (p->profile == ATS_PROFILE_READ &&
	    ats_msg_decode(&ats_frame_rows[ATS_FRAME_RESULT].shape, json, h->json_len, 0, &m,
		&p->r->f->arena, NULL) == 0 &&
	    m.output.p != NULL && ats_json_get(m.output, "hooks", &v))
		p->r->hooks = v.type == ATS_JSON_BOOL && v.b;
}

static void
on_reply(void *ctx, const struct reply_head *h, const char *json, const char *payload)
{
	struct probe *p = ctx;
	struct worker *w = p->w;

	if (h->what == REPLY_STARTED || h->what == REPLY_PROGRESS)
		return;
	if (h->what == REPLY_RESULT) {
		take_output(p, h, json);
		take_report(p, payload, h->payload_len);
	}
	p->w = NULL;
	worker_release(w);
	end_probe(p);
}

static void
on_lost(void *ctx, int status)
{
	struct probe *p = ctx;

	(void)status;
	p->w = NULL;
	end_probe(p);
}

static const struct worker_ops probe_ops = { .reply = on_reply, .lost = on_lost };

static void
on_worker(void *ctx, struct worker *w, const struct ats_err *err)
{
	static const char no_strings[] = "/\0"; /* cwd, no environment */
	struct probe *p = ctx;
	struct job_head h = {
		.flags = JOB_SELFTEST,
		.deadline_us = ats_clock_us() + REPORT_MS * 1000u,
		.json_len = p->profile == ATS_PROFILE_SHELL ? sizeof(no_strings) : 2,
	};

	if (w == NULL && p->r->why[0] == '\0')
		(void)snprintf(p->r->why, sizeof(p->r->why), "%.300s", err->text);
	p->w = w;
	if (w == NULL ||
	    worker_run(w, &probe_ops, p, &h,
		p->profile == ATS_PROFILE_SHELL ? no_strings : "{}", NULL) < 0) {
		if (w != NULL)
			worker_release(w);
		p->w = NULL;
		end_probe(p);
	}
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct report *r = arg;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < ATS_ARRAY_LEN(r->probes); i++) {
		struct probe *p = &r->probes[i];

		pool_wait_cancel(r->f->pool, p->profile, &p->waiter);
		if (p->w != NULL) {
			pool_kill(r->f->pool, p->w);
			worker_release(p->w);
			p->w = NULL;
		}
		end_probe(p);
	}
}

struct report *
front_report_new(struct front *f)
{
	struct report *r = ats_calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->f = f;
	for (size_t i = 0; i < ATS_ARRAY_LEN(r->probes); i++) {
		struct probe *p = &r->probes[i];

		p->r = r;
		p->profile = probed[i];
		p->waiter.got = on_worker;
		p->waiter.ctx = p;
		ats_buf_init(&p->json, REPORT_MAX);
	}
	if (evtimer_assign(&r->timer, f->base, on_timeout, r) < 0) {
		free(r);
		return NULL;
	}
	return r;
}

int
front_report_restore(struct report *r, struct ats_slice json)
{
	struct probe *p = &r->probes[0];
	struct ats_json_val v;
	int rc = json.n > REPORT_MAX ? -ATS_E_TOOBIG : ats_json_scan(json.p, json.n, NULL);

	if (rc == 0 && (ats_json_value(json).type != ATS_JSON_OBJECT ||
		!ats_json_get(json, "verified", &v) || v.type != ATS_JSON_BOOL || !v.b))
		rc = -ATS_E_JSON;
	if (rc == 0)
		rc = ats_buf_add(&p->json, json.p, json.n);
	r->done = rc == 0;
	r->hooks = true;
	return rc;
}

void
front_report_free(struct report *r)
{
	if (r == NULL)
		return;
	(void)evtimer_del(&r->timer);
	for (size_t i = 0; i < ATS_ARRAY_LEN(r->probes); i++)
		ats_buf_done(&r->probes[i].json);
	free(r);
}

void
front_report_start(struct report *r)
{
	struct timeval tv = { .tv_sec = REPORT_MS / 1000 };

	(void)evtimer_add(&r->timer, &tv);
	for (size_t i = 0; i < ATS_ARRAY_LEN(r->probes); i++)
		pool_wait(r->f->pool, r->probes[i].profile, &r->probes[i].waiter);
}
