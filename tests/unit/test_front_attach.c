/* SPDX-License-Identifier: Apache-2.0
 *
 * Who becomes front's attachment: those that wait, takeover, proof, heartbeat. */
#include "hands/front/front.h"

#include "hands/front/link_private.h"
#include "tests/lib/front_rig.h"

#define BOX_ID "b-000000000001"
#define KEY_HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define NONCE "aa02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1faa"

/* ---- peers ------------------------------------------------------------------------- */
/* The rig's brain is put aside, and a new connection takes its place. */
static int
another(struct rig *r)
{
	int was = r->brain;

	r->brain = -1;
	reconnect(r);
	turn(r);
	return was;
}

static void
put_back(struct rig *r, int brain)
{
	ats_fd_close(&r->brain);
	r->brain = brain;
	r->have = 0;
	turn(r);
}

static void
expect_alive(struct rig *r)
{
	struct frame fr;

	send_frame(r, ATS_FRAME_PING, 0, "{\"seq\":5}", NULL, 0);
	expect(r, ATS_FRAME_PONG, 0, &fr);
}

static void
hello_with(struct rig *r, const char *more)
{
	char json[1024];

	(void)snprintf(json, sizeof(json),
	    "{\"version_min\":1,\"version_max\":1,\"digest\":\"%s\","
	    "\"role\":\"brain\",\"epoch\":7%s}",
	    ats_proto_digest(), more);
	send_frame(r, ATS_FRAME_HELLO, 0, json, NULL, 0);
}

/* A peer of the network: r has the key, nobody is attached unless keep. */
static void
from_network(struct rig *r, bool keep)
{
	char text[] = "ats1:" BOX_ID ":3:" KEY_HEX "\n";
	const struct ats_wire_plan plain = { .kind = ATS_ADDR_TCP, .server = true };
	struct ats_wire *w;
	int pair[2];

	if (r->f.key.secret == NULL)
		ck_assert_int_eq(key_parse(text, sizeof(text) - 1, &r->f.key, NULL), 0);
	if (!keep)
		ats_fd_close(&r->brain);
	r->have = 0;
	turn(r);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	ck_assert_int_eq(ats_wire_new(pair[1], &plain, &w, NULL), 0);
	ck_assert_int_eq(peer_new(r->f.link, w, true), 0);
	r->brain = pair[0];
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

/* Hands' hello, ours, and what is to be proven. */
static void
hellos(struct rig *r, struct ats_prove *ret)
{
	static char nonce[ATS_PROVE_HEX], boot[33];
	struct frame fr;

	expect(r, ATS_FRAME_HELLO, 0, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"sandbox\":\"" BOX_ID "\",\"generation\":3"));
	ck_assert_ptr_null(strstr(fr.json, "confinement"));
	field(fr.json, "nonce", nonce, sizeof(nonce));
	field(fr.json, "boot", boot, sizeof(boot));
	hello_with(r, ",\"sandbox\":\"" BOX_ID "\",\"nonce\":\"" NONCE "\"");
	*ret = (struct ats_prove){ .sandbox = BOX_ID, .generation = 3, .boot = boot,
		.epoch = 7, .nonce_brain = NONCE, .nonce_hands = nonce };
}

static void
say_mac(struct rig *r, const char *mac)
{
	char json[128];

	(void)snprintf(json, sizeof(json), "{\"mac\":\"%s\"}", mac);
	send_frame(r, ATS_FRAME_PROVE, 0, json, NULL, 0);
}

static void
mac_of(const char *role, const struct ats_prove *what, char ret_hex[ATS_PROVE_HEX])
{
	unsigned char key[ATS_PROVE_KEY];

	ck_assert(ats_unhex(KEY_HEX, key, sizeof(key)));
	ats_prove_mac(key, role, what, ret_hex);
}

static void
prove(struct rig *r)
{
	char mac[ATS_PROVE_HEX];
	struct ats_prove what;

	hellos(r, &what);
	mac_of("brain", &what, mac);
	say_mac(r, mac);
}

static void
end(struct rig *r)
{
	key_done(&r->f.key);
	rig_free(r);
}

/* ---- waiting ----------------------------------------------------------------------- */
START_TEST(peers_that_say_nothing_keep_nobody_out)
{
	struct rig *r = rig_new(true);
	int silent[2];

	ats_fd_close(&r->brain);
	for (unsigned i = 0; i < 2; i++) {
		(void)another(r);
		silent[i] = r->brain;
	}
	(void)another(r);
	attach(r);
	expect_alive(r);
	for (unsigned i = 0; i < 2; i++)
		(void)close(silent[i]);
	end(r);
}
END_TEST

START_TEST(of_too_many_that_wait_the_oldest_goes_and_the_attachment_stays)
{
	struct rig *r = rig_new(true);
	int brain = r->brain, waiting[LINK_WAITING_MAX + 1];
	struct frame fr;

	for (unsigned i = 0; i < ATS_ARRAY_LEN(waiting); i++) {
		(void)another(r);
		expect(r, ATS_FRAME_HELLO, 0, &fr);
		waiting[i] = r->brain;
	}
	for (unsigned i = 0; i < ATS_ARRAY_LEN(waiting); i++) {
		r->brain = waiting[i];
		r->have = 0;
		ck_assert_int_eq(next_frame(r, &fr), i == 0 ? -1 : 0);
	}
	put_back(r, brain);
	expect_alive(r);
	for (unsigned i = 0; i + 1 < ATS_ARRAY_LEN(waiting); i++)
		(void)close(waiting[i]);
	end(r);
}
END_TEST

START_TEST(takeover_ends_the_attachment_with_its_reason)
{
	struct rig *r = rig_new(true);
	struct frame fr;
	int old;

	call_tool(r, 1, "Bash", "{\"command\":\"a\"}", ",\"keep\":true");
	old = another(r);
	expect(r, ATS_FRAME_HELLO, 0, &fr);
	hello_with(r, ",\"takeover\":true");
	expect(r, ATS_FRAME_READY, 0, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"running\":[1]"));
	expect_alive(r);
	put_back(r, old);
	expect_closed(r, "taken_over");
	end(r);
}
END_TEST

START_TEST(takeover_of_nobody_attaches)
{
	struct rig *r = rig_new(false);
	struct frame fr;

	hello_with(r, ",\"takeover\":true");
	expect(r, ATS_FRAME_HELLO, 0, &fr);
	ck_assert(r->f.link->at != NULL);
	end(r);
}
END_TEST

/* ---- proof ------------------------------------------------------------------------- */
START_TEST(who_proves_the_key_attaches_and_hands_proves_it_too)
{
	struct rig *r = rig_new(true);
	struct ats_prove what;
	char mac[ATS_PROVE_HEX], its[ATS_PROVE_HEX];
	struct frame fr;

	from_network(r, false);
	hellos(r, &what);
	expect(r, ATS_FRAME_PROVE, 0, &fr);
	field(fr.json, "mac", its, sizeof(its));
	mac_of("hands", &what, mac);
	ck_assert_str_eq(its, mac);
	mac_of("brain", &what, mac);
	say_mac(r, mac);
	expect(r, ATS_FRAME_READY, 0, &fr);
	expect_alive(r);
	end(r);
}
END_TEST

static void
lie(struct rig *r, unsigned how)
{
	static const char *const hello[] = { "", ",\"sandbox\":\"" BOX_ID "\"",
		",\"nonce\":\"" NONCE "\"", ",\"sandbox\":\"" BOX_ID "\",\"nonce\":\"aa\"",
		",\"sandbox\":\"b-000000000002\",\"nonce\":\"" NONCE "\"" };
	char mac[ATS_PROVE_HEX];
	struct ats_prove what;

	if (how < ATS_ARRAY_LEN(hello)) {
		hello_with(r, hello[how]);
		return;
	}
	hellos(r, &what);
	if (how == 5)
		what.epoch++;
	mac_of(how == 6 ? "hands" : "brain", &what, mac);
	if (how == 7)
		mac[63] = mac[63] == '0' ? '1' : '0';
	say_mac(r, how == 8 ? "" : how == 9 ? "zz" : mac);
}
#define LIES 10u

START_TEST(every_wrong_proof_hears_the_same)
{
	static const char said[] =
	    "{\"code\":\"not_proven\",\"text\":\"the peer did not prove who it is\"}";
	struct rig *r = rig_new(true);
	int brain = r->brain;
	struct frame fr;

	for (unsigned i = 0; i < LIES; i++) {
		from_network(r, true);
		lie(r, i);
		expect(r, ATS_FRAME_GOODBYE, 0, &fr);
		ck_assert_str_eq(fr.json, said);
		put_back(r, brain);
		expect_alive(r);
	}
	end(r);
}
END_TEST

START_TEST(without_a_proof_nothing_is_taken)
{
	struct rig *r = rig_new(true);
	struct ats_prove what;

	from_network(r, false);
	hellos(r, &what);
	call_tool(r, 1, "Read", "{\"file_path\":\"a\"}", "");
	expect_closed(r, "out_of_state");
	from_network(r, false);
	say_mac(r, KEY_HEX);
	expect_closed(r, "out_of_state");
	reconnect(r);
	say_mac(r, KEY_HEX);
	expect_closed(r, "out_of_state");
	end(r);
}
END_TEST

/* The right one, which comes last, does not wait for the answers to those. */
START_TEST(a_wrong_proof_hears_later_and_later_a_right_one_at_once)
{
	struct rig *r = rig_new(true);
	int liars[3];
	struct frame fr;

	for (unsigned i = 0; i < 3; i++) {
		from_network(r, i > 0);
		lie(r, i == 1 ? 7 : 0);
		liars[i] = r->brain;
		r->brain = -1;
	}
	ck_assert_uint_eq(r->f.link->pause_ms, 50);
	from_network(r, true);
	prove(r);
	ck_assert_ptr_nonnull(r->f.link->at);
	expect(r, ATS_FRAME_READY, 0, &fr);
	ats_fd_close(&r->brain);
	for (unsigned i = 0; i < 3; i++) {
		r->brain = liars[i];
		r->have = 0;
		expect_closed(r, "not_proven");
		ck_assert_uint_ge(r->f.link->pause_ms, 50u << i);
		ats_fd_close(&r->brain);
	}
	end(r);
}
END_TEST

/* Those who say nothing, or lie, go before one that has said a right hello. */
START_TEST(who_has_no_key_makes_room_before_the_oldest)
{
	struct rig *r = rig_new(true);
	struct ats_prove what;
	char mac[ATS_PROVE_HEX];
	int brain, liars[LINK_WAITING_MAX + 9];
	struct frame fr;

	from_network(r, false);
	hellos(r, &what);
	brain = r->brain;
	for (unsigned i = 0; i < ATS_ARRAY_LEN(liars); i++) {
		from_network(r, true);
		lie(r, 0);
		liars[i] = r->brain;
	}
	r->brain = brain;
	r->have = 0;
	mac_of("brain", &what, mac);
	say_mac(r, mac);
	expect(r, ATS_FRAME_READY, 0, &fr);
	for (unsigned i = 0; i < ATS_ARRAY_LEN(liars); i++)
		(void)close(liars[i]);
	end(r);
}
END_TEST

/* ---- heartbeat --------------------------------------------------------------------- */
START_TEST(silence_for_two_intervals_ends_the_attachment)
{
	struct rig *r = rig_new(true);
	struct frame fr;

	r->f.opt.heartbeat_ms = 50;
	for (unsigned i = 0; i < 2; i++) {
		reconnect(r);
		attach(r);
		for (unsigned k = 0; k < 4; k++) {
			char json[64], seq[24];
			const char *at;

			expect(r, ATS_FRAME_PING, 0, &fr);
			at = strstr(fr.json, "\"seq\":");
			ck_assert_ptr_nonnull(at);
			(void)snprintf(seq, sizeof(seq), "%.20s", at + 6);
			(void)snprintf(json, sizeof(json), "{\"seq\":%s", seq);
			send_frame(r, ATS_FRAME_PONG, 0, json, NULL, 0);
		}
		expect_closed(r, "silent");
	}
	end(r);
}
END_TEST

ATS_UNIT_MAIN("front_attach", peers_that_say_nothing_keep_nobody_out,
    of_too_many_that_wait_the_oldest_goes_and_the_attachment_stays,
    takeover_ends_the_attachment_with_its_reason, takeover_of_nobody_attaches,
    who_proves_the_key_attaches_and_hands_proves_it_too, every_wrong_proof_hears_the_same,
    without_a_proof_nothing_is_taken, a_wrong_proof_hears_later_and_later_a_right_one_at_once,
    who_has_no_key_makes_room_before_the_oldest,
    silence_for_two_intervals_ends_the_attachment)
