/* SPDX-License-Identifier: Apache-2.0
 *
 * Build tool: prints the tables as Markdown. `dump PAGE`.
 * No peer is near it; what it prints is checked in under docs/gen and compared by lint. */
#include "proto/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/chan.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "proto/brain.h"
#include "proto/gateway_config.h"
#include "proto/hooks.h"
#include "proto/tools.h"

static const char *const type_names[] = {
	[ATS_FIELD_U64] = "integer", [ATS_FIELD_BOOL] = "boolean", [ATS_FIELD_STR] = "string",
	[ATS_FIELD_RAW] = "JSON", [ATS_FIELD_STRV] = "strings", [ATS_FIELD_ENUM] = "one of",
	[ATS_FIELD_ITEMS] = "objects",
};

void
dump_head(const char *title, const char *source, const char *text)
{
	printf("# %s\n\nPrinted from `%s` by `make docs`; do not edit.\n\n%s\n", title, source,
	    text);
}

static void
print_size(uint64_t n)
{
	if (n == UINT64_MAX)
		printf("-");
	else if (n >= (1u << 20) && n % (1u << 20) == 0)
		printf("%" PRIu64 " MiB", n >> 20);
	else if (n >= 1024 && n % 1024 == 0)
		printf("%" PRIu64 " KiB", n >> 10);
	else
		printf("%" PRIu64, n);
}

void
dump_cell(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '|')
			putchar('\\');
		putchar(*s);
	}
}

static void
print_limit(const struct ats_field *f)
{
	switch (f->type) {
	case ATS_FIELD_U64:
		if (f->min > 0)
			printf("%" PRIu64 " to ", f->min);
		if (f->max == UINT64_MAX)
			printf("2^64-1");
		else
			printf("%" PRIu64, f->max);
		break;
	case ATS_FIELD_STR:
	case ATS_FIELD_RAW:
	case ATS_FIELD_STRV:
		print_size(f->max);
		printf(f->max >= 1024 && f->max % 1024 == 0 ? "" : " bytes");
		break;
	case ATS_FIELD_ITEMS:
		printf("%" PRIu64, f->max);
		break;
	case ATS_FIELD_BOOL:
	case ATS_FIELD_ENUM:
		break;
	}
}

static void
print_fields(const struct ats_shape *s)
{
	size_t i;

	if (s->nfields == 0) {
		printf("\nNo fields.\n");
		return;
	}
	printf("\n| field | type | required | at most | meaning |\n|---|---|---|---|---|\n");
	for (i = 0; i < s->nfields; i++) {
		const struct ats_field *f = &s->fields[i];

		printf("| `%s` | %s | %s | ", f->name, type_names[f->type],
		    f->required ? "yes" : "no");
		print_limit(f);
		printf(" | ");
		dump_cell(f->doc);
		printf(" |\n");
	}
	for (i = 0; i < s->nfields; i++) {
		if (s->fields[i].type != ATS_FIELD_ITEMS)
			continue;
		printf("\nEach of `%s`:\n", s->fields[i].name);
		print_fields(s->fields[i].item);
	}
}

static const char *
from_name(enum ats_from from)
{
	return from == ATS_FROM_BRAIN ? "brain" : from == ATS_FROM_HANDS ? "hands" : "either";
}

static const char *
state_name(enum ats_state s)
{
	return s == ATS_STATE_HELLO ? "before ready" : s == ATS_STATE_READY ? "after ready" : "any";
}

static int
dump_frames(void)
{
	size_t i;

	dump_head("Frames between brain and hands", "proto/frames.def",
	    "A frame is a 20-byte header (see common/frame.h), a JSON object and a payload. Who\n"
	    "may send it, in which state and how large is checked before its JSON is read.");
	printf("\n| frame | type | kind | from | state | JSON | payload |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (i = 0; i < ATS_FRAME_COUNT; i++) {
		const struct ats_frame_row *r = &ats_frame_rows[i];

		printf("| `%s` | %u | %u | %s | %s | ", r->shape.name, r->type, r->kind,
		    from_name(r->from), state_name(r->state));
		print_size(r->max_json);
		printf(" | ");
		print_size(r->max_payload);
		printf(" |\n");
	}
	for (i = 0; i < ATS_FRAME_COUNT; i++) {
		const struct ats_shape *s = &ats_frame_rows[i].shape;

		printf("\n## %s\n\n%s\n", s->name, s->doc);
		print_fields(s);
	}
	return 0;
}

static int
dump_ctx(void)
{
	size_t i;

	dump_head("What travels beside a call and its result", "proto/ctx.def",
	    "The engine holds the truth; what comes from hands is a claim that it checks.");
	for (i = 0; ats_ctx_shapes[i] != NULL; i++) {
		printf("\n## %s\n\n%s\n", ats_ctx_shapes[i]->name, ats_ctx_shapes[i]->doc);
		print_fields(ats_ctx_shapes[i]);
	}
	return 0;
}

static int
dump_hooks(void)
{
	size_t i;

	dump_head("Hooks", "proto/hooks.def",
	    "Events, and what is read of a hook's answer. [HOOKS](../HOOKS.md) says what for.");
	printf("\n| event | matcher looks at | when |\n|---|---|---|\n");
	for (i = 0; i < ATS_HOOK_EVENTS; i++) {
		const struct ats_hook_event_row *r = &ats_hook_event_rows[i];

		printf(r->matched[0] != '\0' ? "| `%s` | `%s` | %s |\n" : "| `%s` | %s | %s |\n",
		    r->name, r->matched, r->doc);
	}
	for (i = 0; ats_hook_shapes[i] != NULL; i++) {
		printf("\n## %s\n\n%s\n", ats_hook_shapes[i]->name, ats_hook_shapes[i]->doc);
		print_fields(ats_hook_shapes[i]);
	}
	return 0;
}

static int
dump_errors(void)
{
	dump_head("Errors", "proto/errors.def",
	    "The wire name is what programs should compare; numbers and names are never reused.");
	printf("\n| number | name | retry | text |\n|---|---|---|---|\n");
#define ATS_ERROR(name, number, wire, retry, text)                                       \
	printf("| %d | `%s` | %s | %s |\n", number, wire, (retry) ? "yes" : "no", text);
#include "proto/errors.def"
#undef ATS_ERROR
	return 0;
}

static int
dump_tools(void)
{
	static const char *const classes[] = { "pure", "checked", "never" };
	static const char *const profiles[] = { "read worker", "write worker", "shell worker",
		"front" };
	const struct ats_tool_alias *a;
	struct ats_buf b;
	size_t i;

	dump_head("Tools", "proto/tools.def",
	    "Retry class: what happens to a call that was running when its sandbox was lost.\n"
	    "`pure` calls are sent again, `checked` ones too (the worker compares hashes and\n"
	    "finds out whether the change was made), `never` ones end as unknown and say so.");
	for (i = 0; i < ATS_TOOL_COUNT; i++) {
		const struct ats_tool_row *t = &ats_tool_rows[i];

		printf("\n## %s\n\n%s\n\nRetry class %s; runs in the %s; ends after %" PRIu64
		       " ms unless told otherwise, %" PRIu64 " ms at most; at most ", t->name,
		    t->doc, classes[t->class], profiles[t->profile], t->timeout_ms,
		    t->timeout_max_ms);
		printf("%" PRIu64 " characters of text.\n", t->max_chars);
		print_fields(&t->input);
		ats_buf_init(&b, 1u << 20);
		if (ats_tool_schema(t, &b) < 0)
			return 1;
		printf("\n```json\n%s\n```\n", b.data);
		ats_buf_done(&b);
	}
	printf("\n## Other names\n\n");
	for (a = ats_tool_aliases; a->name != NULL; a++)
		printf("- `%s` is `%s`\n", a->name, a->target);
	return 0;
}

/* ---- limits ----------------------------------------------------------------------------- */
#define LIMIT(what, value, then) { (what), (value), (then) }
static const struct {
	const char *what;
	uint64_t value;
	const char *then;
} limits[] = {
	LIMIT("frame, whole", ATS_FRAME_MAX, "the link is closed (too_big)"),
	LIMIT("chunk of a stream", ATS_CHAN_CHUNK, "the next stream has its turn"),
	LIMIT("bytes queued on a link", ATS_CHAN_OUT_MAX, "sending fails with table_full"),
	LIMIT("JSON nesting", ATS_JSON_DEPTH, "bad_json"),
	LIMIT("members of a JSON object", ATS_JSON_MAX_KEYS, "bad_json"),
	LIMIT("message between host processes", ATS_IPC_MAX, "the peer is dropped (protocol)"),
	LIMIT("arguments of a call of a gateway's tool", ATS_GATEWAY_ARGS_MAX, "refused (too_big)"),
	LIMIT("gateway in the configuration, without white space", ATS_GW_OBJECT_MAX, "bad_config"),
	LIMIT("tools of a gateway", ATS_GW_TOOLS_MAX, "bad_config; an MCP server with more is "
	    "ended"),
	LIMIT("what is said of one tool", ATS_GW_TOOL_JSON_MAX, "bad_config; of an MCP server "
	    "left out"),
	LIMIT("hooks of a configuration, or of a workspace", ATS_HOOKS_MAX, "bad_config; of a "
	    "workspace left out"),
	LIMIT("hooks of a workspace that run for one event", ATS_HOOKS_MATCHED_MAX,
	    "the others do not run"),
	LIMIT("hooks of the configuration that run at a time", ATS_HOOKS_AT_ONCE, "the next waits"),
	LIMIT("what a hook reads", ATS_HOOK_INPUT_MAX, "the call is refused"),
	LIMIT("standard output of a hook", ATS_HOOK_STDOUT_MAX, "the rest is dropped, and it has "
	    "failed"),
	LIMIT("standard error of a hook", ATS_HOOK_STDERR_MAX, "the rest is dropped"),
	LIMIT("descriptors in one message", ATS_FD_PASS_MAX, "all are closed (protocol)"),
};

static int
dump_limits(void)
{
	size_t i;

	dump_head("Limits", "the tables and common/*.h", "What each is, and what happens at it.");
	printf("\n| limit | value | then |\n|---|---|---|\n");
	for (i = 0; i < ATS_ARRAY_LEN(limits); i++) {
		printf("| %s | ", limits[i].what);
		print_size(limits[i].value);
		printf(" | %s |\n", limits[i].then);
	}
	for (i = 0; i < ATS_FRAME_COUNT; i++) {
		printf("| `%s`: JSON, payload | ", ats_frame_rows[i].shape.name);
		print_size(ats_frame_rows[i].max_json);
		printf(", ");
		print_size(ats_frame_rows[i].max_payload);
		printf(" | the link is closed (too_big) |\n");
	}
	for (i = 0; i < ATS_TOOL_COUNT; i++) {
		printf("| `%s`: text, time | ", ats_tool_rows[i].name);
		printf("%" PRIu64 " characters, %" PRIu64 " s | cut with a marker, ended |\n",
		    ats_tool_rows[i].max_chars, ats_tool_rows[i].timeout_max_ms / 1000);
	}
	dump_tool_limits();
	dump_http_limits();
	dump_settings();
	dump_client_limits();
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*dump)(void);
	} docs[] = {
		{ "frames", dump_frames }, { "tools", dump_tools }, { "errors", dump_errors },
		{ "ctx", dump_ctx }, { "hooks", dump_hooks },
		{ "config", dump_config }, { "limits", dump_limits },
		{ "methods", dump_methods }, { "commands", dump_commands },
		{ "metrics", dump_metrics }, { "log", dump_log },
		{ "events", dump_events }, { "audit", dump_audit },
		{ "audit.schema", dump_audit_schema },
		{ "client.table", dump_client_table },
		{ "ats-brain.json.5", dump_man_config }, { "ats-protocol.7", dump_man_protocol },
	};
	size_t i;

	for (i = 0; argc == 2 && i < ATS_ARRAY_LEN(docs); i++) {
		if (strcmp(argv[1], docs[i].name) == 0)
			return docs[i].dump() != 0 || fflush(stdout) != 0;
	}
	(void)fprintf(stderr, "usage: dump PAGE, a file name of docs/gen without .md, or of "
	    "docs/man\n");
	return 2;
}
