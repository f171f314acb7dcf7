/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's side of the proof, against MACs made with the other role. */
#include "brain/engine/proof.h"
#include "tests/lib/unit.h"

#define ID "b-0123456789ab"
#define HEX_A "0101010101010101010101010101010101010101010101010101010101010101"
#define HEX_B "0202020202020202020202020202020202020202020202020202020202020202"

#define EIGHT(x) x, x, x, x, x, x, x, x
static const unsigned char key_a[ATS_PROVE_KEY] = { EIGHT(1), EIGHT(1), EIGHT(1), EIGHT(1) };
static const unsigned char key_b[ATS_PROVE_KEY] = { EIGHT(2), EIGHT(2), EIGHT(2), EIGHT(2) };
static struct ats_err err;

static const struct ats_msg_HELLO hello = { .role = "hands", .boot = "boot", .sandbox = ID,
	.generation = 8, .has_generation = true, .nonce = HEX_A, .workspace = "/ws" };

/* What a hands with that key says of what p knows. */
static void
theirs(const struct proof *p, const unsigned char *key, uint64_t generation, const char *role,
    char hex[ATS_PROVE_HEX])
{
	const struct ats_prove w = { .sandbox = ID, .generation = generation, .boot = "boot",
		.epoch = p->epoch, .nonce_brain = p->nonce, .nonce_hands = HEX_A };

	ats_prove_mac(key, role, &w, hex);
}

static bool
tries(struct link_key *k, const unsigned char *key, uint64_t generation, const char *role)
{
	struct ats_msg_HELLO m = hello;
	struct proof p = { 0 };
	char hex[ATS_PROVE_HEX];
	bool right;

	m.generation = generation;
	ck_assert_int_eq(proof_begin(&p, 3, &err), 0);
	ck_assert(proof_hello(&p, &m, NULL));
	theirs(&p, key, generation, role, hex);
	right = proof_check(&p, k, hex);
	ck_assert(p.proven == right);
	proof_end(&p);
	return right;
}

START_TEST(the_key_of_a_generation_that_counts)
{
	struct link_key k = { 0 };

	ck_assert(!tries(&k, key_a, 8, "hands"));
	ck_assert(!tries(NULL, key_a, 8, "hands"));
	ck_assert_int_eq(link_key_set(&k, 8, HEX_A, 0, "", &err), 0);
	ck_assert(tries(&k, key_a, 8, "hands"));
	ck_assert(!tries(&k, key_a, 8, "brain"));	/* our own, sent back */
	ck_assert(!tries(&k, key_b, 8, "hands"));
	ck_assert(!tries(&k, key_a, 7, "hands"));
	ck_assert(!tries(&k, key_a, 0, "hands"));
	ck_assert_int_eq(link_key_set(&k, 9, HEX_B, 8, HEX_A, &err), 0);
	ck_assert(tries(&k, key_a, 8, "hands"));
	ck_assert(tries(&k, key_b, 9, "hands"));
	ck_assert(!tries(&k, key_a, 9, "hands"));
	ck_assert(!link_key_proven(&k, 8));
	ck_assert(link_key_proven(&k, 9));
	ck_assert(!link_key_proven(&k, 9));
	ck_assert(!tries(&k, key_a, 8, "hands"));
	ck_assert(tries(&k, key_b, 9, "hands"));
	ck_assert_int_eq(link_key_set(&k, 0, "", 0, "", &err), 0);
	ck_assert(!tries(&k, key_b, 9, "hands"));
	ck_assert_int_eq(link_key_set(&k, 9, "zz", 0, "", &err), -ATS_E_FIELD);
	ck_assert(!tries(&k, key_b, 9, "hands"));
	link_key_clear(&k);
}
END_TEST

START_TEST(a_mac_is_of_one_link)
{
	struct link_key k = { 0 };
	struct proof one = { 0 }, two = { 0 };
	char hex[ATS_PROVE_HEX], ours[ATS_PROVE_HEX], want[ATS_PROVE_HEX];

	ck_assert_int_eq(link_key_set(&k, 8, HEX_A, 0, "", &err), 0);
	ck_assert_int_eq(proof_begin(&one, 3, &err), 0);
	ck_assert_int_eq(proof_begin(&two, 3, &err), 0);
	ck_assert_str_ne(one.nonce, two.nonce);
	ck_assert(proof_hello(&one, &hello, NULL) && proof_hello(&two, &hello, NULL));
	theirs(&one, key_a, 8, "hands", hex);
	ck_assert(!proof_check(&two, &k, hex));
	ck_assert(proof_check(&one, &k, hex));
	ck_assert(!proof_check(&one, &k, "") && !one.proven);
	theirs(&one, key_a, 8, "brain", want);
	proof_ours(&one, &k, ours);
	ck_assert_str_eq(ours, want);
	/* nobody's key is no key of zeroes, which anybody has */
	proof_ours(&one, NULL, ours);
	theirs(&one, (const unsigned char[ATS_PROVE_KEY]){ 0 }, 8, "brain", want);
	ck_assert_str_ne(ours, want);
	proof_end(&one);
	proof_end(&two);
	link_key_clear(&k);
}
END_TEST

/* Where TLS may end before hands, hands cannot have the session in its MAC. */
START_TEST(the_session_beneath_is_bound)
{
	struct link_key k = { 0 };
	char hex[ATS_PROVE_HEX], ours[ATS_PROVE_HEX], want[ATS_PROVE_HEX];

	ck_assert_int_eq(link_key_set(&k, 8, HEX_A, 0, "", &err), 0);
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct proof p = { 0 };

		ck_assert_int_eq(proof_begin(&p, 3, &err), 0);
		ck_assert(proof_hello(&p, &hello, NULL));
		p.bound = true;
		p.tls_elsewhere = elsewhere == 1;
		theirs(&p, key_a, 8, "hands", hex);
		ck_assert(proof_check(&p, &k, hex) == (elsewhere == 1));
		theirs(&p, key_a, 8, "brain", want);
		proof_ours(&p, &k, ours);
		ck_assert((strcmp(ours, want) == 0) == (elsewhere == 1));
		proof_end(&p);
	}
	link_key_clear(&k);
}
END_TEST

START_TEST(a_hello_that_lacks_something)
{
	struct ats_msg_HELLO rows[] = { hello, hello, hello, hello, hello };
	struct proof p = { 0 };

	rows[0].sandbox = NULL;
	rows[1].sandbox = "../../etc";
	rows[2].has_generation = false;
	rows[3].nonce = NULL;
	rows[4].nonce = "00";
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(proof_begin(&p, 1, &err), 0);
		ck_assert_msg(!proof_hello(&p, &rows[i], NULL), "%zu", i);
	}
	proof_end(&p);
}
END_TEST

ATS_UNIT_MAIN("proof", the_key_of_a_generation_that_counts, a_mac_is_of_one_link,
    the_session_beneath_is_bound, a_hello_that_lacks_something)
