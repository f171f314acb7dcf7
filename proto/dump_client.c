/* SPDX-License-Identifier: Apache-2.0
 *
 * Build tool, third part: what the client libraries know of the tables. */
#include "proto/dump.h"

#include <stdio.h>

#include "proto/tools.h"

void
dump_client_limits(void)
{
	printf("\n## Client libraries\n\nA session of libats, or of the npm package.\n\n"
	       "| limit | value | what is bounded, and what happens |\n|---|---|---|\n");
#define CLIENT_LIMIT(name, value, doc)                                                   \
	printf("| `%s` | %d | ", #name, (value));                                        \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "brain/client/limits.def"
#undef CLIENT_LIMIT
}

static void
print_tool(const struct ats_tool_row *row)
{
	printf("  ['%s', ", row->name);
	for (size_t i = 0; i < row->input.nfields; i++) {
		if (row->input.fields[i].role == ATS_ROLE_FILE) {
			printf("{ file: '%s' }],\n", row->input.fields[i].name);
			return;
		}
	}
	printf("{ file: null }],\n");
}

int
dump_client_table(void)
{
	printf("// SPDX-License-Identifier: Apache-2.0\n//\n"
	       "// Printed from proto/tools.def and brain/client/limits.def by make docs; "
	       "do not edit.\n"
	       "\n/** Tools of the sandbox; file: the parameter that names a file. */\n"
	       "export const tools = new Map([\n");
	for (size_t i = 0; i < ATS_TOOL_COUNT; i++)
		print_tool(&ats_tool_rows[i]);
	printf("]);\n\n/** Other names of tools. */\nexport const aliases = new Map([\n");
	for (const struct ats_tool_alias *a = ats_tool_aliases; a->name != NULL; a++)
		printf("  ['%s', '%s'],\n", a->name, a->target);
	printf("]);\n\nexport const limits = {\n");
#define CLIENT_LIMIT(name, value, doc) printf("  %s: %d,\n", #name, (value));
#include "brain/client/limits.def"
#undef CLIENT_LIMIT
	printf("};\n");
	return 0;
}
