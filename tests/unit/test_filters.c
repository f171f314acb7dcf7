/* SPDX-License-Identifier: Apache-2.0
 *
 * The filters of hands against their golden texts and the kernel's answers under each, so
 * that a change of policy shows in review (tests/lib/golden.h says how to renew them). */
#include <stdio.h>
#include <stdlib.h>

#include "common/confine/sanitize.h"
#include "hands/confine/filters.h"
#include "tests/lib/call_list.h"
#include "tests/lib/golden.h"

static void
compare(enum filter which)
{
	char name[64], *text = NULL;
	struct ats_err err = { 0 };

	ck_assert_int_eq(filter_text(which, &text, &err), 0);
	(void)snprintf(name, sizeof name, "%s.pfc", filter_names[which]);
	golden_compare(name, text);
	free(text);
}

START_TEST(filter_text_of_each_is_golden)
{
	if (ATS_SANITIZED)	/* they let the sanitizer's runtime through */
		return;
	for (int f = 0; f < FILTER_COUNT; f++)
		compare((enum filter)f);
}
END_TEST

/* As a process comes to have them, one above the other. */
struct stack {
	enum filter f[FILTER_COUNT];
	struct ats_seccomp_prog prog[FILTER_COUNT];
	size_t n;		/* f[0] is loaded last */
};

static void
make_stack(struct stack *s, enum filter f)
{
	struct ats_err err = { 0 };

	for (s->n = 0; s->n == 0 || f != s->f[s->n - 1]; f = filter_below(f)) {
		s->f[s->n] = f;
		ck_assert_int_eq(filter_build(f, &s->prog[s->n], &err), 0);
		s->n++;
	}
}

static void
load_stack(void *ctx)
{
	const struct stack *s = ctx;
	struct ats_err err = { 0 };

	for (size_t i = s->n; i > 0; i--)
		if (filter_load(s->f[i - 1], &s->prog[i - 1], &err) < 0)
			_exit(1);
}

START_TEST(filter_answers_of_each_are_golden)
{
	static struct stack stacks[FILTER_COUNT];
	struct list_filter list[FILTER_COUNT];
	char *text;

	if (ATS_SANITIZED)
		return;
	for (int f = 0; f < FILTER_COUNT; f++) {
		make_stack(&stacks[f], (enum filter)f);
		list[f] = (struct list_filter){ filter_names[f], load_stack, &stacks[f] };
	}
	text = list_ask(list, FILTER_COUNT);
	golden_compare("calls-hands.tsv", text);
	free(text);
	for (int f = 0; f < FILTER_COUNT; f++)
		for (size_t i = 0; i < stacks[f].n; i++)
			ats_seccomp_done(&stacks[f].prog[i]);
}
END_TEST

START_TEST(filter_build_of_each_has_instructions)
{
	for (int f = 0; f < FILTER_COUNT; f++) {
		struct ats_seccomp_prog p = { NULL, 0 };
		struct ats_err err = { 0 };
		char label[64];

		ck_assert_int_eq(filter_build((enum filter)f, &p, &err), 0);
		ck_assert_uint_gt(p.n, 20);
		filter_label((enum filter)f, &p, label);
		ck_assert_uint_eq(strlen(label), strlen(filter_names[f]) + 13);
		ats_seccomp_done(&p);
	}
}
END_TEST

START_TEST(filter_of_profile_and_box_is_the_right_one)
{
	struct box b = { .situation = BOX_USER };

	ck_assert_int_eq(filter_of(ATS_PROFILE_READ, &b), FILTER_READ);
	ck_assert_int_eq(filter_of(ATS_PROFILE_WRITE, &b), FILTER_WRITE);
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL);
	b.situation = BOX_UID;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_UID);
	b.situation = BOX_LANDLOCK;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_SAMEUID);
	b.facts = BOX_LISTENER;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_SAMEUID_OWN);
	b.situation = BOX_UID;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_UID_OWN);
	/* Without Landlock nothing keeps commands from what their sockets are bound to. */
	b.situation = BOX_NONE;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_SAMEUID);
	b.facts = BOX_NET_HOST | BOX_LISTENER;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_SAMEUID_NET);
	ck_assert_int_eq(filter_of(ATS_PROFILE_READ, &b), FILTER_READ);
	b.front_uid = 1;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL_UID_NET);
	b.situation = BOX_ROOT;
	ck_assert_int_eq(filter_of(ATS_PROFILE_SHELL, &b), FILTER_SHELL);
}
END_TEST

START_TEST(box_word_survives_the_way_through_argv)
{
	struct box b = { .situation = BOX_ROOT, .facts = 0x6f, .front_uid = 1,
		.front_gid = 2, .worker_uid = 3, .worker_gid = 4, .landlock_abi = 7,
		.state = "/a:b c" }, back;
	char word[256];

	ck_assert_int_eq(box_to_word(&b, word, sizeof word), 0);
	ck_assert_int_eq(box_from_word(&back, word), 0);
	ck_assert_int_eq(back.situation, BOX_ROOT);
	ck_assert_uint_eq(back.facts, 0x6f);
	ck_assert_uint_eq(back.worker_gid, 4);
	ck_assert_str_eq(back.state, "/a:b c");
	ck_assert_str_eq(back.home, "/home/agent");
	ck_assert_int_lt(box_from_word(&back, "9:0:0:0:0:0:0:/"), 0);
	ck_assert_int_lt(box_from_word(&back, "1:0:0"), 0);
	ck_assert_int_lt(box_to_word(&b, word, 4), 0);
}
END_TEST

ATS_UNIT_MAIN("filters", filter_text_of_each_is_golden, filter_answers_of_each_are_golden,
    filter_build_of_each_has_instructions, filter_of_profile_and_box_is_the_right_one,
    box_word_survives_the_way_through_argv)
