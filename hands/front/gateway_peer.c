/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs in the sandbox that ask for tools of the host. Runs in front, whose socket it is; all
 * that they send is hostile and costs one its own connection. On it they speak the frames of the
 * link, with front as the brain: control.tools comes first. */
#include "hands/front/gateway_private.h"

#include "common/acceptor.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>

#define LOG_MS 1000u

/* ---- what they send -------------------------------------------------------------------- */
static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(h->type, h->kind);
	int rc = ats_frame_gate(h, ATS_FROM_HANDS, ATS_STATE_READY, err);

	(void)ctx;
	if (rc < 0)
		return rc;
	if (row == &ats_frame_rows[ATS_FRAME_CALL_GATEWAY] ||
	    row == &ats_frame_rows[ATS_FRAME_CANCEL] ||
	    row == &ats_frame_rows[ATS_FRAME_GOODBYE])
		return 0;
	return ats_err_set(err, ATS_E_STATE, "%s is not for this socket", row->shape.name);
}

static int
on_call(struct gateway_peer *p, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CALL_GATEWAY m;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_GATEWAY].shape, fr->json,
	    fr->head.json_len, 0, &m, &p->g->f->arena, err);

	return rc < 0 ? rc : gateway_call(p, fr->head.call, &m, err);
}

static int
on_cancel(struct gateway_peer *p, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CANCEL m;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CANCEL].shape, fr->json,
	    fr->head.json_len, 0, &m, &p->g->f->arena, err);

	if (rc == 0)
		gateway_cancel(p, fr->head.call);
	return rc;
}

static int
on_frame(void *ctx, const struct ats_frame *fr, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(fr->head.type, fr->head.kind);
	struct gateway_peer *p = ctx;

	if (p->leaves)
		return 0;
	if (row == &ats_frame_rows[ATS_FRAME_CALL_GATEWAY])
		return on_call(p, fr, err);
	if (row == &ats_frame_rows[ATS_FRAME_CANCEL])
		return on_cancel(p, fr, err);
	return -ATS_E_EOF;
}

/* ---- ends ------------------------------------------------------------------------------ */
/* One that comes and breaks a rule without end fills no log. */
static void
log_end(struct gateway *g, int code, const char *why)
{
	uint64_t now = ats_clock_ms();
	char quoted[256];

	if (code == ATS_E_EOF)
		return;
	g->unlogged++;
	if (g->log_ms != 0 && now - g->log_ms < LOG_MS)
		return;
	ats_log(ATS_LOG_WARN, "who asked for tools of the host was let go", "code=%s why=%s "
	    "ended=%llu", ats_err_name(code), ats_log_quote(quoted, sizeof(quoted), why,
	    strlen(why)), (unsigned long long)g->unlogged);
	g->log_ms = now;
	g->unlogged = 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct gateway_peer *p = ctx, **at = &p->g->peers;

	log_end(p->g, code, why);
	gateway_forget(p);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->g->npeers--;
	gateway_peer_free(p);
}

void
gateway_peer_free(struct gateway_peer *p)
{
	ats_chan_free(p->chan);
	free(p);
}

void
gateway_peer_send(struct gateway_peer *p, enum ats_frame_id id, uint64_t its,
    const char *json, size_t json_len, const char *payload, size_t payload_len)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];
	int rc = 0;

	if (p->leaves)
		return;
	if (ats_chan_queued(p->chan) > GATEWAY_QUEUE)
		rc = -ATS_E_FULL;
	else
		rc = ats_chan_send(p->chan, row->type, row->kind, its, json, json_len, payload,
		    payload_len);
	if (rc == 0 || rc == -ATS_E_EOF)	/* its end is on the way */
		return;
	p->leaves = true;
	ats_chan_close(p->chan, -rc, rc == -ATS_E_FULL ? "it does not read" : ats_err_text(rc));
}

/* ---- arrivals -------------------------------------------------------------------------- */
static bool
is_ours(const struct gateway *g, int conn)
{
	uid_t uid;

	return ats_fd_peer(conn, &uid, NULL, NULL) == 0 &&
	    (uid == g->f->opt.peers[0] || uid == g->f->opt.peers[1]);
}

/* Each costs a greeting of up to a MiB: so many a second, and the others wait. */
static void
count(struct gateway *g)
{
	uint64_t now = ats_clock_ms();

	if (now - g->second_ms >= 1000) {
		g->second_ms = now;
		g->accepted = 0;
	}
	if (++g->accepted >= GATEWAY_ACCEPTS)
		ats_acceptor_pause(g->acceptor, (unsigned)(1000 - (now - g->second_ms)));
}

static void
admit(void *ctx, int conn)
{
	static const struct ats_chan_ops ops = { .check = on_check, .frame = on_frame,
		.closed = on_closed };
	struct gateway *g = ctx;
	struct gateway_peer *p;

	count(g);
	if (!is_ours(g, conn) || g->npeers >= GATEWAY_PEERS ||
	    (p = ats_calloc(1, sizeof(*p))) == NULL) {
		log_end(g, g->npeers >= GATEWAY_PEERS ? ATS_E_FULL : ATS_E_PERM,
		    "it was not admitted");
		ats_fd_close(&conn);
		return;
	}
	p->g = g;
	p->chan = ats_chan_new(g->f->base, conn, &ops, p);
	if (p->chan == NULL) {
		free(p);
		return;
	}
	p->next = g->peers;
	g->peers = p;
	g->npeers++;
	if (g->tools != NULL)
		gateway_peer_send(p, ATS_FRAME_TOOLS, 0, g->tools, g->tools_len, NULL, 0);
}

int
gateway_listen(struct gateway *g)
{
	if (g->listen_fd < 0)
		return 0;
	g->acceptor = ats_acceptor_new(g->f->base, g->listen_fd, admit, g);
	return g->acceptor == NULL ? -ATS_E_NOMEM : ats_acceptor_start(g->acceptor);
}
