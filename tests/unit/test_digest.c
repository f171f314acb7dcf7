/* SPDX-License-Identifier: Apache-2.0 */
#include "common/digest.h"

#include <string.h>

#include "tests/lib/unit.h"

START_TEST(sha256_matches_known_digests)
{
	static const struct {
		const char *in, *want;
	} t[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char hex[ATS_SHA256_HEX];

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		struct ats_sha256 *s = ats_sha256_new();

		ats_sha256_hex(t[i].in, strlen(t[i].in), hex);
		ck_assert_str_eq(hex, t[i].want);
		for (const char *p = t[i].in; *p != '\0'; p++)
			ats_sha256_add(s, p, 1);
		ats_sha256_finish(s, hex);
		ck_assert_str_eq(hex, t[i].want);
	}
	ats_sha256_free(NULL);
}
END_TEST

START_TEST(id_new_makes_valid_distinct_ids)
{
	char a[16], b[16], tiny[8];

	ck_assert_int_eq(ats_id_new("s", a, sizeof(a)), 0);
	ck_assert_int_eq(ats_id_new("s", b, sizeof(b)), 0);
	ck_assert(ats_id_valid(a));
	ck_assert_str_ne(a, b);
	ck_assert_int_eq(ats_id_new("s", tiny, sizeof(tiny)), -ATS_E_TOOBIG);
}
END_TEST

START_TEST(id_valid_refuses_anything_else)
{
	static const char *const t[] = { "", "s", "s-", "s-0123456789a", "s-0123456789abc",
		"S-0123456789ab", "s-0123456789aB", "s_0123456789ab", "ss-0123456789ab",
		"s-0123456789a/", "../3456789ab", "s-0123456789ab\n" };

	ck_assert(ats_id_valid("b-0123456789ab"));
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++)
		ck_assert_msg(!ats_id_valid(t[i]), "%s", t[i]);
}
END_TEST

/* RFC 4231, 4.2, 4.3 and 4.7. */
START_TEST(hmac_matches_rfc_4231)
{
	unsigned char key[131], mac[ATS_SHA256_BYTES];
	char hex[ATS_SHA256_HEX];

	memset(key, 0x0b, 20);
	ats_hmac_sha256(key, 20, "Hi There", 8, mac);
	ats_hex(mac, sizeof(mac), hex);
	ck_assert_str_eq(hex,
	    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	ats_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, mac);
	ats_hex(mac, sizeof(mac), hex);
	ck_assert_str_eq(hex,
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	ats_hmac_sha256(key, sizeof(key),
	    "Test Using Larger Than Block-Size Key - Hash Key First", 54, mac);
	ats_hex(mac, sizeof(mac), hex);
	ck_assert_str_eq(hex,
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
END_TEST

START_TEST(unhex_takes_exactly_its_bytes)
{
	static const char *const bad[] = { "", "0", "00f", "00ff0", "00fF", "00 f", "zz00" };
	unsigned char out[2];

	ck_assert(ats_unhex("00ff", out, 2) && out[0] == 0 && out[1] == 0xff);
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++)
		ck_assert_msg(!ats_unhex(bad[i], out, 2), "%s", bad[i]);
}
END_TEST

ATS_UNIT_MAIN("digest", sha256_matches_known_digests, hmac_matches_rfc_4231,
    unhex_takes_exactly_its_bytes, id_new_makes_valid_distinct_ids,
    id_valid_refuses_anything_else)
