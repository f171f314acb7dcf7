/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent runtime as small as can be, with libats in the three places of its dispatch loop. What
 * a model would say comes as lines on stdin; what the model would hear goes out as lines.
 *
 *   tool NAME JSON | validate NAME JSON | hook EVENT JSON | cancel | plan NAME
 *   -> KIND NAME end=done|not_started|unknown|native error=0|1 code=WORD cwd=PATH TEXT
 *
 * usage: runtime [--blocking] [WORKSPACE PLAN_DIR ATSCTL [SESSION]] */
#include <ats.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct runtime {
	struct ats *ats;		/* NULL: tools run on this host */
	struct ats_ctx *ctx;
	int running;			/* calls without an answer */
	uint64_t last;
	int blocking;
};

/* A call as the loop keeps it until its answer has come. */
struct call {
	struct runtime *rt;
	char kind[16], name[64];
	char *input, *ctx_in;
};

static const char *const ends[] = { "done", "not_started", "unknown" };

static void
say(const char *kind, const char *name, const char *end, int error, const char *code,
    const char *cwd, const char *text, size_t n)
{
	const char *stop = text + n;

	printf("%s %s end=%s error=%d code=%s cwd=%s ", kind, name, end, error,
	    code[0] == '\0' ? "-" : code, cwd);
	for (; text < stop; text++) {
		if (*text == '\n' || *text == '\\')
			printf("\\%c", *text == '\n' ? 'n' : '\\');
		else
			putchar(*text);
	}
	putchar('\n');
	fflush(stdout);
}

/* The runtime's own tools, which it had before: here only their name. */
static void
run_native(struct runtime *rt, const char *kind, const char *name)
{
	say(kind, name, "native", 0, "", rt->ctx != NULL ? ats_ctx_cwd(rt->ctx) : "-", "", 0);
}

/* Third place: the answer. The ctx takes what the call has changed, then the model hears it. */
static void
on_done(void *arg, const struct ats_answer *answer)
{
	struct call *c = arg;
	struct runtime *rt = c->rt;
	int tool = strcmp(c->kind, "tool") == 0;

	if (tool && answer->ctx_delta != NULL &&
	    ats_ctx_apply(rt->ctx, c->name, c->input, strlen(c->input), answer->ctx_delta,
	        answer->ctx_delta_len) < 0)
		fprintf(stderr, "runtime: a delta was refused: %.*s\n",
		    (int)answer->ctx_delta_len, answer->ctx_delta);
	if (strcmp(c->kind, "hook") == 0 && answer->end == ATS_DONE)
		say(c->kind, c->name, "done", 0, "", ats_ctx_cwd(rt->ctx), answer->result,
		    answer->result_len);
	else
		say(c->kind, c->name, ends[answer->end], answer->is_error, answer->code,
		    ats_ctx_cwd(rt->ctx), answer->text, answer->text_len);
	ats_free(c->ctx_in);
	free(c->input);
	free(c);
	rt->running--;
}

/* Second place: instead of the native tool, or hook, the call is forwarded. */
static int
forward(struct runtime *rt, struct call *c)
{
	struct ats_request q = { .size = sizeof(q), .name = c->name, .input = c->input,
		.input_len = strlen(c->input), .ctx = c->ctx_in };
	struct ats_answer *answer = NULL;
	int kind = c->kind[0], rc;

	if (rt->blocking) {
		rc = kind == 't' ? ats_tool(rt->ats, &q, &answer) :
		    kind == 'v' ? ats_validate(rt->ats, &q, &answer) :
		    ats_hook(rt->ats, &q, &answer);
		if (rc < 0)
			return rc;
		rt->running++;
		on_done(c, answer);
		ats_answer_free(answer);
		return 0;
	}
	rc = kind == 't' ? ats_send_tool(rt->ats, &q, on_done, c, &rt->last) :
	    kind == 'v' ? ats_send_validate(rt->ats, &q, on_done, c, &rt->last) :
	    ats_send_hook(rt->ats, &q, on_done, c, &rt->last);
	rt->running += rc == 0;
	return rc;
}

/* First place: is the call ours? With REMOTE_TOOLS_URL unset this is one branch, not taken. */
static void
dispatch(struct runtime *rt, const char *kind, const char *name, const char *input)
{
	size_t n = strlen(input);
	struct call *c;
	int rc = 0;

	if (!(kind[0] == 'h' ? ats_on : ats_servable(name)) ||
	    (kind[0] != 'h' && ats_ctx_is_plan(rt->ctx, name, input, n))) {
		run_native(rt, kind, name);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return;
	c->rt = rt;
	snprintf(c->kind, sizeof(c->kind), "%s", kind);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->input = strdup(input);
	if (kind[0] != 'h')
		rc = ats_ctx_in(rt->ctx, name, input, n, &c->ctx_in);
	if (rc == 0)
		rc = forward(rt, c);
	if (rc == 0)
		return;
	say(kind, name, "not_started", 1, "refused", ats_ctx_cwd(rt->ctx), "", 0);
	ats_free(c->ctx_in);
	free(c->input);
	free(c);
}

/* A plan file, as the native tool opens it. */
static void
read_plan(struct runtime *rt, const char *name)
{
	char text[4096] = "";
	int fd = ats_plan_open(rt->ctx, name, strlen(name), O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	say("plan", name, fd >= 0 ? "native" : "refused", fd < 0,
	    fd == ATS_ERR_PLAN ? "plan" : "", ats_ctx_cwd(rt->ctx), text, strlen(text));
}

static void
take_line(struct runtime *rt, char *line)
{
	char *kind = strtok(line, " "), *name = strtok(NULL, " "), *rest = strtok(NULL, "");

	if (kind == NULL)
		return;
	if (strcmp(kind, "cancel") == 0)
		ats_cancel(rt->ats, rt->last);
	else if (strcmp(kind, "plan") == 0 && name != NULL)
		read_plan(rt, name);
	else if (name != NULL && rest != NULL)
		dispatch(rt, kind, name, rest);
}

/* The loop: lines of the model, and what ats_fd says. Ends when both have nothing more. */
static int
loop(struct runtime *rt)
{
	static char buf[1 << 20];
	size_t len = 0;
	ssize_t n;
	char *nl;
	int in = 0;

	while (in >= 0 || rt->running > 0) {
		struct pollfd p[2] = { { .fd = in, .events = POLLIN },
			{ .fd = rt->ats != NULL ? ats_fd(rt->ats) : -1, .events = POLLIN } };

		if (poll(p, 2, -1) < 0)
			return 1;
		if (p[1].revents != 0)
			ats_process(rt->ats);
		if (in < 0 || p[0].revents == 0)
			continue;
		n = read(in, buf + len, sizeof(buf) - len);
		if (n <= 0)
			in = -1;
		else
			len += (size_t)n;
		while ((nl = memchr(buf, '\n', len)) != NULL) {
			*nl = '\0';
			take_line(rt, buf);
			len -= (size_t)(nl + 1 - buf);
			memmove(buf, nl + 1, len);
		}
	}
	return 0;
}

static int
start(struct runtime *rt, int argc, char **argv)
{
	struct ats_options o = { .size = sizeof(o), .workspace = argc > 1 ? argv[1] : NULL,
		.atsctl = argc > 3 ? argv[3] : NULL, .session = argc > 4 ? argv[4] : NULL };
	int rc = ats_open(&o, &rt->ats);

	if (rc < 0) {
		fprintf(stderr, "runtime: %s\n", rc == ATS_ERR_OPEN ? ats_why(rt->ats) :
		    "bad options");
		return rc;
	}
	return ats_ctx_new(ats_workspace(rt->ats), argc > 2 ? argv[2] : NULL, &rt->ctx);
}

int
main(int argc, char **argv)
{
	struct runtime rt = { 0 };
	int code = 1;

	if (argc > 1 && strcmp(argv[1], "--blocking") == 0) {
		rt.blocking = 1;
		argv++;
		argc--;
	}
	if (!ats_init() || start(&rt, argc, argv) == 0)
		code = loop(&rt);
	ats_close(rt.ats);
	ats_ctx_free(rt.ctx);
	return code;
}
