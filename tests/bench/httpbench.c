/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients of an MCP server over HTTP/1.1, each on a connection of its own that stays open, each
 * with one request at a time; as many at once as are asked for, in one process and one epoll.
 *
 * usage: httpbench -p PORT [-t TOKEN] [-c CLIENTS] [-n CALLS | -d SECONDS] [-w WARMUP] [-m] SPEC
 * SPEC has a call a line: METHOD, a tab, PARAMS-JSON. Each client takes them in turn, beginning at
 * its own number. Sessions of 2025-11-25; with -m requests of 2026-07-28, where _meta is put in.
 * Prints {"calls":..,"errors":..,"seconds":..,"per_s":..,"p10_us":..,
 * "median_us":..,"p90_us":..}. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tests/bench/bench.h"

#define CLIENTS_MAX 1024
#define CALLS_MAX 64
#define BUF (4u << 20)

struct call {
	char *method, *params, *name;	/* name: of tools/call, or NULL */
};
enum step { GREET, GREETED, CALLS };
struct client {
	int fd;
	enum step step;
	size_t next;
	char session[160];
	char *buf;
	size_t len;
	uint64_t sent_ns;
	long id;
};
static struct call calls[CALLS_MAX];
static size_t ncalls;
static struct client clients[CLIENTS_MAX];
static const char *token = "";
static unsigned port;
static bool modern;
static struct samples us;
static size_t done, errors;
static long warmup;

static void
send_body(struct client *c, const char *method, const char *name, const char *body)
{
	char *text;
	int n = asprintf(&text, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s%s%s"
	    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	    "%s%s%s%s%s%s%s%s%s%sContent-Length: %zu\r\n\r\n%s", port,
	    *token ? "Authorization: Bearer " : "", token, *token ? "\r\n" : "",
	    c->session[0] ? "Mcp-Session-Id: " : "", c->session, c->session[0] ? "\r\n" : "",
	    modern ? "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " :
	    c->session[0] ? "MCP-Protocol-Version: 2025-11-25" : "", modern ? method : "",
	    modern || c->session[0] ? "\r\n" : "", modern && name ? "Mcp-Name: " : "",
	    modern && name ? name : "", modern && name ? "\r\n" : "", "", strlen(body), body);

	if (n < 0)
		bench_die("asprintf");
	c->sent_ns = bench_ns();
	bench_write_all(c->fd, text, (size_t)n);
	free(text);
}

static void
send_next(struct client *c)
{
	const struct call *k = &calls[c->next++ % ncalls];
	char *body;

	if (asprintf(&body, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":%s}",
	    ++c->id, k->method, k->params) < 0)
		bench_die("asprintf");
	send_body(c, k->method, k->name, body);
	free(body);
}

static void
greet(struct client *c)
{
	if (modern) {
		c->step = CALLS;
		send_next(c);
		return;
	}
	c->step = GREET;
	send_body(c, "initialize", NULL, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
	    "\"name\":\"httpbench\",\"version\":\"1\"}}}");
}

static void
dial(struct client *c)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int on = 1;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		bench_die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (c->buf == NULL)
		c->buf = malloc(BUF);
	if (c->buf == NULL)
		bench_die("malloc");
}

/* The value of a field of the head, or NULL. */
static const char *
field(const char *head, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = head; p < end;) {
		p = memmem(p, (size_t)(end - p), "\r\n", 2);
		if (p == NULL)
			break;
		p += 2;
		if ((size_t)(end - p) > n && strncasecmp(p, name, n) == 0 && p[n] == ':')
			return p + n + 1 + strspn(p + n + 1, " ");
	}
	return NULL;
}

/* Bytes of the first whole answer, 0 when it is not here. */
static size_t
whole(const struct client *c, const char **ret_end)
{
	const char *end = memmem(c->buf, c->len, "\r\n\r\n", 4), *v;
	size_t head;

	if (end == NULL)
		return 0;
	head = (size_t)(end - c->buf) + 4;
	*ret_end = end + 2;
	if ((v = field(c->buf, end + 2, "Content-Length")) != NULL)
		return c->len >= head + strtoul(v, NULL, 10) ? head + strtoul(v, NULL, 10) : 0;
	if (field(c->buf, end + 2, "Transfer-Encoding") == NULL)
		return head;		/* without a body */
	for (size_t at = head;;) {	/* chunks */
		const char *nl = memmem(c->buf + at, c->len - at, "\r\n", 2);
		size_t n = nl == NULL ? 0 : strtoul(c->buf + at, NULL, 16);

		if (nl == NULL)
			return 0;
		at = (size_t)(nl - c->buf) + 2 + n + 2;
		if (at > c->len)
			return 0;
		if (n == 0)
			return at;
	}
}

static void
take(struct client *c, size_t n, const char *end)
{
	unsigned status = (unsigned)strtoul(c->buf + 9, NULL, 10);
	const char *v = field(c->buf, end, "Mcp-Session-Id");

	if (c->step == GREET && v != NULL)
		snprintf(c->session, sizeof(c->session), "%.*s", (int)strcspn(v, "\r"), v);
	if (c->step == CALLS) {
		bool bad = status != 200 || memmem(c->buf, n, "\"isError\":true", 14) != NULL ||
		    memmem(end, n - (size_t)(end - c->buf), "\"error\":", 8) != NULL;

		if (bad && errors++ == 0)
			fprintf(stderr, "%.*s\n", (int)(n > 600 ? 600 : n), c->buf);
		if (warmup > 0)
			warmup--;
		else {
			samples_add(&us, (double)(bench_ns() - c->sent_ns) / 1e3);
			done++;
		}
	}
}

static void
step(struct client *c)
{
	if (c->step == GREET) {
		c->step = GREETED;
		send_body(c, "notifications/initialized", NULL,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	} else {
		c->step = CALLS;
		send_next(c);
	}
}

static void
on_readable(struct client *c)
{
	ssize_t r = read(c->fd, c->buf + c->len, BUF - 1 - c->len);
	const char *end;
	size_t n;
	bool closes;

	if (r <= 0) {
		fprintf(stderr, "bench: the server closed a connection\n");
		exit(1);
	}
	c->len += (size_t)r;
	c->buf[c->len] = '\0';
	while ((n = whole(c, &end)) > 0) {
		const char *v = field(c->buf, end, "Connection");

		closes = v != NULL && strncasecmp(v, "close", 5) == 0;
		take(c, n, end);
		memmove(c->buf, c->buf + n, c->len - n);
		c->len -= n;
		if (closes) {
			fprintf(stderr, "bench: a connection does not stay\n");
			exit(1);
		}
		step(c);
	}
}

static void
read_spec(const char *path)
{
	static const char meta[] = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
	    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}";
	FILE *f = fopen(path, "r");
	char *line = NULL, *tab;
	size_t cap = 0;

	if (f == NULL)
		bench_die(path);
	while (getline(&line, &cap, f) > 0 && ncalls < CALLS_MAX) {
		struct call *k = &calls[ncalls];
		const char *name;

		line[strcspn(line, "\n")] = '\0';
		if ((tab = strchr(line, '\t')) == NULL)
			continue;
		*tab++ = '\0';
		k->method = strdup(line);
		name = strstr(tab, "\"name\":\"");
		if (strcmp(line, "tools/call") == 0 && name != NULL)
			k->name = strndup(name + 8, strcspn(name + 8, "\""));
		if (!modern)
			k->params = strdup(tab);
		else if (asprintf(&k->params, "{%s%s%s", meta, tab[1] == '}' ? "" : ",",
		    tab + 1) < 0)
			bench_die("asprintf");
		ncalls++;
	}
	free(line);
	fclose(f);
}

/* Its session ends for the server, too. */
static void
leave(struct client *c)
{
	char head[512];
	ssize_t n;

	close(c->fd);
	if (c->session[0] == '\0')
		return;
	dial(c);
	snprintf(head, sizeof(head), "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s%s%s"
	    "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\nConnection: close\r\n\r\n",
	    port, *token ? "Authorization: Bearer " : "", token, *token ? "\r\n" : "",
	    c->session);
	bench_write_all(c->fd, head, strlen(head));
	while ((n = read(c->fd, c->buf, BUF)) > 0 || (n < 0 && errno == EINTR))
		continue;
	close(c->fd);
}

int
main(int argc, char **argv)
{
	struct epoll_event ev[64];
	uint64_t begin, stop;
	size_t nclients = 1;
	long wanted = 0, seconds = 0;
	int o, ep;

	while ((o = getopt(argc, argv, "p:t:c:n:d:w:m")) != -1) {
		switch (o) {
		case 'p': port = (unsigned)atoi(optarg); break;
		case 't': token = optarg; break;
		case 'c': nclients = (size_t)atoi(optarg); break;
		case 'n': wanted = atol(optarg); break;
		case 'd': seconds = atol(optarg); break;
		case 'w': warmup = atol(optarg); break;
		case 'm': modern = true; break;
		default: return 2;
		}
	}
	if (optind >= argc || nclients < 1 || nclients > CLIENTS_MAX || wanted + seconds == 0)
		return 2;
	read_spec(argv[optind]);
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || ncalls == 0)
		bench_die("epoll, or no calls");
	for (size_t i = 0; i < nclients; i++) {
		struct client *c = &clients[i];

		c->next = i;
		dial(c);
		ev[0] = (struct epoll_event){ .events = EPOLLIN, .data.ptr = c };
		if (epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev[0]) < 0)
			bench_die("epoll_ctl");
		greet(c);
	}
	begin = bench_ns();
	stop = seconds > 0 ? begin + (uint64_t)seconds * 1000000000u : UINT64_MAX;
	while (bench_ns() < stop && (wanted == 0 || done < (size_t)wanted)) {
		int n = epoll_wait(ep, ev, 64, 60000);

		if (n <= 0) {
			fprintf(stderr, "bench: no answer within 60 s\n");
			return 1;
		}
		for (int i = 0; i < n; i++)
			on_readable(ev[i].data.ptr);
		if (done == 0)
			begin = bench_ns();	/* greetings and warm-up do not count */
	}
	double s = (double)(bench_ns() - begin) / 1e9;
	for (size_t i = 0; i < nclients; i++)
		leave(&clients[i]);
	printf("{\"calls\":%zu,\"errors\":%zu,\"seconds\":%.3f,\"per_s\":%.1f,\"p10_us\":%.1f,"
	    "\"median_us\":%.1f,\"p90_us\":%.1f}\n", done, errors, s, (double)done / s,
	    samples_quantile(&us, 0.1), samples_quantile(&us, 0.5), samples_quantile(&us, 0.9));
	return 0;
}
