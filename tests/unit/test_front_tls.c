/* SPDX-License-Identifier: Apache-2.0
 *
 * front's link over TLS, as server and as client: the proof is of one session. */
#include "hands/front/front.h"

#include "common/digest.h"
#include "common/tls.h"
#include "hands/front/link_private.h"
#include "tests/lib/front_rig.h"

#define BOX_ID "b-000000000001"
#define KEY_HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define NONCE "aa02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1faa"

/* ---- brain ------------------------------------------------------------------------- */
struct brain {
	struct rig *r;
	struct ats_tls *tls;
	struct ats_chan *chan;
	char hello[4096], prove[256], goodbye[256];	/* the JSON of each that came */
	bool ready, closed;
	int code;
};

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	(void)ctx;
	(void)h;
	(void)err;
	return 0;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(f->head.type, f->head.kind);
	struct brain *b = ctx;
	int n = (int)f->head.json_len;

	(void)err;
	if (row == &ats_frame_rows[ATS_FRAME_HELLO])
		(void)snprintf(b->hello, sizeof(b->hello), "%.*s", n, f->json);
	else if (row == &ats_frame_rows[ATS_FRAME_PROVE])
		(void)snprintf(b->prove, sizeof(b->prove), "%.*s", n, f->json);
	else if (row == &ats_frame_rows[ATS_FRAME_GOODBYE])
		(void)snprintf(b->goodbye, sizeof(b->goodbye), "%.*s", n, f->json);
	else if (row == &ats_frame_rows[ATS_FRAME_READY])
		b->ready = true;
	return 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct brain *b = ctx;

	(void)why;
	b->closed = true;
	b->code = code;
}

static const struct ats_chan_ops ops = {
	.check = on_check, .frame = on_frame, .closed = on_closed
};

static void
seed_of(const char *label, unsigned char seed[ATS_TLS_SEED])
{
	unsigned char key[ATS_PROVE_KEY];

	ck_assert(ats_unhex(KEY_HEX, key, sizeof(key)));
	ats_hmac_sha256(key, sizeof(key), label, strlen(label), seed);
}

static struct ats_tls *
server_of(const char *label)
{
	unsigned char seed[ATS_TLS_SEED];
	const struct ats_tls_plan plan = { .server = true, .seed = seed };
	struct ats_tls *t;

	seed_of(label, seed);
	ck_assert_int_eq(ats_tls_new(&plan, &t, NULL), 0);
	return t;
}

static struct ats_tls *
client_of(const char *label)
{
	unsigned char seed[ATS_TLS_SEED], pin[ATS_TLS_PIN];
	const struct ats_tls_plan plan = { .pin = pin };
	struct ats_tls *t;

	seed_of(label, seed);
	ck_assert_int_eq(ats_tls_seed_pin(seed, pin, NULL), 0);
	ck_assert_int_eq(ats_tls_new(&plan, &t, NULL), 0);
	return t;
}

/* tls: brain's side; front has what it has. */
static void
start(struct brain *b, struct rig *r, const char *address, bool server, struct ats_tls *tls)
{
	char text[] = "ats1:" BOX_ID ":3:" KEY_HEX "\n";
	struct ats_wire_plan plan = { .server = server, .host = "127.0.0.1", .path = "/x",
		.tls = tls };
	struct ats_wire *w;
	int pair[2];

	if (r->f.key.secret == NULL)
		ck_assert_int_eq(key_parse(text, sizeof(text) - 1, &r->f.key, NULL), 0);
	ats_fd_close(&r->brain);
	turn(r);
	ck_assert_int_eq(ats_addr_parse(address, &r->f.opt.addr, NULL), 0);
	r->f.opt.has_addr = true;
	plan.kind = r->f.opt.addr.kind;
	*b = (struct brain){ .r = r, .tls = tls };
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	ck_assert_int_eq(ats_wire_new(pair[0], &plan, &w, NULL), 0);
	b->chan = ats_chan_new_wire(r->f.base, w, &ops, b);
	ck_assert_ptr_nonnull(b->chan);
	ck_assert_int_eq(link_take(r->f.link, pair[1], true, NULL), 0);
}

static void
wait_for(struct brain *b, const bool *flag, const char *text)
{
	for (int i = 0; i < 4000; i++) {
		if ((flag != NULL && *flag) || (text != NULL && text[0] != '\0') || b->closed)
			return;
		turn(b->r);
		(void)usleep(500);
	}
	ck_abort_msg("it does not come");
}

static void
say(struct brain *b, enum ats_frame_id id, const char *json)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];

	ck_assert_int_eq(
	    ats_chan_send(b->chan, row->type, row->kind, 0, json, strlen(json), NULL, 0), 0);
}

static void
field(const char *json, const char *name, char *ret, size_t size)
{
	char key[32];
	const char *at;

	(void)snprintf(key, sizeof(key), "\"%s\":\"", name);
	at = strstr(json, key);
	ck_assert_msg(at != NULL, "no %s in %s", name, json);
	at += strlen(key);
	(void)snprintf(ret, size, "%.*s", (int)strcspn(at, "\""), at);
}

/* Both hellos, front's proof checked, ours said. session: of this one, else of none. */
static void
prove(struct brain *b, bool session)
{
	unsigned char key[ATS_PROVE_KEY], exporter[32];
	char json[1024], nonce[ATS_PROVE_HEX], boot[33], mac[ATS_PROVE_HEX], its[ATS_PROVE_HEX];
	struct ats_prove what = { .sandbox = BOX_ID, .generation = 3, .boot = boot, .epoch = 1,
		.nonce_brain = NONCE, .nonce_hands = nonce, .exporter = exporter };

	ck_assert(ats_unhex(KEY_HEX, key, sizeof(key)));
	(void)snprintf(json, sizeof(json),
	    "{\"version_min\":1,\"version_max\":1,\"digest\":\"%s\",\"role\":\"brain\","
	    "\"epoch\":1,\"sandbox\":\"" BOX_ID "\",\"nonce\":\"" NONCE "\"}",
	    ats_proto_digest());
	say(b, ATS_FRAME_HELLO, json);
	wait_for(b, NULL, b->r->f.tls_elsewhere ? b->hello : b->prove);
	ck_assert(!b->closed);
	field(b->hello, "nonce", nonce, sizeof(nonce));
	field(b->hello, "boot", boot, sizeof(boot));
	if (b->r->f.tls_elsewhere)
		ck_assert_str_eq(b->prove, "");
	ck_assert(ats_wire_exporter(ats_chan_wire(b->chan), exporter));
	if (!session)
		what.exporter = NULL;
	ats_prove_mac(key, "brain", &what, mac);
	(void)snprintf(json, sizeof(json), "{\"mac\":\"%s\"}", mac);
	say(b, ATS_FRAME_PROVE, json);
	wait_for(b, NULL, b->prove);
	field(b->prove, "mac", its, sizeof(its));
	if (!b->r->f.tls_elsewhere)
		what.exporter = exporter;
	ats_prove_mac(key, "hands", &what, mac);
	ck_assert_str_eq(its, mac);
}

static void
end(struct brain *b)
{
	ats_chan_free(b->chan);
	turn(b->r);
	ats_tls_free(b->tls);
}

static void
end_rig(struct rig *r)
{
	struct ats_tls *tls = r->f.tls;

	key_done(&r->f.key);
	rig_free(r);
	ats_tls_free(tls);
}

static const char *const addresses[] = { "tls://127.0.0.1:1", "wss://127.0.0.1:1/x" };

/* ---- tests ------------------------------------------------------------------------- */
START_TEST(front_serves_and_the_proof_is_of_this_session)
{
	struct rig *r = rig_new(true);
	struct brain b;

	r->f.tls = server_of("tls hands");
	for (size_t i = 0; i < ATS_ARRAY_LEN(addresses); i++) {
		start(&b, r, addresses[i], false, client_of("tls hands"));
		prove(&b, true);
		wait_for(&b, &b.ready, NULL);
		ck_assert(b.ready);
		end(&b);
		start(&b, r, addresses[i], false, client_of("tls hands"));
		prove(&b, false);
		wait_for(&b, &b.closed, NULL);
		ck_assert(!b.ready);
		ck_assert_ptr_nonnull(strstr(b.goodbye, "\"not_proven\""));
		end(&b);
	}
	end_rig(r);
}
END_TEST

START_TEST(front_connects_to_whom_it_knows_only)
{
	struct rig *r = rig_new(true);
	struct brain b;

	r->f.opt.connects = true;
	r->f.link->asked = true;	/* no dialer here */
	r->f.tls = client_of("tls brain");
	for (size_t i = 0; i < ATS_ARRAY_LEN(addresses); i++) {
		start(&b, r, addresses[i], true, server_of("tls brain"));
		prove(&b, true);
		wait_for(&b, &b.ready, NULL);
		ck_assert(b.ready);
		end(&b);
		start(&b, r, addresses[i], true, server_of("tls hands"));
		wait_for(&b, &b.closed, NULL);
		ck_assert_str_eq(b.hello, "");
		end(&b);
	}
	end_rig(r);
}
END_TEST

/* Its proof is with the session or without, and front's is as that. */
START_TEST(front_connects_through_one_who_ends_tls_and_waits_for_brains_proof)
{
	struct rig *r = rig_new(true);
	struct brain b;

	r->f.opt.connects = true;
	r->f.link->asked = true;	/* no dialer here */
	r->f.tls = client_of("tls brain");
	r->f.tls_elsewhere = true;
	for (unsigned session = 0; session < 2; session++) {
		start(&b, r, addresses[0], true, server_of("tls brain"));
		prove(&b, session == 1);
		wait_for(&b, &b.ready, NULL);
		ck_assert(b.ready);
		end(&b);
	}
	end_rig(r);
}
END_TEST

ATS_UNIT_MAIN("front_tls", front_serves_and_the_proof_is_of_this_session,
    front_connects_to_whom_it_knows_only,
    front_connects_through_one_who_ends_tls_and_waits_for_brains_proof)
