/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency of MCP stdio servers side by side. Starts every server of the spec, then asks each
 * once a round, so that a slow spell of the machine hits all alike, in an order that changes from
 * round to round: who was asked before, and left the caches to the next one, is not always the
 * same.
 *
 * usage: mcpbench [-n ROUNDS] [-w WARMUP] [-p PACE_US] [-b BURST] [-s STARTS] SPEC
 * Spec lines, fields separated by a tab:
 *   server  NAME  PROGRAM  ARG ...
 *   call    NAME  LABEL    PARAMS-JSON-OF-tools/call
 * -b N sends N requests at once and reports the time a request. -s N restarts each server N
 * times first and reports the time to its initialize reply.
 * Prints one JSON object a line: {"label":..,"median_us":..,"p10_us":..,"p90_us":..,
 * "bytes":..,"errors":..}. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"

#define SERVERS_MAX 16
#define CALLS_MAX 64

struct server {
	char *name;
	char *argv[32];
	pid_t pid;
	int in, out;
	char *buf;
	size_t len, cap;
	long id;
};
struct call {
	struct server *server;
	char *label, *params;
	struct samples us;
	size_t bytes, errors;
};

static struct server servers[SERVERS_MAX];
static size_t nservers;
static struct call calls[CALLS_MAX];
static size_t ncalls;

static void
server_start(struct server *s)
{
	int a[2], b[2];

	if (pipe2(a, O_CLOEXEC) || pipe2(b, O_CLOEXEC))
		bench_die("pipe");
	s->pid = fork();
	if (s->pid < 0)
		bench_die("fork");
	if (s->pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(a[0], 0);
		dup2(b[1], 1);
		if (getenv("BENCH_STDERR") == NULL)
			dup2(null, 2);
		execvp(s->argv[0], s->argv);
		_exit(127);
	}
	close(a[0]);
	close(b[1]);
	s->in = a[1];
	s->out = b[0];
	s->len = 0;
	s->id = 0;
}

static void
server_stop(struct server *s)
{
	close(s->in);
	for (int i = 0; i < 200; i++) {
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
			goto out;
		usleep(5000);
	}
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
out:
	close(s->out);
}

/* Waits for the next whole line that answers a request; returns its length. */
static size_t
server_answer(struct server *s, size_t *ret_errors)
{
	size_t from = 0;

	for (;;) {
		char *nl = s->len > from ? memchr(s->buf + from, '\n', s->len - from) : NULL;

		if (nl != NULL) {
			size_t n = (size_t)(nl - s->buf) + 1;
			int answer = memmem(s->buf, n > 300 ? 300 : n, "\"method\":", 9) == NULL;

			if (memmem(s->buf, n, "\"isError\":true", 14) != NULL ||
			    memmem(s->buf, n > 300 ? 300 : n, "\"error\":", 8) != NULL) {
				if (answer && ret_errors != NULL) {
					if ((*ret_errors)++ == 0)
						fprintf(stderr, "%s: %.*s\n", s->name,
						    (int)(n > 400 ? 400 : n), s->buf);
				}
			}
			memmove(s->buf, nl + 1, s->len - n);
			s->len -= n;
			from = 0;
			if (answer)
				return n;
			continue;
		}
		from = s->len;
		if (s->cap - s->len < 65536) {
			s->cap = s->cap ? s->cap * 2 : 1 << 20;
			s->buf = realloc(s->buf, s->cap);
			if (s->buf == NULL)
				bench_die("realloc");
		}
		struct pollfd p = { .fd = s->out, .events = POLLIN };
		if (poll(&p, 1, 60000) <= 0) {
			fprintf(stderr, "bench: %s: no answer within 60 s\n", s->name);
			exit(1);
		}
		ssize_t r = read(s->out, s->buf + s->len, s->cap - s->len);
		if (r <= 0) {
			fprintf(stderr, "bench: %s: closed its output\n", s->name);
			exit(1);
		}
		s->len += (size_t)r;
	}
}

static void
server_send(struct server *s, const char *method, const char *params)
{
	char *line;
	int n = asprintf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":%s}\n", s->id++, method,
	    params);

	if (n < 0)
		bench_die("asprintf");
	bench_write_all(s->in, line, (size_t)n);
	free(line);
}

static double
server_handshake(struct server *s)
{
	static const char done[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	uint64_t t = bench_ns();
	double us;

	server_start(s);
	server_send(s, "initialize",
	    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"mcpbench\",\"version\":\"1\"}}");
	(void)server_answer(s, NULL);
	us = (double)(bench_ns() - t) / 1e3;
	bench_write_all(s->in, done, sizeof(done) - 1);
	return us;
}

static void
read_spec(const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (f == NULL)
		bench_die(path);
	while ((n = getline(&line, &cap, f)) > 0) {
		char *save = NULL, *kind, *name;

		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		kind = strtok_r(line, "\t", &save);
		name = strtok_r(NULL, "\t", &save);
		if (kind == NULL || name == NULL)
			bench_die("spec line without a name");
		if (strcmp(kind, "server") == 0 && nservers < SERVERS_MAX) {
			struct server *s = &servers[nservers++];
			size_t i = 0;
			char *a;

			s->name = strdup(name);
			while (i < 31 && (a = strtok_r(NULL, "\t", &save)) != NULL)
				s->argv[i++] = strdup(a);
		} else if (strcmp(kind, "call") == 0 && ncalls < CALLS_MAX) {
			struct call *c = &calls[ncalls++];

			for (size_t i = 0; i < nservers; i++)
				if (strcmp(servers[i].name, name) == 0)
					c->server = &servers[i];
			c->label = strdup(strtok_r(NULL, "\t", &save));
			c->params = strdup(strtok_r(NULL, "\t", &save));
			if (c->server == NULL)
				bench_die("call for an unknown server");
		}
	}
	free(line);
	fclose(f);
}

static void
report(const char *label, struct samples *us, size_t bytes, size_t errors)
{
	printf("{\"label\":\"%s\",\"median_us\":%.1f,\"p10_us\":%.1f,\"p90_us\":%.1f,"
	    "\"n\":%zu,\"bytes\":%zu,\"errors\":%zu}\n", label, samples_quantile(us, 0.5),
	    samples_quantile(us, 0.1), samples_quantile(us, 0.9), us->n, bytes, errors);
	fflush(stdout);
}

/* Another order of the same calls (Fisher and Yates); the same ones in each run. */
static void
shuffle(struct call *order[], size_t n)
{
	static uint32_t x = 2463534242;	/* xorshift32 */

	for (size_t i = n; i > 1; i--) {
		struct call *last = order[i - 1];
		size_t k;

		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		k = x % i;
		order[i - 1] = order[k];
		order[k] = last;
	}
}

int
main(int argc, char **argv)
{
	struct call *order[CALLS_MAX];
	int rounds = 200, warmup = 20, pace_us = 0, burst = 1, starts = 0, o;

	signal(SIGPIPE, SIG_IGN);
	while ((o = getopt(argc, argv, "n:w:p:b:s:")) != -1) {
		int v = atoi(optarg);

		switch (o) {
		case 'n': rounds = v; break;
		case 'w': warmup = v; break;
		case 'p': pace_us = v; break;
		case 'b': burst = v; break;
		case 's': starts = v; break;
		default: return 2;
		}
	}
	if (optind >= argc || burst < 1)
		return 2;
	read_spec(argv[optind]);
	for (size_t i = 0; i < nservers; i++) {
		struct samples us = { 0 };
		char label[128];

		for (int k = 0; k < starts; k++) {
			samples_add(&us, server_handshake(&servers[i]));
			server_stop(&servers[i]);
		}
		(void)server_handshake(&servers[i]);
		snprintf(label, sizeof(label), "%s start", servers[i].name);
		if (starts > 0)
			report(label, &us, 0, 0);
	}
	for (size_t i = 0; i < ncalls; i++)
		order[i] = &calls[i];
	for (int r = -warmup; r < rounds; r++) {
		shuffle(order, ncalls);
		for (size_t i = 0; i < ncalls; i++) {
			struct call *c = order[i];
			uint64_t t = bench_ns();

			for (int k = 0; k < burst; k++)
				server_send(c->server, "tools/call", c->params);
			for (int k = 0; k < burst; k++)
				c->bytes = server_answer(c->server, &c->errors);
			if (r >= 0)
				samples_add(&c->us, (double)(bench_ns() - t) / 1e3 / burst);
			if (pace_us > 0)
				usleep((useconds_t)pace_us);
		}
	}
	for (size_t i = 0; i < ncalls; i++)
		report(calls[i].label, &calls[i].us, calls[i].bytes, calls[i].errors);
	for (size_t i = 0; i < nservers; i++)
		server_stop(&servers[i]);
	return 0;
}
