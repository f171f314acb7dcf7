/* SPDX-License-Identifier: Apache-2.0
 *
 * An MCP server that is a program of this host: a message is a line of its stdin or stdout. Runs
 * in ats-gateway; what it prints is its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mcp.h"
#include "brain/gateway/program.h"

#define LOG_TEXT 400

struct stdio {
	struct mcp *m;
	struct programs *programs;
	struct program *p;		/* or NULL */
	struct ats_buf line;		/* what came of the next message */
	size_t seen;			/* of it, without a line's end */
};

static void
on_out(void *ctx, const char *p, size_t n)
{
	struct stdio *s = ctx;
	const struct program *whose = s->p;
	char *end;

	if (ats_buf_add(&s->line, p, n) < 0) {
		mcp_on_down(s->m, "it has sent a message of more than 16 MiB");
		return;
	}
	/* A message may end it, and then another one may have begun. */
	while (s->p == whose && s->p != NULL &&
	    (end = memchr(s->line.data + s->seen, '\n', s->line.len - s->seen)) != NULL) {
		size_t len = (size_t)(end - s->line.data);

		if (len > 0 && !(len == 1 && s->line.data[0] == '\r'))
			mcp_on_message(s->m, s->line.data, len);
		if (s->p == whose && s->p != NULL)
			ats_buf_consume(&s->line, len + 1);
		s->seen = 0;
	}
	if (s->p == whose && s->p != NULL) {
		s->seen = s->line.len;
		if (s->line.len == 0)
			ats_buf_reset(&s->line);
	}
}

static void
on_ended(void *ctx, int status)
{
	struct stdio *s = ctx;
	char said[LOG_TEXT], why[LOG_TEXT + 200];

	(void)program_stderr(s->p, said, sizeof(said));
	(void)snprintf(why, sizeof(why), "the server has ended (%s %d), stderr=%s",
	    WIFSIGNALED(status) ? "signal" : "exit code",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), said);
	s->p = NULL;
	mcp_on_down(s->m, why);
}

static int
open_stdio(struct mcp *m, struct ats_err *err)
{
	struct stdio *s = calloc(1, sizeof(*s));

	m->link = s;
	if (s == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	s->m = m;
	ats_buf_init(&s->line, MCP_MESSAGE_MAX);
	s->programs = programs_new(m->g);
	return s->programs == NULL ? ats_err_set(err, ATS_E_NOMEM, "out of memory") : 0;
}

static int
begin(struct mcp *m, struct ats_err *err)
{
	static const struct program_ops ops = { .out = on_out, .ended = on_ended };
	struct stdio *s = m->link;

	ats_buf_reset(&s->line);
	s->seen = 0;
	return program_start(s->programs,
	    &(const struct program_plan){ .argv = m->g->conf.argv.v }, &ops, s, &s->p, err);
}

static int
send_message(struct mcp *m, uint64_t id, const char *json, size_t n, struct ats_err *err)
{
	struct stdio *s = m->link;
	int rc = -ATS_E_EOF;

	(void)id;
	if (s->p != NULL)
		rc = program_write(s->p, json, n);
	if (rc == 0)
		rc = program_write(s->p, "\n", 1);
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_BUSY, "the server does not read what it is sent");
	return rc < 0 ? ats_err_set(err, -rc, "the server has closed its stdin") : 0;
}

static void
end(struct mcp *m)
{
	struct stdio *s = m->link;

	program_kill(s->p);
	s->p = NULL;
}

static void
close_stdio(struct mcp *m)
{
	struct stdio *s = m->link;

	programs_free(s->programs);
	ats_buf_done(&s->line);
	free(s);
}

const struct mcp_transport mcp_stdio = {
	.open = open_stdio,
	.begin = begin,
	.send = send_message,
	.end = end,
	.close = close_stdio,
};
