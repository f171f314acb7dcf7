/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said when namespaces cannot be had, by made up sysctl files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hands/confine/ns.h"
#include "tests/lib/unit.h"

static char top[] = "/tmp/ats-test-ns-XXXXXX";

static void
knob(const char *name, const char *value)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/sys/%s", top, name);
	(void)unlink(path);
	if (value == NULL)
		return;
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	(void)fputs(value, f);
	(void)fclose(f);
}

static void
setup(void)
{
	char path[256];

	(void)unit_tmp(top);
	(void)snprintf(path, sizeof path, "%s/sys", top);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof path, "%s/sys/user", top);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof path, "%s/sys/kernel", top);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void
expect_code(int code, enum box_situation s, int errnum, const char *why, const char *remedy)
{
	struct ats_err err = { 0 };
	const char *at;

	ck_assert_int_eq(ns_explain_at(top, s, errnum, &err), -code);
	at = strstr(err.text, "; remedy: ");
	ck_assert_msg(at != NULL && strstr(at, remedy) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, why) != NULL && strstr(err.text, why) < at, "%s", err.text);
}

static void
expect(enum box_situation s, int errnum, const char *why, const char *remedy)
{
	expect_code(ATS_E_UNAVAILABLE, s, errnum, why, remedy);
}

START_TEST(ns_explain_names_the_knob_that_forbids)
{
	setup();
	knob("user/max_user_namespaces", "62844\n");
	knob("kernel/unprivileged_userns_clone", "1\n");
	expect(BOX_USER, EPERM, "outer seccomp filter", "min_level to landlock");
	expect(BOX_ROOT, EPERM, "outer seccomp filter", "CAP_SYS_ADMIN");
	/* That may pass: no reason for a weaker situation. */
	expect_code(ATS_E_FULL, BOX_USER, ENOSPC, "limit of namespaces", "max_*_namespaces");
	knob("kernel/apparmor_restrict_unprivileged_userns", "0\n");
	expect(BOX_USER, EPERM, "outer seccomp filter", "min_level to landlock");
	knob("kernel/apparmor_restrict_unprivileged_userns", "1\n");
	expect(BOX_USER, EPERM, "AppArmor", "apparmor_parser");
	expect(BOX_USER, EACCES, "AppArmor", "/etc/apparmor.d");
	/* Of no matter to root. */
	expect(BOX_ROOT, EPERM, "outer seccomp filter", "CAP_SYS_ADMIN");
	knob("kernel/unprivileged_userns_clone", "0\n");
	expect(BOX_USER, EPERM, "unprivileged_userns_clone is 0", "userns_clone=1");
	knob("user/max_user_namespaces", "0\n");
	expect(BOX_USER, ENOSPC, "max_user_namespaces is 0", "max_user_namespaces=10000");
	expect(BOX_ROOT, EPERM, "outer seccomp filter", "CAP_SYS_ADMIN");
}
END_TEST

START_TEST(ns_explain_proc_says_who_covers_it)
{
	struct ats_err err = { 0 };

	ck_assert_int_eq(ns_explain_proc(EPERM, &err), -ATS_E_UNAVAILABLE);
	ck_assert_ptr_nonnull(strstr(err.text, "ProtectKernelTunables"));
	ck_assert_ptr_nonnull(strstr(err.text, "; remedy: "));
	ck_assert_int_eq(ns_explain_proc(ENODEV, &err), -ATS_E_UNAVAILABLE);
	ck_assert_ptr_null(strstr(err.text, "ProtectKernelTunables"));
}
END_TEST

ATS_UNIT_MAIN("ns", ns_explain_names_the_knob_that_forbids, ns_explain_proc_says_who_covers_it)
