/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/prove.h"

#include <string.h>

#include "tests/lib/unit.h"

#define NONCE_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define NONCE_B "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static const unsigned char key[ATS_PROVE_KEY] = { 1, 2, 3 };
static const unsigned char session[32] = { 9 };
static const struct ats_prove base = { .sandbox = "b-0123456789ab", .generation = 7,
	.boot = "boot", .epoch = 3, .nonce_brain = NONCE_A, .nonce_hands = NONCE_B };

/* Computed by Python's hmac over the same transcript. */
START_TEST(mac_is_the_documented_one)
{
	struct ats_prove p = base;
	char hex[ATS_PROVE_HEX];

	ats_prove_mac(key, "brain", &p, hex);
	ck_assert_str_eq(hex,
	    "9339da2c184d1c36bded285619503b6267fb3ec5437c2ac27892731e5275a25f");
	p.exporter = session;
	ats_prove_mac(key, "hands", &p, hex);
	ck_assert_str_eq(hex,
	    "c09cfbe32b935b5b8358d45b203e71c7f242d126f17d58a4f5256d7711f5c4f2");
}
END_TEST

START_TEST(each_part_counts)
{
	struct ats_prove t[] = { base, base, base, base, base, base, base };
	unsigned char other[ATS_PROVE_KEY] = { 1, 2, 4 };
	char want[ATS_PROVE_HEX], hex[ATS_PROVE_HEX];

	t[0].sandbox = "b-0123456789ac";
	t[1].generation = 8;
	t[2].boot = "boo";
	t[3].epoch = 4;
	t[4].nonce_brain = NONCE_B;
	t[5].nonce_hands = NONCE_A;
	t[6].exporter = session;
	ats_prove_mac(key, "brain", &base, want);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ats_prove_mac(key, "brain", &t[i], hex);
		ck_assert_msg(!ats_prove_equal(hex, want), "%zu", i);
	}
	ats_prove_mac(key, "hands", &base, hex);
	ck_assert(!ats_prove_equal(hex, want));
	ats_prove_mac(other, "brain", &base, hex);
	ck_assert(!ats_prove_equal(hex, want));
	ats_prove_mac(key, "brain", &base, hex);
	ck_assert(ats_prove_equal(hex, want));
	ck_assert(!ats_prove_equal(hex, "") && !ats_prove_equal("", ""));
}
END_TEST

START_TEST(nonces_are_fresh)
{
	char a[ATS_PROVE_HEX], b[ATS_PROVE_HEX];

	ck_assert_int_eq(ats_prove_nonce(a, NULL), 0);
	ck_assert_int_eq(ats_prove_nonce(b, NULL), 0);
	ck_assert(ats_prove_nonce_ok(a) && ats_prove_nonce_ok(NONCE_A));
	ck_assert_str_ne(a, b);
	ck_assert(!ats_prove_nonce_ok("") && !ats_prove_nonce_ok("00") &&
	    !ats_prove_nonce_ok(NONCE_A "00"));
}
END_TEST

ATS_UNIT_MAIN("prove", mac_is_the_documented_one, each_part_counts, nonces_are_fresh)
