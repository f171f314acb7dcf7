/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames from hands, row by row. Runs in the engine; everything that comes is a sandbox's.
 * A handler that is missing for a row does not compile. Negative returns end the link. Over a
 * network nothing that a hello says is taken before its sender has proven its key. */
#include "brain/engine/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/sessions.h"
#include "brain/engine/vault_link.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/map.h"
#include "common/secret.h"
#include "common/tls.h"
#include "common/wire.h"

#define RUNNING_MAX 16384

/* ---- sending --------------------------------------------------------------------- */

int
link_send(struct sandbox *box, enum ats_frame_id frame, uint64_t call, const void *msg,
    struct ats_err *err)
{
	const struct ats_frame_row *row = &ats_frame_rows[frame];
	int rc;

	if (box->chan == NULL)
		return ats_err_set(err, ATS_E_EOF, "no link to the sandbox");
	ats_buf_reset(&box->json);
	rc = ats_msg_encode(&row->shape, msg, &box->json, err);
	if (rc < 0)
		return rc;
	rc = ats_chan_send(box->chan, row->type, row->kind, call, box->json.data,
	    box->json.len, NULL, 0);
	return rc < 0 ? ats_err_set(err, -rc, "%s: %s", row->shape.name, ats_err_text(rc)) : 0;
}

void
link_cancel(struct sandbox *box, uint64_t call, const char *why)
{
	struct ats_msg_CANCEL m = { .why = why };

	if (box == NULL)
		return;
	(void)(link_send(box, ATS_FRAME_CANCEL, call, &m, NULL) < 0);
}

void
link_ack(struct sandbox *box, uint64_t call)
{
	struct ats_msg_ACK m = { 0 };

	if (box == NULL)
		return;
	(void)(link_send(box, ATS_FRAME_ACK, call, &m, NULL) < 0);
}

int
link_heartbeat(struct sandbox *box)
{
	uint64_t silent_us = ats_clock_us() - ats_chan_last_rx_us(box->chan);
	uint64_t interval_us = box->e->set.heartbeat_ms * 1000;
	struct ats_msg_PING m = { .seq = ++box->ping_seq, .has_seq = true };

	if (silent_us >= 2 * interval_us)
		return -ATS_E_SILENT;
	if (silent_us >= interval_us / 2)
		(void)(link_send(box, ATS_FRAME_PING, 0, &m, NULL) < 0);
	return 0;
}

void
link_goodbye(struct ats_chan *c, int code, const char *text)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_GOODBYE];
	struct ats_msg_GOODBYE m = { .code = ats_err_name(code), .text = text };
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&json, 2048);
	if (ats_msg_encode(&row->shape, &m, &json, NULL) == 0)
		(void)!ats_chan_send(c, row->type, row->kind, 0, json.data, json.len, NULL, 0);
}

static int
send_hello(struct sandbox *box, struct ats_err *err)
{
	bool proof = box->proof.wanted;
	struct ats_msg_HELLO m = {
		.version_min = ATS_PROTO_VERSION, .has_version_min = true,
		.version_max = ATS_PROTO_VERSION, .has_version_max = true,
		.digest = ats_proto_digest(), .role = "brain",
		.boot = box->boot[0] == '\0' ? NULL : box->boot,
		.epoch = box->epoch, .has_epoch = true,
		.sandbox = proof ? box->id : NULL,
		.nonce = proof ? box->proof.nonce : NULL,
		/* Hands may not have noticed yet that our last link is gone. */
		.takeover = box->take_over || (proof && box->boot[0] != '\0' && !box->displaced),
	};

	m.has_takeover = m.takeover;
	return link_send(box, ATS_FRAME_HELLO, 0, &m, err);
}

static int
send_prove(struct sandbox *box, struct ats_err *err)
{
	struct ats_msg_PROVE m;
	char mac[ATS_PROVE_HEX];

	proof_ours(&box->proof, &box->key, mac);
	m.mac = mac;
	return link_send(box, ATS_FRAME_PROVE, 0, &m, err);
}

/* why is for our log: the peer hears the same for whatever it was. */
static int
not_proven(struct sandbox *box, const char *why, struct ats_err *err)
{
	ats_log(ATS_LOG_WARN, "a sandbox did not prove itself", "sandbox=%s why=\"%s\"", box->id,
	    why);
	link_goodbye(box->chan, ATS_E_PROOF, PROOF_TEXT);
	return ats_err_set(err, ATS_E_PROOF, PROOF_TEXT);
}

/* ---- receiving ------------------------------------------------------------------- */

int
link_check_hello(const struct ats_msg_HELLO *m, struct ats_err *err)
{
	if (m->version_min > ATS_PROTO_VERSION || m->version_max < ATS_PROTO_VERSION)
		return ats_err_set(err, ATS_E_VERSION, "hands speaks versions %llu to %llu, we %u",
		    (unsigned long long)m->version_min, (unsigned long long)m->version_max,
		    ATS_PROTO_VERSION);
	if (m->version_max == ATS_PROTO_VERSION && strcmp(m->digest, ats_proto_digest()) != 0)
		return ats_err_set(err, ATS_E_VERSION, "hands was built from other tables");
	if (strcmp(m->role, "hands") != 0 || m->boot == NULL)
		return ats_err_set(err, ATS_E_PROTO, "hello: not from hands");
	return 0;
}

/* What hands says of itself counts from here on. */
static int
take_hands(struct sandbox *box, const char *boot, const char *workspace, struct ats_err *err)
{
	if (workspace != NULL && strcmp(workspace, box->workspace) != 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "the sandbox at %s has the workspace %s, not %s; name that one",
		    box->e->set.sandbox_url, workspace, box->workspace);
	if (box->boot[0] != '\0' && strcmp(box->boot, boot) != 0)
		sandbox_replaced(box);
	(void)snprintf(box->boot, sizeof(box->boot), "%s", boot);
	box->take_over = box->displaced = false;
	return 0;
}

static int
on_HELLO(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_HELLO *m,
    struct ats_err *err)
{
	int rc;

	(void)f;
	if (box->hello_done)
		return ats_err_set(err, ATS_E_STATE, "a second hello");
	rc = link_check_hello(m, err);
	if (rc < 0)
		return rc;
	box->hello_done = true;
	if (!box->proof.wanted)
		return take_hands(box, m->boot, m->workspace, err);
	if (!proof_hello(&box->proof, m, ats_chan_wire(box->chan)))
		return not_proven(box, "its hello asks for no proof", err);
	if (strcmp(box->proof.sandbox, box->id) != 0)
		return not_proven(box, "it is another sandbox", err);
	/* Where TLS ends before hands, its MAC shows first whether the session is in it. */
	return box->proof.tls_elsewhere ? 0 : send_prove(box, err);
}

static int
on_PROVE(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_PROVE *m,
    struct ats_err *err)
{
	int rc = 0;

	(void)f;
	if (!box->proof.wanted || !box->hello_done || box->proof.proven)
		return ats_err_set(err, ATS_E_STATE, "no proof was asked for");
	if (!proof_check(&box->proof, &box->key, m->mac))
		return not_proven(box, link_key_find(&box->key, box->proof.generation) == NULL ?
		    "its generation does not count" : "the MAC is wrong", err);
	if (box->proof.tls_elsewhere)
		rc = send_prove(box, err);
	if (rc < 0)
		return rc;
	if (link_key_proven(&box->key, box->proof.generation))
		vault_link_proven(box->e, box, box->proof.generation);
	return take_hands(box, box->proof.boot, box->proof.workspace, err);
}

static int
read_running(struct ats_slice raw, uint64_t *ids, size_t *ret_n, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	size_t n = 0;

	*ret_n = 0;
	if (raw.p == NULL)
		return 0;
	v = ats_json_value(raw);
	if (v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "ready.running: expected an array");
	ats_json_iter_init(&it, raw);
	while (ats_json_next(&it, &key, &v)) {
		if (n == RUNNING_MAX || v.type != ATS_JSON_NUMBER ||
		    ats_json_to_u64(&v, &ids[n]) < 0)
			return ats_err_set(err, ATS_E_FIELD, "ready.running: expected call ids");
		n++;
	}
	*ret_n = n;
	return 0;
}

static int
on_READY(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_READY *m,
    struct ats_err *err)
{
	uint64_t *ids;
	size_t n = 0;
	char *text;
	int rc;

	(void)f;
	if (!box->hello_done || box->proof.wanted != box->proof.proven)
		return ats_err_set(err, ATS_E_STATE, "ready before hello");
	ids = calloc(RUNNING_MAX, sizeof(*ids));
	text = malloc(m->confinement.n + 1);
	if (ids == NULL || text == NULL) {
		free(ids);
		free(text);
		return ats_err_set(err, ATS_E_NOMEM, "ready");
	}
	memcpy(text, m->confinement.p, m->confinement.n);
	text[m->confinement.n] = '\0';
	free(box->confinement);
	box->confinement = text;
	rc = read_running(m->running, ids, &n, err);
	if (rc == 0) {
		box->state = SANDBOX_READY;
		dispatch_resumed(box, ids, n);
		sandbox_on_ready(box);
	}
	free(ids);
	return rc;
}

static int
on_RESULT(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_RESULT *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	if (c != NULL)
		return dispatch_result(c, m, f, err);
	if (ats_map_del(box->ghosts, f->head.call) == NULL)
		return ats_err_set(err, ATS_E_PROTO, "a result for a call that nobody made");
	link_ack(box, f->head.call);
	return 0;
}

static int
on_output(struct sandbox *box, const struct ats_frame *f, enum exec_stream_id id,
    uint64_t offset, struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	if (c == NULL && ats_map_get(box->ghosts, f->head.call) != NULL)
		return 0;
	if (c == NULL || c->exec == NULL)
		return ats_err_set(err, ATS_E_PROTO, "output of a call that is no exec");
	return exec_output(c->exec, id, offset, f->head.payload_len, f->payload, f->payload_n,
	    err);
}

static int
on_EVENT_STDOUT(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_EVENT_STDOUT *m, struct ats_err *err)
{
	return on_output(box, f, EXEC_STDOUT, m->offset, err);
}

static int
on_EVENT_STDERR(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_EVENT_STDERR *m, struct ats_err *err)
{
	return on_output(box, f, EXEC_STDERR, m->offset, err);
}

static int
on_EVENT_GAP(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_EVENT_GAP *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);
	enum exec_stream_id id = exec_stream_of(m->stream);

	if (c == NULL || c->exec == NULL || id == EXEC_STREAMS)
		return ats_err_set(err, ATS_E_PROTO, "a gap of a call that is no exec");
	return exec_gap(c->exec, id, m->from, m->to, err);
}

static int
on_EVENT_PROGRESS(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_EVENT_PROGRESS *m, struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	(void)err;
	if (c != NULL && !c->abandoned)
		call_progress(c, m, (struct ats_slice){ f->payload, f->payload_n });
	return 0;
}

static int
on_WINDOW(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_WINDOW *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	if (c == NULL)
		return 0;	/* credit that crossed the end of its call */
	if (c->exec == NULL || exec_stream_of(m->stream) != EXEC_STDIN)
		return ats_err_set(err, ATS_E_PROTO, "window: not for stdin of an exec");
	return exec_window(c->exec, m->bytes, err);
}

static int
on_PING(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_PING *m,
    struct ats_err *err)
{
	struct ats_msg_PONG pong = { .seq = m->seq, .has_seq = true };

	(void)f;
	return link_send(box, ATS_FRAME_PONG, 0, &pong, err);
}

static int
on_PONG(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_PONG *m,
    struct ats_err *err)
{
	(void)f;
	if (m->seq > box->ping_seq)
		return ats_err_set(err, ATS_E_PROTO, "a pong for a ping that nobody sent");
	return 0;
}

static int
on_GOODBYE(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_GOODBYE *m,
    struct ats_err *err)
{
	char quoted[480];
	const char *text = m->text == NULL ? "" : m->text;
	int code = ats_err_from_name(m->code);

	(void)f;
	(void)ats_log_quote(quoted, sizeof(quoted), text, strlen(text));
	if (box->proof.wanted && code == ATS_E_PROOF)
		return ats_err_set(err, ATS_E_PROOF, "hands did not take our proof: %s", quoted);
	/* Not from one who is between us: nothing would be tried again. */
	if (box->proof.wanted && !box->proof.proven)
		return ats_err_set(err, ATS_E_EOF, "hands said goodbye: %s: %s", m->code, quoted);
	if (code == ATS_E_TAKEN_OVER) {
		box->displaced = true;
		return ats_err_set(err, code, "another brain took this sandbox over; atsctl sandbox "
		    "takeover %s takes it back", box->id);
	}
	if (code == ATS_E_UNAVAILABLE || code == ATS_E_CONFINE)
		return ats_err_set(err, code, "%s: %s", ats_err_name(code), quoted);
	return ats_err_set(err, ATS_E_EOF, "hands said goodbye: %s", quoted);
}

/* One typed handler a row that hands may send; what only brain sends has none. */
#define IF_HANDS(...) __VA_ARGS__
#define IF_EITHER(...) __VA_ARGS__
#define IF_BRAIN(...)

union message {
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc) struct ats_msg_##name name;
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END
};

static int
dispatch_frame(struct sandbox *box, enum ats_frame_id id, const struct ats_frame *f,
    const union message *m, struct ats_err *err)
{
	switch (id) {
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc)                          \
	IF_##from(case ATS_FRAME_##name : return on_##name(box, f, &m->name, err);)
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END
	default:
		return ats_err_set(err, ATS_E_STATE, "not a frame that hands sends");
	}
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(f->head.type, f->head.kind);
	struct sandbox *box = ctx;
	union message m;
	int rc;

	if (row == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "unknown frame");
	rc = ats_msg_decode(&row->shape, f->json, f->head.json_len, 0, &m, &box->arena, err);
	if (rc < 0)
		return rc;
	rc = dispatch_frame(box, ats_frame_row_id(row), f, &m, err);
	if (rc == 0 && ats_fault_drop_after(row->shape.name))
		return ats_err_set(err, ATS_E_EOF, "the fault that was asked for");
	return rc;
}

/* Before a byte of JSON: direction, state, size, and for output the window. */
static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	struct sandbox *box = ctx;
	const struct ats_frame_row *row;
	enum ats_frame_id id;
	struct call *c;
	int rc;

	rc = ats_frame_gate(h, ATS_FROM_HANDS,
	    box->state == SANDBOX_READY ? ATS_STATE_READY : ATS_STATE_HELLO, err);
	if (rc < 0)
		return rc;
	row = ats_frame_row_find(h->type, h->kind);
	if (row == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "unknown frame");
	id = ats_frame_row_id(row);
	if (box->proof.wanted && !box->proof.proven && id != ATS_FRAME_HELLO &&
	    id != ATS_FRAME_PROVE && id != ATS_FRAME_GOODBYE)
		return not_proven(box, "it goes on without a proof", err);
	if (id != ATS_FRAME_EVENT_STDOUT && id != ATS_FRAME_EVENT_STDERR)
		return 0;
	c = ats_map_get(box->sent, h->call);
	if (c == NULL || c->exec == NULL)
		return 0;	/* judged when it is here */
	return exec_check(c->exec, id == ATS_FRAME_EVENT_STDOUT ? EXEC_STDOUT : EXEC_STDERR,
	    h->payload_len, err);
}

static int
on_sink(void *ctx, const struct ats_frame *f)
{
	const struct ats_frame_row *row = ats_frame_row_find(f->head.type, f->head.kind);
	struct sandbox *box = ctx;
	struct call *c = ats_map_get(box->sent, f->head.call);
	enum ats_frame_id id;

	if (row == NULL || c == NULL || c->exec == NULL)
		return -1;
	id = ats_frame_row_id(row);
	if (id == ATS_FRAME_EVENT_STDOUT)
		return exec_sink(c->exec, EXEC_STDOUT);
	return id == ATS_FRAME_EVENT_STDERR ? exec_sink(c->exec, EXEC_STDERR) : -1;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct sandbox *box = ctx;

	/* Its hands may have the TLS key of the generation before. */
	if (code == ATS_E_PERM && box->proof.wanted)
		box->pin_previous = !box->pin_previous;
	sandbox_lost(box, code, why);
}

static const struct ats_chan_ops ops = {
	.check = on_check,
	.frame = on_frame,
	.sink = on_sink,
	.closed = on_closed,
};

/* Whom we take at the other end of TLS: what the configuration says, else hands' own key, which
 * follows from the sandbox's. */
static int
make_tls(struct sandbox *box, struct ats_err *err)
{
	const struct trust *t = &box->e->trust;
	unsigned char seed[ATS_TLS_SEED], pin[ATS_TLS_PIN];
	uint64_t generation = box->pin_previous && box->key.previous != 0 ? box->key.previous :
	    box->key.generation;
	const unsigned char *key = link_key_find(&box->key, generation);
	struct ats_tls_plan plan = { .pin = t->has_pin ? t->pin : NULL, .ca_pem = t->ca_pem };
	int rc = 0;

	if (plan.pin == NULL && plan.ca_pem == NULL) {
		if (key == NULL)
			return ats_err_set(err, ATS_E_PROOF, PROOF_TEXT);
		ats_hmac_sha256(key, ATS_PROVE_KEY, "tls hands", strlen("tls hands"), seed);
		rc = ats_tls_seed_pin(seed, pin, err);
		ats_secret_wipe(seed, sizeof(seed));
		plan.pin = pin;
	}
	ats_tls_free(box->tls);
	box->tls = NULL;
	return rc < 0 ? rc : ats_tls_new(&plan, &box->tls, err);
}

static int
connect_chan(struct sandbox *box, int fd, const struct ats_addr *addr, struct ats_err *err)
{
	struct ats_wire_plan plan = { .kind = addr->kind, .host = addr->host,
		.path = addr->path };
	struct ats_wire *w;
	int rc = ats_addr_has_tls(addr) ? make_tls(box, err) : 0;

	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	plan.tls = box->tls;
	rc = ats_wire_new(fd, &plan, &w, err);
	if (rc < 0)
		return rc;
	box->chan = ats_chan_new_wire(box->e->base, w, &ops, box);
	return box->chan == NULL ? ats_err_set(err, ATS_E_NOMEM, "link") : 0;
}

int
link_start(struct sandbox *box, int fd, const char *address, struct ats_err *err)
{
	struct ats_addr addr;
	int rc = 0;

	box->hello_done = false;
	box->epoch++;
	proof_end(&box->proof);
	if (address[0] == '\0') {
		box->chan = ats_chan_new(box->e->base, fd, &ops, box);
		if (box->chan == NULL)
			return ats_err_set(err, ATS_E_NOMEM, "link");
	} else {
		rc = ats_addr_parse(address, &addr, err);
		if (rc == 0)
			rc = proof_begin(&box->proof, box->epoch, err);
		if (rc < 0) {
			(void)close(fd);
			return rc;
		}
		box->proof.tls_elsewhere = box->e->trust.has_pin || box->e->trust.ca_pem != NULL;
		box->kind = addr.kind;
		rc = connect_chan(box, fd, &addr, err);
		if (rc < 0)
			return rc;
	}
	/* One that has left already may have said why: it is read, then its end is seen. */
	rc = send_hello(box, err);
	return rc == -ATS_E_EOF ? 0 : rc;
}

int
link_adopt(struct sandbox *box, struct ats_chan *c, struct proof *p, enum ats_addr_kind kind,
    struct ats_err *err)
{
	box->hello_done = true;
	box->epoch = p->epoch;
	box->kind = kind;
	proof_end(&box->proof);
	box->proof = *p;
	*p = (struct proof){ 0 };
	box->chan = c;
	ats_chan_give(c, &ops, box);
	if (link_key_proven(&box->key, box->proof.generation))
		vault_link_proven(box->e, box, box->proof.generation);
	return take_hands(box, box->proof.boot, box->proof.workspace, err);
}

void
link_stop(struct sandbox *box)
{
	ats_chan_free(box->chan);
	box->chan = NULL;
	ats_buf_reset(&box->json);
	ats_buf_reset(&box->ctx);
	ats_buf_reset(&box->arena);
	ats_buf_reset(&box->delta_arena);
}
