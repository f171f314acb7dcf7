/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter of gateways that speak HTTP themselves: its golden text, and the kernel's answers. */
#include <stdlib.h>

#include "brain/gateway/confine.h"
#include "common/confine/sanitize.h"
#include "tests/lib/call_list.h"
#include "tests/lib/golden.h"

static const struct ats_seccomp_table *const tables[] = { &confine_http_table };

START_TEST(http_filter_is_golden)
{
	struct ats_seccomp_prog p = { NULL, 0 };
	struct ats_err err = { 0 };
	char *text = NULL;

	ck_assert_msg(ats_seccomp_build(tables, 1, &p, &err) == 0, "%s", err.text);
	ats_seccomp_done(&p);
	if (ATS_SANITIZED)
		return;
	ck_assert_msg(ats_seccomp_text(tables, 1, &text, &err) == 0, "%s", err.text);
	golden_compare("gateway-http.pfc", text);
	free(text);
}
END_TEST

static void
load(void *ctx)
{
	struct ats_err err = { 0 };

	(void)ctx;
	if (ats_seccomp_install(tables, 1, &err) < 0)
		_exit(1);
}

START_TEST(http_filter_answers_are_golden)
{
	static const struct list_filter list[] = { { "gateway-http", load, NULL } };
	char *text;

	if (ATS_SANITIZED)
		return;
	text = list_ask(list, ATS_ARRAY_LEN(list));
	golden_compare("calls-gateway.tsv", text);
	free(text);
}
END_TEST

ATS_UNIT_MAIN("gateway_filter", http_filter_is_golden, http_filter_answers_are_golden)
