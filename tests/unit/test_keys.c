/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of links over a network: the master and its file, generations, what is forgotten. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/keys.h"
#include "common/clock.h"
#include "common/digest.h"
#include "tests/lib/unit.h"

#define A "b-0123456789ab"
#define B "b-00000000000b"

static char dir[] = "/tmp/ats-test-keys-XXXXXX";
static struct keys *keys;
static struct enrolled *en;
static struct ats_err err;

static const char *
at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
put(const char *name, const void *p, size_t n, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(write(fd, p, n), n);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void
reopen(void)
{
	keys_free(keys);
	keys = NULL;
	err = (struct ats_err){ 0 };
	ck_assert_msg(keys_open(dir, 3, &keys, &err) == 0, "%s", err.text);
}

static void
begin(void)
{
	unsigned char master[32];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (unsigned i = 0; i < sizeof(master); i++)
		master[i] = (unsigned char)i;
	put("link.master", master, sizeof(master), 0600);
	reopen();
}

static void
end(void)
{
	char cmd[128];

	keys_free(keys);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* Computed by Python's hmac. */
START_TEST(keys_follow_from_the_master)
{
	unsigned char key[ATS_PROVE_KEY], other[ATS_PROVE_KEY];
	char hex[65];

	begin();
	ck_assert_int_eq(keys_derive(keys, A, 7, key, &err), 0);
	ats_hex(key, sizeof(key), hex);
	ck_assert_str_eq(hex,
	    "0277ae9fa361a6be9b37fb89f4985a5b851de50b4e2246dd1b944316c4e7686f");
	ck_assert_int_eq(keys_derive(keys, A, 8, other, &err), 0);
	ck_assert_mem_ne(key, other, sizeof(key));
	ck_assert_int_eq(keys_derive(keys, B, 7, other, &err), 0);
	ck_assert_mem_ne(key, other, sizeof(key));
	ck_assert_int_eq(keys_tls_seed(keys, key, &err), 0);
	ats_hex(key, sizeof(key), hex);
	ck_assert_str_eq(hex,
	    "0e24cf151bf8c795d6976b5cbe735e46cc11a5d30ab13c90c320623def6aa411");
	end();
}
END_TEST

START_TEST(a_master_is_made_once_and_kept)
{
	unsigned char one[ATS_PROVE_KEY], two[ATS_PROVE_KEY];
	struct stat st;

	begin();
	ck_assert_int_eq(unlink(at("link.master")), 0);
	ck_assert_int_eq(keys_derive(keys, A, 1, one, &err), 0);
	ck_assert_int_eq(stat(at("link.master"), &st), 0);
	ck_assert_int_eq(st.st_size, 32);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	reopen();
	ck_assert_int_eq(keys_derive(keys, A, 1, two, &err), 0);
	ck_assert_mem_eq(one, two, sizeof(one));
	end();
}
END_TEST

START_TEST(a_master_that_others_may_have_is_refused)
{
	static const struct {
		size_t n;
		mode_t mode;
		int code;
		const char *text;
	} rows[] = {
		{ 31, 0600, ATS_E_INVAL, "not a file of 32 bytes" },
		{ 33, 0600, ATS_E_INVAL, "not a file of 32 bytes" },
		{ 0, 0600, ATS_E_INVAL, "not a file of 32 bytes" },
		{ 32, 0640, ATS_E_PERM, "mode 0640" },
		{ 32, 0604, ATS_E_PERM, "mode 0604" },
		{ 32, 0400, ATS_E_PERM, "mode 0400" },
	};
	unsigned char key[ATS_PROVE_KEY];

	begin();
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		put("link.master", "0123456789abcdef0123456789abcdef!", rows[i].n, rows[i].mode);
		reopen();
		ck_assert_int_eq(keys_derive(keys, A, 1, key, &err), -rows[i].code);
		ck_assert_msg(strstr(err.text, rows[i].text) != NULL, "%s", err.text);
		ck_assert_int_eq(keys_enroll(keys, A, false, &en, &err), -rows[i].code);
		ck_assert_ptr_null(keys_find(keys, A));
	}
	ck_assert_int_eq(unlink(at("link.master")), 0);
	ck_assert_int_eq(symlink("enrolled", at("link.master")), 0);
	reopen();
	ck_assert_int_lt(keys_derive(keys, A, 1, key, &err), 0);
	ck_assert_int_eq(unlink(at("link.master")), 0);
	if (geteuid() == 0) {
		put("link.master", "0123456789abcdef0123456789abcdef", 32, 0600);
		ck_assert_int_eq(chown(at("link.master"), 65534, 65534), 0);
		reopen();
		ck_assert_int_eq(keys_derive(keys, A, 1, key, &err), -ATS_E_PERM);
		ck_assert_msg(strstr(err.text, "owner 65534") != NULL, "%s", err.text);
	}
	end();
}
END_TEST

START_TEST(generations_grow_and_the_last_proven_one_is_kept)
{
	uint64_t first, second;

	begin();
	ck_assert_int_eq(keys_enroll(keys, A, false, &en, &err), 0);
	first = en->generation;
	ck_assert_uint_gt(first, 0);
	ck_assert_uint_eq(en->previous, 0);
	ck_assert_int_eq(keys_enroll(keys, A, false, &en, &err), -ATS_E_EXISTS);
	ck_assert_int_eq(keys_enroll(keys, A, true, &en, &err), 0);
	second = en->generation;
	ck_assert_uint_gt(second, first);
	ck_assert_uint_eq(en->previous, first);
	/* one that nobody has proven is not kept */
	ck_assert_int_eq(keys_enroll(keys, A, true, &en, &err), 0);
	ck_assert_uint_gt(en->generation, second);
	ck_assert_uint_eq(en->previous, first);
	reopen();
	en = keys_find(keys, A);
	ck_assert_uint_eq(en->previous, first);
	ck_assert(!keys_proven(keys, A, first));
	ck_assert(!keys_proven(keys, B, en->generation));
	ck_assert_uint_eq(en->previous, first);
	ck_assert(keys_proven(keys, A, en->generation));
	ck_assert(!keys_proven(keys, A, en->generation));
	second = en->generation;
	reopen();
	en = keys_find(keys, A);
	ck_assert_uint_eq(en->previous, 0);
	ck_assert_uint_eq(en->generation, second);
	end();
}
END_TEST

START_TEST(a_revoked_key_never_counts_again)
{
	uint64_t first;

	begin();
	ck_assert_int_eq(keys_revoke(keys, A, &err), -ATS_E_UNKNOWN_ID);
	ck_assert_int_eq(keys_enroll(keys, A, false, &en, &err), 0);
	first = en->generation;
	ck_assert_int_eq(keys_revoke(keys, A, &err), 0);
	ck_assert_ptr_null(keys_find(keys, A));
	reopen();
	ck_assert_ptr_null(keys_find(keys, A));
	while ((uint64_t)ats_clock_wall_ms() <= first)
		;
	ck_assert_int_eq(keys_enroll(keys, A, false, &en, &err), 0);
	ck_assert_uint_gt(en->generation, first);
	end();
}
END_TEST

START_TEST(the_table_has_an_end)
{
	begin();
	ck_assert_int_eq(keys_enroll(keys, A, false, &en, &err), 0);
	ck_assert_int_eq(keys_enroll(keys, B, false, &en, &err), 0);
	ck_assert_int_eq(keys_enroll(keys, "b-00000000000c", false, &en, &err), 0);
	ck_assert_int_eq(keys_enroll(keys, "b-00000000000d", false, &en, &err), -ATS_E_FULL);
	ck_assert_int_eq(keys_enroll(keys, A, true, &en, &err), 0);
	end();
}
END_TEST

START_TEST(lines_that_are_none_are_left_out)
{
	static const char text[] = A " 9 4 1000\n"
		A " 10 4 1000\n"		/* twice */
		B " 0 0 1\n"
		B " 3 3 1\n"
		B " 3 0\n"
		B " 3 0 1 1\n"
		B " -3 0 1\n"
		"../escape 3 0 1\n"
		"\n";

	begin();
	put("enrolled", text, sizeof(text) - 1, 0600);
	reopen();
	en = keys_find(keys, A);
	ck_assert_ptr_nonnull(en);
	ck_assert_uint_eq(en->generation, 9);
	ck_assert_uint_eq(en->previous, 4);
	ck_assert_ptr_null(keys_find(keys, B));
	end();
}
END_TEST

START_TEST(the_text_is_one_line)
{
	char text[KEYS_TEXT_MAX];

	begin();
	put("enrolled", A " 7 0 1000\n", strlen(A) + 10, 0600);
	reopen();
	en = keys_find(keys, A);
	ck_assert_int_eq(keys_text(keys, en, NULL, text, &err), 0);
	ck_assert_str_eq(text, "ats1:" A ":7:"
	    "0277ae9fa361a6be9b37fb89f4985a5b851de50b4e2246dd1b944316c4e7686f");
	ck_assert_int_eq(keys_text(keys, en, "ab", text, &err), 0);
	ck_assert_ptr_nonnull(strstr(text, "686f:ab"));
	end();
}
END_TEST

ATS_UNIT_MAIN("keys", keys_follow_from_the_master, a_master_is_made_once_and_kept,
    a_master_that_others_may_have_is_refused, generations_grow_and_the_last_proven_one_is_kept,
    a_revoked_key_never_counts_again, the_table_has_an_end, lines_that_are_none_are_left_out,
    the_text_is_one_line)
