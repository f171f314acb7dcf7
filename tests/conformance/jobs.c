/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixture tools that say something before they answer: progress, logs, questions. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/fixtures.h"

struct job {
	TAILQ_ENTRY(job) link;
	const struct fixture *f;
	struct engine *e;
	struct client *c;
	bool modern;
	unsigned step;
	char id[RPC_ID_MAX + 1], token[RPC_ID_MAX + 1];	/* raw; token may be "" */
	char asked[32];			/* raw id of what the client is asked, or "" */
	struct event *timer;
};
static TAILQ_HEAD(, job) jobs = TAILQ_HEAD_INITIALIZER(jobs);
static unsigned long asked;

static void
end(struct job *j)
{
	TAILQ_REMOVE(&jobs, j, link);
	if (j->timer != NULL)
		event_free(j->timer);
	free(j);
}

static void
answer(struct job *j, const char *content)
{
	struct rpc r = { .e = j->e, .client = j->c, .modern = j->modern,
		.id = { j->id, strlen(j->id) } };

	fixture_answer(&r, content, false);
	end(j);
}

static void
say(struct job *j, const char *method, const char *params)
{
	if (ats_buf_addf(&j->c->out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}\n",
	    method, params) < 0)
		client_drop(j->c, "no room for a notification");
	else
		client_flush(j->c);
}

static struct job *
begin(const struct fixture *f, struct rpc *r, event_callback_fn step)
{
	struct job *j = calloc(1, sizeof(*j));
	struct ats_json_val meta, token;

	if (j == NULL)
		abort();
	*j = (struct job){ .f = f, .e = r->e, .c = r->client, .modern = r->modern };
	(void)snprintf(j->id, sizeof(j->id), "%.*s", (int)r->id.n, r->id.p);
	if (ats_json_get(r->params, "_meta", &meta) && meta.type == ATS_JSON_OBJECT &&
	    ats_json_get(meta.raw, "progressToken", &token) && token.raw.n <= RPC_ID_MAX)
		(void)snprintf(j->token, sizeof(j->token), "%.*s", (int)token.raw.n, token.raw.p);
	TAILQ_INSERT_TAIL(&jobs, j, link);
	if (step != NULL) {
		j->timer = event_new(r->e->base, -1, 0, step, j);
		event_active(j->timer, EV_TIMEOUT, 0);
	}
	return j;
}

static void
again(struct job *j, unsigned ms)
{
	struct timeval t = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

	(void)event_add(j->timer, &t);
}

static void
on_progress(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;
	char params[RPC_ID_MAX + 64];

	(void)fd;
	(void)what;
	(void)snprintf(params, sizeof(params),
	    "{\"progressToken\":%s,\"progress\":%u,\"total\":100}", j->token, 50 * j->step);
	if (j->token[0] != '\0')
		say(j, "notifications/progress", params);
	if (++j->step < 3)
		again(j, FIXTURE_STEP_MS);
	else
		answer(j, j->f->text);
}

void
fixture_progress(const struct fixture *f, struct rpc *r)
{
	(void)begin(f, r, on_progress);
}

static void
on_log(evutil_socket_t fd, short what, void *arg)
{
	static const char *const said[] = { "Tool execution started", "Tool processing data",
		"Tool execution completed" };
	struct job *j = arg;
	char params[128];

	(void)fd;
	(void)what;
	(void)snprintf(params, sizeof(params), "{\"level\":\"info\",\"data\":\"%s\"}",
	    said[j->step]);
	say(j, "notifications/message", params);
	if (++j->step < ATS_ARRAY_LEN(said))
		again(j, FIXTURE_STEP_MS);
	else
		answer(j, j->f->text);
}

void
fixture_log(const struct fixture *f, struct rpc *r)
{
	(void)begin(f, r, on_log);
}

static void
on_slow(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;

	(void)fd;
	(void)what;
	if (j->step++ == 0)
		again(j, FIXTURE_SLOW_MS);
	else
		answer(j, j->f->text);
}

void
fixture_slow(const struct fixture *f, struct rpc *r)
{
	(void)begin(f, r, on_slow);
}

/* ---- questions ------------------------------------------------------------------- */

void
fixture_elicit(const struct fixture *f, struct rpc *r)
{
	struct job *j = begin(f, r, NULL);

	(void)snprintf(j->asked, sizeof(j->asked), "\"fixture-%lu\"", ++asked);
	if (ats_buf_addf(&j->c->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":"
	    "\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Please say\","
	    "\"requestedSchema\":%s}}\n", j->asked, f->text) < 0)
		client_drop(j->c, "no room for a request");
	else
		client_flush(j->c);
}

bool
fixture_answered(struct client *c, struct ats_slice line)
{
	struct ats_buf content ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val id, result;
	struct ats_json_w w;
	struct job *j;

	if (!ats_json_get(line, "id", &id) || !ats_json_get(line, "result", &result))
		return false;
	TAILQ_FOREACH(j, &jobs, link)
		if (j->c == c && strlen(j->asked) == id.raw.n &&
		    memcmp(j->asked, id.raw.p, id.raw.n) == 0)
			break;
	if (j == NULL)
		return false;
	ats_buf_init(&content, 1u << 20);
	ats_json_w_init(&w, &content);
	ats_json_w_array(&w, NULL);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "type", "text");
	ats_json_w_strn(&w, "text", result.raw.p, result.raw.n);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	answer(j, content.data);
	return true;
}

void
fixtures_client_gone(struct client *c)
{
	struct job *j, *next;

	for (j = TAILQ_FIRST(&jobs); j != NULL; j = next) {
		next = TAILQ_NEXT(j, link);
		if (j->c == c)
			end(j);
	}
}
