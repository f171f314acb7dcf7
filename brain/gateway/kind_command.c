/* SPDX-License-Identifier: Apache-2.0
 *
 * Gateways of kind command: a call runs a program of the configuration, whose stdin are the
 * arguments as JSON, whose files are descriptors, and whose stdout is the result. Runs in
 * ats-gateway. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/orders.h"
#include "brain/gateway/program.h"
#include "common/log.h"

#define CPU_SHARE 4			/* processors that it may use all the time */
#define LOG_TEXT 1500u

struct job {
	struct order *o;
	struct program *p;
	struct gather out;
	bool no_memory;
};

static void
job_free(struct job *j)
{
	gather_done(&j->out);
	free(j);
}

static void
on_out(void *ctx, const char *p, size_t n)
{
	struct job *j = ctx;

	if (gather_add(&j->out, p, n) < 0)
		j->no_memory = true;
}

static void
tell_end(const struct job *j, struct result *r, int status)
{
	const struct order *o = j->o;
	char text[LOG_TEXT];

	if (WIFSIGNALED(status)) {
		r->exit_kind = WTERMSIG(status) == SIGXCPU ? "cpu" : "signal";
		r->exit_code = (unsigned)WTERMSIG(status);
	} else {
		r->exit_kind = "exit";
		r->exit_code = (unsigned)WEXITSTATUS(status);
	}
	r->has_exit_code = true;
	if (status == 0)
		return;
	r->is_error = true;
	r->code = ATS_E_UPSTREAM;
	ats_log(ATS_LOG_WARN, "a command failed", "gateway=%s tool=%s call=c-%" PRIu64
	    " %s=%u stderr=%s", o->g->conf.name, o->name, o->id, r->exit_kind, r->exit_code,
	    program_stderr(j->p, text, sizeof(text)));
}

static int
tell_all(const struct job *j, struct result *r, int status)
{
	int rc = 0;

	tell_end(j, r, status);
	if (r->is_error)
		rc = result_textf(r,
		    "%s failed: its program ended by %s %u. What it wrote to stderr is "
		    "in the log of the host.%s",
		    j->o->whole, WIFSIGNALED(status) ? "signal" : "exit code",
		    r->exit_code, j->out.total > 0 ? " Its output:" : "");
	if (rc == 0 && (j->out.total > 0 || !r->is_error))
		rc = result_gathered(r, &j->out);
	return rc;
}

static void
on_ended(void *ctx, int status)
{
	struct job *j = ctx;
	struct order *o = j->o;
	struct result r;

	result_init(&r, o->g->mask);
	if (j->no_memory || tell_all(j, &r, status) < 0)
		result_fail(&r, ATS_E_NOMEM,
		    "%s ran, but there is no memory for its output", o->whole);
	job_free(j);
	order_end(o, &r);
}

static int
start(struct order *o, struct ats_err *err)
{
	static const struct program_ops ops = { .out = on_out, .ended = on_ended };
	struct job *j = calloc(1, sizeof(*j));
	int rc;

	if (j == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	j->o = o;
	gather_init(&j->out, o->g->mask);
	rc = program_start(o->g->own, &(const struct program_plan){ .argv = o->tool->argv.v,
		.cpu_s = (o->limit_ms / 1000 + 1) * CPU_SHARE, .files = o->files,
		.nfiles = ATS_ARRAY_LEN(o->files) }, &ops, j, &j->p, err);
	if (rc < 0) {
		job_free(j);
		return ats_err_wrap(err, "%s was not started, its program cannot be run", o->whole);
	}
	o->own = j;
	if (program_write(j->p, o->args, o->args_len) == 0)
		program_close_stdin(j->p);
	return 0;
}

static void
stop(struct order *o)
{
	struct job *j = o->own;

	program_kill(j->p);
	job_free(j);
}

static int
open_command(struct gateway *g, struct ats_err *err)
{
	g->own = programs_new(g);
	return g->own == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") : 0;
}

static void
close_command(struct gateway *g)
{
	programs_free(g->own);
}

const struct kind kind_command = {
	.name = "command",
	.open = open_command,
	.start = start,
	.stop = stop,
	.close = close_command,
};
