/* SPDX-License-Identifier: Apache-2.0
 *
 * The filters of brain's processes against their golden texts, and the kernel's answers under
 * them. The spawner has none: podman, ssh and docker run under it. */
#include <stdlib.h>

#include "brain/ctl/relay_server.h"
#include "brain/engine/confine.h"
#include "brain/vault/confine.h"
#include "common/confine/sanitize.h"
#include "tests/lib/call_list.h"
#include "tests/lib/golden.h"

static void
compare(const char *name, const struct ats_seccomp_table *const *tables, size_t n)
{
	struct ats_seccomp_prog p = { NULL, 0 };
	struct ats_err err = { 0 };
	char *text = NULL;

	ck_assert_msg(ats_seccomp_build(tables, n, &p, &err) == 0, "%s", err.text);
	ats_seccomp_done(&p);
	if (ATS_SANITIZED)	/* they let the sanitizer's runtime through */
		return;
	ck_assert_msg(ats_seccomp_text(tables, n, &text, &err) == 0, "%s", err.text);
	golden_compare(name, text);
	free(text);
}

START_TEST(engine_filter_is_golden)
{
	compare("engine.pfc", engine_filter, ENGINE_FILTER_TABLES);
}
END_TEST

START_TEST(vault_filter_is_golden)
{
	struct vault_rules rules;
	const struct ats_seccomp_table own = vault_filter(77, 1234, &rules);
	const struct ats_seccomp_table *const tables[] = { &ats_seccomp_base,
		&ats_seccomp_noexec, &own };

	compare("vault.pfc", tables, ATS_ARRAY_LEN(tables));
}
END_TEST

START_TEST(relay_filter_is_golden)
{
	compare("relay.pfc", relay_filter, RELAY_FILTER_TABLES);
}
END_TEST

static void
load_engine(void *ctx)
{
	struct ats_err err = { 0 };

	(void)ctx;
	if (ats_seccomp_install(engine_filter, ENGINE_FILTER_TABLES, &err) < 0)
		_exit(1);
}

static void
load_vault(void *ctx)
{
	struct vault_rules rules;
	const struct ats_seccomp_table own = vault_filter(77, 1234, &rules);
	const struct ats_seccomp_table *const tables[] = { &ats_seccomp_base,
		&ats_seccomp_noexec, &own };
	struct ats_err err = { 0 };

	(void)ctx;
	if (ats_seccomp_install(tables, ATS_ARRAY_LEN(tables), &err) < 0)
		_exit(1);
}

START_TEST(brain_filter_answers_are_golden)
{
	static const struct list_filter list[] = { { "engine", load_engine, NULL },
		{ "vault", load_vault, NULL } };
	char *text;

	if (ATS_SANITIZED)
		return;
	text = list_ask(list, ATS_ARRAY_LEN(list));
	golden_compare("calls-brain.tsv", text);
	free(text);
}
END_TEST

ATS_UNIT_MAIN("brain_filters", engine_filter_is_golden, vault_filter_is_golden,
    relay_filter_is_golden, brain_filter_answers_are_golden)
