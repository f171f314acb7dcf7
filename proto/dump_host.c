/* SPDX-License-Identifier: Apache-2.0
 *
 * Build tool, second part: the tables of the host side (configuration, methods of the door,
 * commands of atsctl, settings of the engine). */
#include "proto/dump.h"

#include <stdint.h>
#include <stdio.h>

/* NULL: those of MCP. */
static void
dump_params(const char *params)
{
	if (params == NULL)
		printf("of MCP | ");
	else if (params[0] == '\0')
		printf("| ");
	else
		printf("`%s` | ", params);
}

int
dump_methods(void)
{
	dump_head("Methods of the door", "brain/engine/methods.def",
	    "JSON-RPC 2.0, one object a line, on brain.sock and through `atsctl mcp`. Requests\n"
	    "may be pipelined; answers come in any order. Our own errors have code -32000\n"
	    "(-32603 to requests of MCP from 2026-07-28 on) and `data.code`, a name of errors.md.\n"
	    "Parameters with a ? may be left out; one that is not here is refused.");
	printf("\n| method | kind | parameters | meaning |\n|---|---|---|---|\n");
#define METHOD(name, function, kind, params, doc)                                        \
	printf("| `%s` | %s | ", name, #kind[0] == 'R' ? "request" : "notification");    \
	dump_params(params);                                                             \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#define MCP(name, function, kind, era, doc) METHOD(name, function, kind, NULL, doc)
#include "brain/engine/methods.def"
#undef METHOD
#undef MCP
	return 0;
}

int
dump_commands(void)
{
	dump_head("Commands of atsctl", "brain/ctl/commands.def",
	    "`atsctl [--socket PATH] [--json] [--no-start] COMMAND`.");
	printf("\n| command | meaning |\n|---|---|\n");
#define COMMAND(ident, name, wrong_usage, least, most, usage, doc)                       \
	printf("| `%s", name);                                                           \
	printf(usage[0] != '\0' ? " " : "");                                             \
	dump_cell(usage);                                                                \
	printf("` | ");                                                                  \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "brain/ctl/commands.def"
#undef COMMAND
	return 0;
}

void
dump_settings(void)
{
	printf("\n## Settings of the engine\n\nFrom `brain/engine/settings.def`.\n\n"
	       "| setting | default | from | to | meaning |\n|---|---|---|---|---|\n");
#define SETTING(name, def, min, max, doc)                                                \
	printf("| `%s` | %llu | %llu | %llu | %s |\n", #name, (unsigned long long)(def), \
	    (unsigned long long)(min), (unsigned long long)(max), doc);
#include "brain/engine/settings.def"
#undef SETTING
}

void
dump_tool_limits(void)
{
	printf("\n## Limits of what tools run\n\nFrom `proto/limits.def`. Keys `sandbox.NAME` of "
	       "brain.json, `--option NAME=NUMBER` of ats-hands; 0 or nothing\ntakes the column "
	       "that `sandbox.limits` names. What enforces them on a machine is in the report\n"
	       "of the confinement (`limits`, and the gaps memory-sum, disk-sum and pid-max).\n\n"
	       "| limit | whose | counts | default | check | from | to | then |\n"
	       "|---|---|---|---|---|---|---|---|\n");
#define LIMIT(name, normal, check, least, most, whose, what, then)                       \
	printf("| `%s` | %s | %s | %llu | %llu | %llu | %llu | %s |\n", #name, whose, what, \
	    (unsigned long long)(normal), (unsigned long long)(check),                   \
	    (unsigned long long)(least), (unsigned long long)(most), then);
#include "proto/limits.def"
#undef LIMIT
}

void
dump_http_limits(void)
{
	printf("\n## Limits of ats-http\n\nFrom `brain/http/limits.def`.\n\n"
	       "| limit | counts | value | then |\n|---|---|---|---|\n");
#define LIMIT(name, value, what, then)                                                   \
	printf("| `%s` | %s | %llu | %s |\n", #name, what, (unsigned long long)(value), then);
#include "brain/http/limits.def"
#undef LIMIT
}

int
dump_audit(void)
{
	dump_head("Audit log", "proto/audit.def",
	    "`STATE/vault/audit.jsonl` (and `.1` to `.4`, the newest first): one JSON object a "
	    "line for\n"
	    "each decision about a call of a gateway's tool or about one that a person is asked "
	    "for, and\n"
	    "for its end. `proto/schema/audit.json` is the same as a JSON Schema; `atsctl audit` "
	    "reads it.");
	printf("\n| field | type | meaning |\n|---|---|---|\n");
#define AUDIT(member, wire, type, doc)                                                   \
	printf("| `%s` | %s | ", wire, #type[0] == 'U' || #type[0] == 'N' ? "integer" :        \
	    #type[0] == 'R' ? "JSON" : "string");                                        \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "proto/audit.def"
#undef AUDIT
	return 0;
}

/* Docs hold no quote and no backslash, or this is no JSON: a test reads it. */
int
dump_audit_schema(void)
{
	const char *comma = "";

	printf("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	       "  \"$id\": \"audit.json\",\n  \"title\": \"A line of the audit log\",\n"
	       "  \"type\": \"object\",\n  \"additionalProperties\": false,\n"
	       "  \"required\": [\"time\", \"event\", \"uid\"],\n  \"properties\": {");
#define AUDIT(member, wire, type, doc)                                                   \
	printf("%s\n    \"%s\": { \"type\": \"%s\", \"description\": \"%s\" }", comma, wire,      \
	    #type[0] == 'U' || #type[0] == 'N' ? "integer" :                               \
	    #type[0] == 'R' ? "object" : "string", doc);                                 \
	comma = ",";
#include "proto/audit.def"
#undef AUDIT
	printf("\n  }\n}\n");
	return 0;
}

static void
config_range(const char *type, uint64_t def, uint64_t min, uint64_t max, const char *text)
{
	switch (type[0]) {
	case 'U':
		printf("integer, %llu to %llu | %llu", (unsigned long long)min,
		    (unsigned long long)max, (unsigned long long)def);
		break;
	case 'B':
		printf("true or false | %s", def != 0 ? "true" : "false");
		break;
	case 'A':
		printf("object of arrays of strings | none");
		break;
	case 'E':
		printf("object of strings | none");
		break;
	case 'J':
		printf("object | none");
		break;
	default:
		printf("%s | ", type[3] == 'V' ? "array of strings" : "string");
		if (text != NULL && text[0] != '\0')
			printf("`%s`", text);
		else
			printf("none");
		break;
	}
}

int
dump_config(void)
{
	dump_head("Configuration", "brain/config.def",
	    "`brain.json` in the configuration directory: JSON, comments are allowed. A dot in a\n"
	    "key stands for an object: `sandbox.env` is `{\"sandbox\": {\"env\": ...}}`. A key\n"
	    "that is not here is an error. `atsctl config check` reads it as brain would.\n"
	    "A brain that runs keeps what it read when it started: `atsctl shutdown`, and the\n"
	    "next command starts one that reads the new file.");
	printf("\n| key | value | default | meaning |\n|---|---|---|---|\n");
#define CONF(key, member, type, def, min, max, text, who, wire, doc)                     \
	printf("| `%s` | ", key);                                                        \
	config_range(#type, (def), (min), (max), (text));                                \
	printf(" | ");                                                                   \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "brain/config.def"
#undef CONF
	return 0;
}
