/* SPDX-License-Identifier: Apache-2.0
 *
 * BashOutput's filter: the lines of a background command's new output that match. Runs in
 * a read worker; the expression is the model's, the output is a tool's, front puts status
 * and frame around what is returned. */
#include "hands/tools/tool.h"

#include "hands/match/regex.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_MAX 30000u /* bytes of matching lines; the rest is counted */

struct lines {
	struct tool_result *out;
	uint64_t more; /* matching lines that found no room */
};

static int
add_line(struct lines *l, const char *p, size_t n)
{
	int rc;

	if (l->more > 0 || l->out->text.len + n > SHOWN_MAX) {
		l->more++;
		return 0;
	}
	rc = ats_buf_add(&l->out->text, p, n);
	return rc < 0 ? rc : ats_buf_add_char(&l->out->text, '\n');
}

static int
filter(struct regex_run *run, struct ats_slice text, struct lines *l)
{
	struct regex_span span;
	size_t at = 0;
	int rc = regex_begin(run, text.p, text.n);

	while (rc == 0 && at < text.n) {
		const char *nl;
		size_t start, end;

		rc = regex_find(run, text.p, text.n, at, &span);
		if (rc <= 0)
			return rc;
		for (start = span.start; start > at && text.p[start - 1] != '\n'; start--)
			;
		nl = memchr(text.p + span.start, '\n', text.n - span.start);
		end = nl == NULL ? text.n : (size_t)(nl - text.p);
		rc = add_line(l, text.p + start, end - start);
		at = end + 1;
	}
	return rc;
}

/* NULL: out says why. */
static struct regex *
compile(const struct ats_in_bash_output *in, struct tool_result *out)
{
	struct regex *re = NULL;
	struct ats_err err;

	if (regex_new(in->filter, 0, &re, &err) < 0)
		(void)tool_fail(out, err.code, "filter: %s", err.text);
	return re;
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	const struct ats_in_bash_output *in = input;
	struct lines l = { .out = out };
	struct regex *re;
	struct regex_run *re_run = NULL;
	int rc;

	if (in->filter == NULL || env->extra.p == NULL)
		return 0;
	re = compile(in, out);
	if (re == NULL)
		return 0;
	re_run = regex_run_new(re);
	rc = re_run == NULL ? -ATS_E_NOMEM : filter(re_run, env->extra, &l);
	regex_run_free(re_run);
	regex_free(re);
	if (rc == -ATS_E_TOOBIG)
		return tool_fail(out, ATS_E_TOOBIG,
		    "filter: the expression took too many steps; use a simpler one");
	if (rc == 0 && l.more > 0)
		rc = ats_buf_addf(
		    &out->text, "[... %" PRIu64 " more matching lines ...]\n", l.more);
	return rc;
}

/* Front has found the command. */
static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	const struct ats_in_bash_output *in = input;
	struct regex *re;

	(void)env;
	if (in->filter != NULL && in->filter[0] != '\0') {
		re = compile(in, out);
		if (re == NULL)
			return 0;
		regex_free(re);
	}
	return ats_buf_addf(&out->text, "The output of %s can be read.", in->bash_id);
}

const struct tool tool_bash_output = {
	.id = ATS_TOOL_bash_output, .run = run, .check = check,
};
