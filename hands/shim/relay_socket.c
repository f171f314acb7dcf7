/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to the host by the relay socket of front, on which the frames of the link are spoken,
 * with front as the brain. Runs in the shim. When it ends (front is replaced, or had too many
 * peers) the shim stays, and comes again. */
#include "hands/shim/shim.h"

#include "common/chan.h"
#include "common/fault.h"
#include "common/fd.h"
#include "proto/msg.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>

#define AGAIN_MS 100u		/* twice as long each time, up to */
#define AGAIN_MAX_MS 5000u
#define JSON_MAX (1100u << 10)	/* of CALL_GATEWAY */

struct relay_socket {
	struct shim *s;
	const char *path, *session;
	struct ats_chan *chan;		/* NULL: away */
	struct event *again;
	unsigned again_ms;
	bool was_away;
	struct ats_buf arena;
};

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	(void)ctx;
	return ats_frame_gate(h, ATS_FROM_BRAIN, ATS_STATE_READY, err);
}

static int
decode(struct relay_socket *r, enum ats_frame_id id, const struct ats_frame *fr, void *ret,
    struct ats_err *err)
{
	return ats_msg_decode(&ats_frame_rows[id].shape, fr->json, fr->head.json_len, 0, ret,
	    &r->arena, err);
}

static int
on_result(struct relay_socket *r, const struct ats_frame *fr, struct ats_err *err)
{
	struct shim_call *c = shim_call_find(r->s, fr->head.call);
	struct ats_msg_RESULT m;
	const char *text = fr->payload;
	size_t n = fr->head.payload_len;
	bool failed;
	int rc = decode(r, ATS_FRAME_RESULT, fr, &m, err);

	if (rc < 0 || c == NULL)
		return rc;
	failed = (m.has_is_error && m.is_error) || strcmp(m.outcome, "done") != 0;
	if (failed && n == 0) {		/* a refusal is never empty */
		text = m.code != NULL ? ats_err_text(ats_err_from_name(m.code)) :
		    "the tool failed, and the host did not say why";
		n = strlen(text);
		m.blocks.p = NULL;
	}
	shim_call_blocks(r->s, c, failed, m.blocks, text, n);
	return 0;
}

static int
on_progress(struct relay_socket *r, const struct ats_frame *fr, struct ats_err *err)
{
	struct shim_call *c = shim_call_find(r->s, fr->head.call);
	struct ats_msg_EVENT_PROGRESS m;
	int rc = decode(r, ATS_FRAME_EVENT_PROGRESS, fr, &m, err);

	if (rc == 0 && c != NULL)
		shim_call_progress(r->s, c, m.message);
	return rc;
}

static int
on_tools(struct relay_socket *r, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_specs specs;
	struct ats_msg_TOOLS m;
	int rc = decode(r, ATS_FRAME_TOOLS, fr, &m, err);

	if (rc == 0)
		rc = ats_specs_read(m.tools.p, m.tools.n, &specs, err);
	if (rc == 0)
		shim_tools_changed(r->s, &specs);
	return rc;
}

static int
on_frame(void *ctx, const struct ats_frame *fr, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(fr->head.type, fr->head.kind);
	struct relay_socket *r = ctx;

	r->again_ms = 0;	/* it serves us */
	if (row == &ats_frame_rows[ATS_FRAME_RESULT])
		return on_result(r, fr, err);
	if (row == &ats_frame_rows[ATS_FRAME_EVENT_PROGRESS])
		return on_progress(r, fr, err);
	if (row == &ats_frame_rows[ATS_FRAME_TOOLS])
		return on_tools(r, fr, err);
	return ats_err_set(err, ATS_E_STATE, "%s is not for this socket", row->shape.name);
}

/* ---- coming and going ------------------------------------------------------------------ */
static void
come_again(struct relay_socket *r)
{
	unsigned ms = r->again_ms == 0 ? AGAIN_MS : r->again_ms;
	const struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	r->was_away = true;
	r->again_ms = ms * 2 > AGAIN_MAX_MS ? AGAIN_MAX_MS : ms * 2;
	if (evtimer_add(r->again, &tv) < 0)
		shim_end(r->s, "out of memory");
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct relay_socket *r = ctx;

	ats_chan_free(r->chan);
	r->chan = NULL;
	if (code != ATS_E_EOF)
		(void)fprintf(stderr, "ats-hands: shim: the relay socket: %s\n", why);
	shim_calls_fail(r->s, "The connection to the host was lost while the tool was under way; "
	    "whether it ran is not known.");
	come_again(r);
}

static int
connect_now(struct relay_socket *r, struct ats_err *err)
{
	static const struct ats_chan_ops ops = { .check = on_check, .frame = on_frame,
		.closed = on_closed };
	int fd = -1, rc = ats_fd_unix_connect(r->path, SOCK_STREAM, &fd, err);

	if (rc < 0)
		return rc;
	r->chan = ats_chan_new(r->s->base, fd, &ops, r);
	return r->chan == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") : 0;
}

static void
on_again(evutil_socket_t fd, short what, void *arg)
{
	struct relay_socket *r = arg;

	(void)fd;
	(void)what;
	if (connect_now(r, NULL) < 0) {
		come_again(r);
	} else if (r->was_away) {
		r->was_away = false;
		shim_tools_changed(r->s, NULL);
	}
}

static int
open_socket(struct shim *s, const char *path)
{
	struct relay_socket *r = ats_calloc(1, sizeof(*r));
	struct ats_err err = { 0 };

	if (r == NULL || (r->again = evtimer_new(s->base, on_again, r)) == NULL) {
		free(r);
		(void)fprintf(stderr, "ats-hands: shim: out of memory\n");
		return -1;
	}
	s->host = r;
	r->s = s;
	r->path = path;
	r->session = getenv("ATS_SESSION_ID");
	if (r->session != NULL && (r->session[0] == '\0' || strlen(r->session) > 32))
		r->session = NULL;
	ats_buf_init(&r->arena, 1u << 20);
	if (connect_now(r, &err) == 0)
		return 0;
	(void)fprintf(stderr, "ats-hands: shim: the relay socket cannot be reached: %s\n",
	    err.text);
	return -1;
}

static void
close_socket(struct shim *s)
{
	struct relay_socket *r = s->host;

	if (r == NULL)
		return;
	ats_chan_free(r->chan);		/* front cancels what was under way */
	event_free(r->again);
	ats_buf_done(&r->arena);
	free(r);
	s->host = NULL;
}

/* ---- calls ----------------------------------------------------------------------------- */
static int
send_call(const struct relay_socket *r, const struct shim_call *c, const char *name,
    struct ats_slice args)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_CALL_GATEWAY];
	ATS_CLEANUP_BUF struct ats_buf json = { 0 };
	char key[32];
	const struct ats_msg_CALL_GATEWAY m = {
		.name = name,
		.input = args,
		.session = r->session,
		.key = key,
		.progress = c->token != NULL,
		.has_progress = c->token != NULL,
	};
	int rc;

	(void)snprintf(key, sizeof(key), "%" PRIu64, c->number);
	ats_buf_init(&json, JSON_MAX);
	rc = ats_msg_encode(&row->shape, &m, &json, NULL);
	return rc < 0 ? rc : ats_chan_send(r->chan, row->type, row->kind, c->number, json.data,
	    json.len, NULL, 0);
}

static void
call(struct shim *s, struct shim_call *c, const struct ats_spec *spec, struct ats_slice args)
{
	static const char away[] = "The host cannot be reached now; the tool was not started. Try "
	    "again later.";
	struct relay_socket *r = s->host;

	if (r->chan == NULL || send_call(r, c, spec->name, args) < 0)
		shim_call_text(s, c, true, away, sizeof(away) - 1);
}

static void
cancel(struct shim *s, struct shim_call *c)
{
	static const char json[] = "{\"why\":\"cancelled\"}";
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_CANCEL];
	struct relay_socket *r = s->host;

	/* The result still comes, and ends it. */
	if (r->chan == NULL || ats_chan_send(r->chan, row->type, row->kind, c->number, json,
	    sizeof(json) - 1, NULL, 0) < 0)
		shim_call_drop(s, c);
}

const struct shim_way shim_by_socket = { "socket", open_socket, call, cancel, close_socket };
