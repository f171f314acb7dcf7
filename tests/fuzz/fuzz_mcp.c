/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods of MCP at the engine's door, of both eras on one connection. Input: steps, each a
 * request put together of good and bad parts, a cancellation, a change of the list of tools, or a
 * line of any bytes. Each request has one answer, by its id, or is an acknowledged subscription;
 * a result says its type exactly when the request was one of 2026-07-28, whole; a revision that is
 * not served is -32022; a change is told once to each open subscription that wants it. */
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/engine/client.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/mcp.h"
#include "brain/engine/mcp_list.h"
#include "brain/engine/mcp_listen.h"
#include "brain/engine/rpc.h"
#include "tests/fuzz/fuzz.h"

#define KEY "\"io.modelcontextprotocol/"
#define LISTENS 3u

static const char *const methods[] = { "initialize", "ping", "server/discover",
	"subscriptions/listen", "tools/list", "tools/call", "no/such",
	"notifications/initialized" };
enum { INITIALIZE, PING, DISCOVER, LISTEN, LIST, CALL, NONE, READY };
/* The first of each is good, the last is nothing. */
static const char *const versions[] = { KEY "protocolVersion\":\"2026-07-28\",",
	KEY "protocolVersion\":\"2025-11-25\",", KEY "protocolVersion\":7,", "" };
static const char *const capabilities[] = { KEY "clientCapabilities\":{},",
	KEY "clientCapabilities\":{\"elicitation\":{}},", KEY "clientCapabilities\":[],", "" };
static const char *const infos[] = { KEY "clientInfo\":{\"name\":\"a\",\"version\":\"1\"},",
	KEY "clientInfo\":{\"name\":\"a\"},", KEY "clientInfo\":\"a\",", "" };
static const char *const params[] = { "\"notifications\":{\"toolsListChanged\":true},",
	"\"notifications\":{\"promptsListChanged\":true,\"resourceSubscriptions\":[\"a\"]},",
	"\"notifications\":{\"toolsListChanged\":1},",
	"\"notifications\":{\"resourceSubscriptions\":[1]},",
	"\"name\":\"Read\",\"requestState\":\"x\",", "\"name\":\"Read\",\"arguments\":{},",
	"\"protocolVersion\":\"2025-06-18\",", "" };

struct rig {
	struct engine e;
	struct client *c;
	bool open[8], tools[8];		/* subscriptions, by id */
};

static void
start(struct rig *g)
{
	int pair[2], listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(g, 0, sizeof(*g));
	FUZZ_CHECK(settings_parse(&g->e.set, "", NULL) == 0);
	g->e.set.client_listens_max = LISTENS;
	g->e.base = event_base_new();
	FUZZ_CHECK(g->e.base != NULL && listening >= 0);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	(void)close(pair[1]);
	g->e.gateways = gateways_new(&g->e);
	g->e.lists = mcp_lists_new(&g->e);
	g->e.door = door_new(&g->e, listening);
	g->c = client_new(&g->e, pair[0], 0, 1);
	FUZZ_CHECK(g->e.gateways != NULL && g->e.lists != NULL && g->e.door != NULL &&
	    g->c != NULL);
}

static void
stop(struct rig *g)
{
	ats_buf_reset(&g->c->out);
	door_free(g->e.door);
	client_free(g->c);
	mcp_lists_free(g->e.lists);
	gateways_free(g->e.gateways);
	event_base_free(g->e.base);
}

/* The one line that the client is to get, which is taken away; it may have none. */
static bool
one_line(struct rig *g, struct ats_buf *ret)
{
	struct ats_buf *out = &g->c->out;

	FUZZ_CHECK(!g->c->dead);
	if (out->len == 0)
		return false;
	FUZZ_CHECK(memchr(out->data, '\n', out->len) == out->data + out->len - 1);
	FUZZ_CHECK(ats_json_scan(out->data, out->len - 1, NULL) == 0);
	ats_buf_reset(ret);
	FUZZ_CHECK(ats_buf_add(ret, out->data, out->len - 1) == 0);
	ats_buf_reset(out);
	return true;
}

static int64_t
error_code(struct ats_slice line)
{
	struct ats_json_val error, code;
	int64_t n = 0;

	if (ats_json_get(line, "error", &error) && ats_json_get(error.raw, "code", &code))
		FUZZ_CHECK(ats_json_to_i64(&code, &n) == 0 && n != 0);
	return n;
}

static bool
has_id(struct ats_slice line, unsigned id)
{
	struct ats_json_val v;
	uint64_t n;

	return ats_json_get(line, "id", &v) && ats_json_to_u64(&v, &n) == 0 && n == id;
}

/* One request of these parts, and whether its answer is one that it may have. */
static void
request(struct rig *g, uint8_t which, uint8_t meta, uint8_t more, struct ats_buf *got)
{
	unsigned method = which % 8, id = which / 8 % 8, p = more % 8;
	unsigned v = meta % 4, k = meta / 4 % 4, i = meta / 16 % 4;
	bool claims = v != 3 || k != 3 || i != 3 || method == DISCOVER || method == LISTEN;
	bool whole = v == 0 && k < 2 && (i == 0 || i == 3), result;
	struct ats_json_val r, type;
	struct ats_slice line;
	char text[1024];
	int n;

	n = snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\","
	    "\"params\":{%s\"_meta\":{%s%s%s\"x\":1}}}", id, methods[method], params[p],
	    versions[v], capabilities[k], infos[i]);
	FUZZ_CHECK(n > 0 && (size_t)n < sizeof(text));
	rpc_line(g->c, (struct ats_slice){ text, (size_t)n });
	FUZZ_CHECK(one_line(g, got));
	line = (struct ats_slice){ got->data, got->len };
	if (ats_json_get(line, "method", &r)) {
		FUZZ_CHECK(method == LISTEN && whole && p < 2 && !g->open[id]);
		g->open[id] = true;
		g->tools[id] = p == 0;
		return;
	}
	FUZZ_CHECK(has_id(line, id));
	result = ats_json_get(line, "result", &r);
	FUZZ_CHECK(result == (error_code(line) == 0));
	claims = claims && method != INITIALIZE;	/* which may name any, and is legacy then */
	if (result)
		FUZZ_CHECK((whole || !claims) &&
		    ats_json_get(r.raw, "resultType", &type) == claims);
	if (claims && v == 1 && method != READY)
		FUZZ_CHECK(error_code(line) == -32022);
	if (claims && !whole && v != 1 && method != READY)
		FUZZ_CHECK(error_code(line) == -32602);
	if (whole && (method == INITIALIZE || method == PING || method == NONE))
		FUZZ_CHECK(error_code(line) == -32601);
	if (g->open[id] && whole && method >= LISTEN && method <= CALL)
		FUZZ_CHECK(error_code(line) == -32600);
}

static void
change(struct rig *g)
{
	const char *p;
	unsigned want = g->c->initialised, got = 0;

	for (unsigned id = 0; id < 8; id++)
		want += g->open[id] && g->tools[id];
	mcp_list_changed(g->c);
	FUZZ_CHECK(!g->c->dead);
	for (p = g->c->out.data; got < want; got++) {
		const char *nl = memchr(p, '\n', g->c->out.len - (size_t)(p - g->c->out.data));

		FUZZ_CHECK(nl != NULL && ats_json_scan(p, (size_t)(nl - p), NULL) == 0);
		p = nl + 1;
	}
	FUZZ_CHECK(want == 0 ? g->c->out.len == 0 : p == g->c->out.data + g->c->out.len);
	ats_buf_reset(&g->c->out);
}

static void
note(struct rig *g, const char *method, unsigned id)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":"
	    "{\"requestId\":%u}}", method, id);

	rpc_line(g->c, (struct ats_slice){ text, (size_t)n });
	FUZZ_CHECK(g->c->out.len == 0 && !g->c->dead);
}

/* Not one of ours: these want more than there is here; and no ids, which nobody counts. */
static void
any_line(struct rig *g, struct fuzz_in *in)
{
	struct ats_slice s = fuzz_bytes(in, fuzz_byte(in));
	char *line = fuzz_copy(s);

	if (memmem(line, s.n, "ats/", 4) == NULL && memchr(line, '\\', s.n) == NULL &&
	    memchr(line, '\n', s.n) == NULL && memmem(line, s.n, "\"id\"", 4) == NULL)
		rpc_line(g->c, (struct ats_slice){ line, s.n });
	FUZZ_CHECK(!g->c->dead);
	ats_buf_reset(&g->c->out);
	free(line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct ats_buf got;
	struct rig g;

	start(&g);
	ats_buf_init(&got, 1u << 20);
	for (unsigned n = 0; in.n > 0 && n < 64; n++) {
		uint8_t op = fuzz_byte(&in), arg = fuzz_byte(&in), more = fuzz_byte(&in);

		if (op % 8 < 4) {
			request(&g, arg, more, fuzz_byte(&in), &got);
		} else if (op % 8 == 4) {
			note(&g, "notifications/cancelled", arg % 8);
			g.open[arg % 8] = false;
		} else if (op % 8 == 5) {
			note(&g, methods[READY], 0);
		} else if (op % 8 == 6) {
			change(&g);
		} else {
			any_line(&g, &in);
		}
	}
	ats_buf_done(&got);
	stop(&g);
	return 0;
}
