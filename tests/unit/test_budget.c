/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits as numbers, and where a process stands in the cgroup hierarchies. */
#include "hands/confine/box.h"
#include "hands/confine/budget.h"
#include "hands/confine/cgroup_find.h"
#include "tests/lib/unit.h"

START_TEST(budget_take_knows_names_and_ranges)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{ "memory_mib=64", 1 }, { "memory_mib=0", 1 }, { "memory_mib=63", -1 },
		{ "memory_mib=", -1 }, { "memory_mib= 64", -1 }, { "memory_mib=64 ", -1 },
		{ "memory_mib=-64", -1 }, { "memory_mib=+64", -1 }, { "memory_mib=0x40", -1 },
		{ "memory_mib=99999999999999999999", -1 }, { "cpu_s=1", 1 },
		{ "background_jobs=48", 1 }, { "background_jobs=49", -1 },
		{ "memory=64", 0 }, { "memory_mib_=64", 0 }, { "=64", 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct budget b = { 0 };
		struct ats_err err = { 0 };
		int rc = budget_take(&b, rows[i].text, strcspn(rows[i].text, "="), &err);

		ck_assert_msg(rows[i].rc < 0 ? rc == -ATS_E_INVAL : rc == rows[i].rc,
		    "%s: %d", rows[i].text, rc);
		ck_assert_msg((rc < 0) == (err.text[0] != '\0'), "%s: text", rows[i].text);
	}
}
END_TEST

START_TEST(budget_complete_fills_in_only_what_was_not_asked_for)
{
	struct budget b = { .processes = 777 };

	budget_complete(&b, true);
	ck_assert_uint_eq(b.processes, 777);
	ck_assert_uint_eq(b.memory_mib, 768);
	ck_assert_uint_eq(b.file_mib, 512);
	ck_assert_uint_eq(b.cpu_s, 0);
	ck_assert_uint_eq(b.disk_mib, 0);
	b = (struct budget){ 0 };
	budget_complete(&b, false);
	ck_assert_uint_eq(b.processes, 4096);
	ck_assert_uint_ge(b.memory_mib, 768);
}
END_TEST

START_TEST(budget_travels_as_a_word_of_the_box)
{
	struct box b = { .situation = BOX_USER, .facts = BOX_CG_MEMORY, .state = "/s:1,2" };
	struct box back;
	char word[5000], cut[5000];

	budget_complete(&b.budget, true);
	b.budget.disk_mib = 1073741824;
	ck_assert_int_eq(box_to_word(&b, word, sizeof(word)), 0);
	ck_assert_int_eq(box_from_word(&back, word), 0);
	ck_assert_mem_eq(&back.budget, &b.budget, sizeof(b.budget));
	ck_assert_str_eq(back.state, "/s:1,2");
	ck_assert_uint_eq(back.facts, b.facts);
	/* Whatever is missing at its end, it is no box any more. */
	for (size_t n = strlen(word) - strlen("/s:1,2"); n-- > 0;) {
		(void)snprintf(cut, sizeof(cut), "%.*s", (int)n, word);
		ck_assert_msg(box_from_word(&back, cut) == -ATS_E_INVAL, "%s", cut);
	}
}
END_TEST

static const char hybrid_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid[] = "9:name=systemd:/\n4:memory:/api/58e3\n2:cpu,cpuacct:/a:b\n0::/x\n";

START_TEST(cgroup_find_reads_the_kernels_tables)
{
	static const char unified[] =
	    "25 30 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
	static const char container[] =
	    "9 8 0:3 /docker/7c /sys/fs/cgroup/mem\\040ory ro master:2 - cgroup cgroup rw,memory\n";
	static const struct {
		const char *cgroup, *mounts, *controller, *want;
	} rows[] = {
		{ hybrid, hybrid_mounts, "memory", "/sys/fs/cgroup/memory/api/58e3" },
		{ hybrid, hybrid_mounts, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct/a:b" },
		{ hybrid, hybrid_mounts, "cpua", NULL },
		{ hybrid, hybrid_mounts, "pids", NULL },
		{ hybrid, hybrid_mounts, "systemd", NULL },
		{ hybrid, hybrid_mounts, NULL, "/sys/fs/cgroup/unified/x" },
		{ "0::/user.slice/a.service\n", unified, NULL,
		    "/sys/fs/cgroup/user.slice/a.service" },
		{ "0::/user.slice", unified, NULL, "/sys/fs/cgroup/user.slice" },
		{ "0::/../other\n", unified, NULL, NULL },
		{ "0::/..\n", unified, NULL, NULL },
		{ "0::\n", unified, NULL, NULL },
		{ "10::/x\n", unified, NULL, NULL },
		{ "1:memory:/docker/7c/sub\n", container, "memory", "/sys/fs/cgroup/mem ory/sub" },
		{ "1:memory:/docker/7c\n", container, "memory", "/sys/fs/cgroup/mem ory" },
		{ "1:memory:/docker/7cd\n", container, "memory", NULL },
		{ "1:memory:/\n", container, "memory", NULL },
		{ "", unified, NULL, NULL },
		{ "0::/x\n", "", NULL, NULL },
		{ "0\n:\n::\n", unified, NULL, NULL },
		{ "0::/x\n", "1 2\n3 4 5 6 7 8 -\n- - -\n", NULL, NULL },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		char out[256] = "";
		bool found = cgroup_find(rows[i].cgroup, rows[i].mounts, rows[i].controller, out,
		    sizeof(out));

		ck_assert_msg(found == (rows[i].want != NULL), "row %zu: %s", i, out);
		if (found)
			ck_assert_str_eq(out, rows[i].want);
	}
}
END_TEST

START_TEST(cgroup_find_refuses_what_does_not_fit)
{
	char out[12];

	ck_assert(!cgroup_find(hybrid, hybrid_mounts, "memory", out, sizeof(out)));
}
END_TEST

START_TEST(cgroup_list_has_takes_whole_words)
{
	static const char list[] = "cpuset cpu io memory\n";

	ck_assert(cgroup_list_has(list, strlen(list), "memory", " \n"));
	ck_assert(cgroup_list_has(list, strlen(list), "cpu", " \n"));
	ck_assert(!cgroup_list_has(list, strlen(list), "mem", " \n"));
	ck_assert(!cgroup_list_has(list, strlen(list), "cpuset cpu", " \n"));
	ck_assert(!cgroup_list_has(list, 10, "memory", " \n"));
	ck_assert(!cgroup_list_has("", 0, "memory", " \n"));
}
END_TEST

ATS_UNIT_MAIN("budget", budget_take_knows_names_and_ranges,
    budget_complete_fills_in_only_what_was_not_asked_for, budget_travels_as_a_word_of_the_box,
    cgroup_find_reads_the_kernels_tables, cgroup_find_refuses_what_does_not_fit,
    cgroup_list_has_takes_whole_words)
