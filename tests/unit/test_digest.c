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

ATS_UNIT_MAIN("digest", sha256_matches_known_digests, id_new_makes_valid_distinct_ids,
    id_valid_refuses_anything_else)
