/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-hands shim. Started by an agent in the sandbox, eagerly and perhaps several times, with its
 * confinement, which is a command's. It keeps nothing: whatever ends it, the next one goes on. */
#include "hands/shim/shim.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/shim/out.h"

#define EXIT_USAGE 2
#define FLUSH_MS 2000		/* for answers that the client has not read at the end */
#define READ_BYTES (64u << 10)

static const char usage[] =
    "usage: ats-hands shim\n\n"
    "An MCP server on stdin and stdout whose tools are the host's. It is found by the\n"
    "environment, which commands in a sandbox have when there are such tools:\n"
    "  ATS_TOOLS_SPECS    the file that lists them\n"
    "  ATS_RELAY_SOCKET   the socket by which they are asked for, or instead of it\n"
    "  ATS_RELAY_DIR      a directory that is shared with \"atsctl relay\"\n"
    "  ATS_SESSION_ID     whose calls these are\n"
    "AGENTA_AGENT_TOOLS_PUBLIC_SPECS_FILE and AGENTA_AGENT_TOOLS_RELAY_DIR count where the\n"
    "first and third are not set. ATS_MCP_CONFIG names a configuration for MCP clients.\n";

struct input {
	struct shim s;
	struct event *in, *ends[3];
	struct ats_buf lines;
	size_t seen;		/* of them, without an end of line */
	bool skips;		/* the rest of a line that is too long */
	pid_t parent;
};

/* ---- the client ------------------------------------------------------------------------ */
void
shim_end(struct shim *s, const char *text)
{
	if (text != NULL && s->status == 0) {
		(void)fprintf(stderr, "ats-hands: shim: %s\n", text);
		s->status = 1;
	}
	(void)event_base_loopbreak(s->base);
}

static void
take_lines(struct input *i)
{
	const char *eol;

	while ((eol = memchr(i->lines.data + i->seen, '\n', i->lines.len - i->seen)) != NULL) {
		size_t n = (size_t)(eol - i->lines.data);
		bool blank = strspn(i->lines.data, " \t\r") >= n;

		if (!i->skips && !blank)
			shim_line(&i->s, i->lines.data, n);
		i->skips = false;
		ats_buf_consume(&i->lines, n + 1);
		i->seen = 0;
	}
	i->seen = i->lines.len;
	if (!i->skips && i->lines.len > SHIM_LINE) {
		shim_line_too_long(&i->s);
		i->skips = true;
	}
	if (i->skips || i->lines.len == 0) {
		ats_buf_reset(&i->lines);
		i->seen = 0;
	}
}

static void
on_input(evutil_socket_t fd, short what, void *arg)
{
	struct input *i = arg;
	char *to;
	ssize_t n;

	(void)what;
	if (!out_has_room(i->s.out)) {
		(void)event_del(i->in);		/* shim_read_on */
		return;
	}
	if (ats_buf_reserve(&i->lines, READ_BYTES, &to) < 0) {
		shim_end(&i->s, "out of memory");
		return;
	}
	n = ats_fd_read(fd, to, READ_BYTES);
	if (n > 0) {
		ats_buf_commit(&i->lines, (size_t)n);
		take_lines(i);
	} else if (n == 0 || errno != EAGAIN) {
		shim_end(&i->s, NULL);
	}
}

void
shim_read_on(struct shim *s)
{
	struct input *i = (struct input *)(void *)s;	/* its first member */

	if (i->in != NULL)
		(void)event_add(i->in, NULL);
}

/* ---- ends ------------------------------------------------------------------------------ */
/* PDEATHSIG tells of the thread that started us: its process may live on. */
static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	struct input *i = arg;

	(void)what;
	if (number != SIGUSR1 || getppid() != i->parent)
		shim_end(&i->s, NULL);
}

static int
watch_ends(struct input *i)
{
	static const int numbers[] = { SIGTERM, SIGHUP, SIGUSR1 };
	sigset_t none;

	_Static_assert(ATS_ARRAY_LEN(numbers) == ATS_ARRAY_LEN(i->ends), "an event each");
	for (size_t k = 0; k < ATS_ARRAY_LEN(numbers); k++) {
		i->ends[k] = evsignal_new(i->s.base, numbers[k], on_signal, i);
		if (i->ends[k] == NULL || event_add(i->ends[k], NULL) < 0)
			return -1;
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* Gone before it could be watched: then stdin has ended, too, as a rule. */
	return prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0) < 0 || getppid() != i->parent ? -1 : 0;
}

/* ---- start ----------------------------------------------------------------------------- */
static const char *
setting(const char *ours, const char *also)
{
	const char *v = getenv(ours);

	if (v == NULL && also != NULL)
		v = getenv(also);
	return v != NULL && v[0] != '\0' ? v : NULL;
}

static int
read_specs(struct shim *s)
{
	const char *path = setting("ATS_TOOLS_SPECS", "AGENTA_AGENT_TOOLS_PUBLIC_SPECS_FILE");
	struct ats_err err = { 0 };
	char *text = NULL;
	size_t n = 0;
	int rc;

	if (path == NULL) {
		(void)fprintf(stderr, "ats-hands: shim: ATS_TOOLS_SPECS is not set: there are no "
		    "tools of the host here\n");
		return -1;
	}
	rc = ats_fd_slurp(AT_FDCWD, path, ATS_SPECS_BYTES, &text, &n, &err);
	if (rc == 0)
		rc = ats_specs_read(text, n, &s->specs, &err);
	free(text);
	if (rc == 0)
		return 0;
	(void)fprintf(stderr, "ats-hands: shim: the specs of tools in %s: %s\n", path, err.text);
	return -1;
}

static int
open_way(struct shim *s)
{
	const char *socket = setting("ATS_RELAY_SOCKET", NULL);
	const char *dir = setting("ATS_RELAY_DIR", "AGENTA_AGENT_TOOLS_RELAY_DIR");

	if (socket == NULL && dir == NULL) {
		(void)fprintf(stderr, "ats-hands: shim: neither ATS_RELAY_SOCKET nor ATS_RELAY_DIR "
		    "is set\n");
		return -1;
	}
	s->way = socket != NULL ? &shim_by_socket : &shim_by_directory;
	return s->way->open(s, socket != NULL ? socket : dir);
}

/* poll(2): stdin may be a file, which epoll(7) does not take. */
static struct event_base *
make_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg != NULL) {
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
		(void)event_config_avoid_method(cfg, "epoll");
		base = event_base_new_with_config(cfg);
		event_config_free(cfg);
	}
	return base;
}

static int
start(struct input *i)
{
	i->s.base = make_base();
	ats_buf_init(&i->lines, SHIM_LINE + 2 * READ_BYTES);
	if (i->s.base == NULL || (i->s.out = out_new(&i->s, STDOUT_FILENO)) == NULL ||
	    (i->in = event_new(i->s.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, i)) ==
	    NULL || event_add(i->in, NULL) < 0) {
		(void)fprintf(stderr, "ats-hands: shim: out of memory\n");
		return -1;
	}
	return read_specs(&i->s) < 0 || open_way(&i->s) < 0 || watch_ends(i) < 0 ? -1 : 0;
}

static void
stop(struct input *i)
{
	if (i->s.way != NULL)
		i->s.way->close(&i->s);
	while (i->s.calls != NULL)
		shim_call_drop(&i->s, i->s.calls);
	for (size_t k = 0; k < ATS_ARRAY_LEN(i->ends); k++)
		if (i->ends[k] != NULL)
			event_free(i->ends[k]);
	if (i->in != NULL)
		event_free(i->in);
	i->in = NULL;
	out_free(i->s.out);
	ats_buf_done(&i->lines);
	ats_specs_done(&i->s.specs);
	if (i->s.base != NULL)
		event_base_free(i->s.base);
}

int
shim_main(int argc, char **argv)
{
	static struct input i;
	int rc;

	i.parent = getppid();
	if (argc > 1) {
		bool help = strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0;

		(void)fputs(usage, help ? stdout : stderr);
		return help ? 0 : EXIT_USAGE;
	}
	ats_log_init("shim", ATS_LOG_WARN, STDERR_FILENO);
	(void)signal(SIGPIPE, SIG_IGN);
	rc = start(&i);
	if (rc == 0) {
		(void)event_base_dispatch(i.s.base);
		out_flush(i.s.out, FLUSH_MS);
	}
	stop(&i);
	return rc < 0 ? 1 : i.s.status;
}
