/* SPDX-License-Identifier: Apache-2.0
 *
 * Approvals in answers (brain/ctl/mcp_rounds.h), between a client and an engine that send what
 * they like. Input: which allocation of which step fails, then steps: calls, retries with states
 * that were given or changed, what vault and engine tell, and lines of any bytes. Each request of
 * the client is answered once at most; what is decided was shown, by its own digest, and once; a
 * call that was asked about is not the engine's again; what the client gets is strict JSON. */
#include "brain/ctl/mcp_rounds.h"
#include "common/clock.h"
#include "tests/fuzz/fuzz.h"

#define IDS 32u				/* requests of the client; each id once */
#define APPROVALS 8u
#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}},\"progressToken\":%u}"

struct rig {
	struct mcp_rounds rounds;
	struct mcp_lines lines;
	struct ats_buf client, engine;
	unsigned next;			/* id of the client's next request */
	unsigned args[IDS];		/* of its arguments */
	unsigned answered[IDS];		/* how often */
	bool shown[APPROVALS], decided[APPROVALS];
	char state[512];		/* the last that was given, or "" */
	unsigned state_args;
	unsigned fault;			/* in this step */
	bool lost;			/* of memory: the rest is not judged */
};

static unsigned
id_of(struct ats_slice line, const char *key)
{
	struct ats_json_val v;
	uint64_t n;

	return ats_json_get(line, key, &v) && ats_json_to_u64(&v, &n) == 0 && n < IDS ?
	    (unsigned)n : IDS;
}

/* A dialog: which approval it shows stands in its text. */
static void
take_dialog(struct rig *g, struct ats_slice result, unsigned id)
{
	struct ats_json_val state;
	unsigned nr;
	char *text;

	if (!ats_json_member_is(result, "resultType", "input_required"))
		return;
	FUZZ_CHECK(ats_json_get(result, "requestState", &state));
	text = ats_json_dup_str(&state);
	FUZZ_CHECK(text != NULL && strlen(text) < sizeof(g->state));
	FUZZ_CHECK(sscanf(strchr(text, 'a'), "a-%x", &nr) == 1 && nr < APPROVALS);
	(void)strcpy(g->state, text);
	g->state_args = g->args[id];
	g->shown[nr] = true;
	free(text);
}

/* What the client hears. */
static void
hear(struct rig *g)
{
	const char *p = g->client.data, *end = p + g->client.len, *nl;
	struct ats_json_val v;
	struct ats_slice line;
	unsigned id;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		FUZZ_CHECK(nl != NULL);
		line = (struct ats_slice){ p, (size_t)(nl - p) };
		FUZZ_CHECK(ats_json_scan(line.p, line.n, NULL) == 0);
		id = id_of(line, "id");
		if (id == IDS || ats_json_get(line, "method", &v))
			continue;
		FUZZ_CHECK(id < g->next && ++g->answered[id] == 1);
		if (ats_json_get(line, "result", &v))
			take_dialog(g, v.raw, id);
	}
	ats_buf_reset(&g->client);
	ats_buf_reset(&g->engine);
}

static void
take_decision(struct rig *g, const struct round_decision *d)
{
	unsigned nr;
	char sha[ATS_SHA256_HEX];

	if (d->said != ELICIT_APPROVE && d->said != ELICIT_DENY)
		return;
	FUZZ_CHECK(sscanf(d->approval, "a-%x", &nr) == 1 && nr < APPROVALS);
	(void)snprintf(sha, sizeof(sha), "%064x", nr);
	FUZZ_CHECK(g->shown[nr] && !g->decided[nr] && strcmp(d->sha256, sha) == 0);
	g->decided[nr] = true;
	rounds_gone(&g->rounds, d->approval);	/* the vault says so */
}

/* True: the engine gets it. */
static bool
from_client(struct rig *g, const char *line, size_t n)
{
	struct round_decision said;
	int rc;

	ats_fault_alloc(g->fault);
	rc = rounds_from_client(&g->rounds, &g->lines, line, n, &g->client, &g->engine, &said);
	if (rc == 0 && mcp_from_client(&g->lines, line, n) < 0)
		rc = -ATS_E_NOMEM;
	ats_fault_alloc(0);
	if (rc > 0)
		take_decision(g, &said);
	g->lost = g->lost || rc < 0;
	return rc == 0;
}

static void
from_engine(struct rig *g, const char *line, size_t n)
{
	struct ats_slice s = { line, n };
	enum mcp_fate fate = MCP_DROP;
	int rc;

	ats_fault_alloc(g->fault);
	rc = rounds_from_engine(&g->rounds, &g->lines, s, &g->client);
	if (rc == 0)
		fate = mcp_from_engine(&g->lines, s);
	/* Lines that pass are the engine's own, as they are. */
	if (fate == MCP_PASS && ats_json_scan(line, n, NULL) == 0 &&
	    (ats_buf_add(&g->client, line, n) < 0 || ats_buf_add_char(&g->client, '\n') < 0))
		rc = -ATS_E_NOMEM;
	else if (fate == MCP_UNSURE)
		rc = mcp_unsure(s, &g->client);
	ats_fault_alloc(0);
	g->lost = g->lost || rc == -ATS_E_NOMEM;
}

static void
call(struct rig *g, unsigned args, const char *more)
{
	unsigned id = g->next++;
	char line[2048];
	int n;

	g->args[id] = args;
	n = snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"t\",\"arguments\":{\"n\":%u}," META "%s}}", id, args, id, more);
	FUZZ_CHECK(n > 0 && (size_t)n < sizeof(line));
	/* A good state is not the engine's to see, which refuses all: but for want of memory. */
	if (from_client(g, line, (size_t)n) && more[0] != '\0' && g->state[0] != '\0' &&
	    g->fault == 0)
		FUZZ_CHECK(strstr(more, g->state) == NULL || args != g->state_args ||
		    TAILQ_EMPTY(&g->rounds.all));
}

static void
retry(struct rig *g, struct fuzz_in *in)
{
	static const char *const said[] = { "{\"action\":\"accept\",\"content\":{\"decision\":"
		"\"approve\"}}", "{\"action\":\"decline\"}", "{\"action\":\"cancel\"}",
		"{\"action\":\"accept\"}", "{\"action\":\"accept\",\"content\":{\"decision\":"
		"\"deny\"}}", "7", "{}", "{\"action\":\"accept\",\"content\":[]}" };
	uint8_t how = fuzz_byte(in), where = fuzz_byte(in);
	char more[1024], state[sizeof(g->state)];
	size_t n = strlen(g->state);

	(void)strcpy(state, g->state);
	if ((how & 0x08) != 0 && n > 0)		/* hex digits and points stay what they are */
		state[where % n] = state[where % n] == '1' ? '2' : '1';
	(void)snprintf(more, sizeof(more), ",\"requestState\":\"%s\",\"inputResponses\":"
	    "{\"approval\":%s}", state, said[how % 8]);
	call(g, (how & 0x10) != 0 ? g->state_args + 1 : g->state_args, more);
}

static void
tell_approval(struct rig *g, unsigned nr)
{
	struct approval a;
	char text[32];

	if (g->decided[nr])
		return;
	approval_init(&a);
	(void)snprintf(a.id, sizeof(a.id), "a-%012x", nr);
	(void)snprintf(a.tool, sizeof(a.tool), "t");
	(void)snprintf(a.sha256, sizeof(a.sha256), "%064x", nr);
	(void)snprintf(text, sizeof(text), "{\"n\":%u}", nr);
	a.expires_ms = (uint64_t)ats_clock_wall_ms() + 3600000;
	FUZZ_CHECK(ats_buf_add_str(&a.args, text) == 0);
	ats_fault_alloc(g->fault);
	if (rounds_approval(&g->rounds, &a, &g->client) < 0)
		g->lost = true;
	ats_fault_alloc(0);
	approval_done(&a);
}

static void
any_line(struct rig *g, struct fuzz_in *in, bool client)
{
	struct ats_slice s = fuzz_bytes(in, fuzz_byte(in));
	char *line = fuzz_copy(s);

	/* Only ids that were given out are judged: a line may not make up others. */
	if (memchr(line, '\n', s.n) == NULL && memmem(line, s.n, "\"id\"", 4) == NULL &&
	    memmem(line, s.n, "\\", 1) == NULL) {
		if (client)
			(void)from_client(g, line, s.n);
		else
			from_engine(g, line, s.n);
	}
	free(line);
}

static void
step(struct rig *g, struct fuzz_in *in)
{
	uint8_t op = fuzz_byte(in), arg = fuzz_byte(in);
	unsigned id = arg % IDS, nr = arg / IDS % APPROVALS;
	char text[256];

	switch (op % 10) {
	case 0:
		call(g, arg, "");
		break;
	case 1:
		retry(g, in);
		break;
	case 2:
		(void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"method\":"
		    "\"ats/call.waits\",\"params\":{\"requestId\":%u,\"approval\":"
		    "\"a-%012x\"}}", id, nr);
		from_engine(g, text, strlen(text));
		break;
	case 3:
		tell_approval(g, arg % APPROVALS);
		break;
	case 4:
		(void)snprintf(text, sizeof(text), "a-%012x", arg % APPROVALS);
		rounds_gone(&g->rounds, text);
		break;
	case 5:
		(void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":"
		    "{\"n\":%u}}", id, nr);
		from_engine(g, text, strlen(text));
		break;
	case 6:
		(void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"method\":"
		    "\"notifications/progress\",\"params\":{\"progressToken\":%u,"
		    "\"progress\":%u}}", id, nr);
		from_engine(g, text, strlen(text));
		break;
	case 7:
		(void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"method\":"
		    "\"notifications/cancelled\",\"params\":{\"requestId\":%u}}", id);
		(void)from_client(g, text, strlen(text));
		break;
	default:
		any_line(g, in, op % 10 == 8);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), at = fault % 8, nr = 0;
	struct rig g = { .next = 0 };

	FUZZ_CHECK(rounds_init(&g.rounds) == 0);
	mcp_lines_init(&g.lines);
	ats_buf_init(&g.client, 1u << 20);
	ats_buf_init(&g.engine, 1u << 20);
	g.rounds.watches = true;
	for (; in.n > 0 && g.next < IDS && !g.lost; nr++) {
		g.fault = nr == at ? fault / 8 : 0;
		step(&g, &in);
		if (!g.lost)
			hear(&g);
	}
	rounds_done(&g.rounds);
	mcp_lines_done(&g.lines);
	ats_buf_done(&g.client);
	ats_buf_done(&g.engine);
	return 0;
}
