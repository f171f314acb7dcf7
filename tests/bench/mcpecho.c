/* SPDX-License-Identifier: Apache-2.0
 *
 * An MCP server with one tool that gives back at once what it was called with: what is behind a
 * gateway, when the way there is measured. Takes requests as our own programs write them. */
#include "tests/bench/bench.h"

#define TOOL                                                                             \
	"{\"name\":\"echo\",\"description\":\"Gives back its text.\",\"inputSchema\":"        \
	"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"             \
	"\"required\":[\"text\"]},"                                                        \
	"\"annotations\":{\"readOnlyHint\":true}}"

static char out[1 << 17];

static void
answer(const char *line)
{
	const char *id = strstr(line, "\"id\":"), *text = strstr(line, "\"text\":\""), *end;
	int id_n, n;

	if (id == NULL)
		return;		/* a notification */
	id += 5;
	id_n = (int)strcspn(id, ",}");
	if (strstr(line, "\"initialize\"") != NULL) {
		n = sprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":"
		    "\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"
		    "{\"name\":\"echo\",\"version\":\"1\"}}}\n", id_n, id);
	} else if (strstr(line, "\"tools/list\"") != NULL) {
		n = sprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tools\":[" TOOL
		    "]}}\n", id_n, id);
	} else {
		text = text == NULL ? "\"" : text + 8;
		end = strchr(text, '"');
		n = sprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{"
		    "\"type\":\"text\",\"text\":\"%.*s\"}]}}\n", id_n, id,
		    end == NULL ? 0 : (int)(end - text), text);
	}
	bench_write_all(1, out, (size_t)n);
}

int
main(void)
{
	static char in[1 << 16];
	size_t n = 0;
	ssize_t k;

	while ((k = read(0, in + n, sizeof(in) - 1 - n)) > 0) {
		char *at = in, *nl;

		n += (size_t)k;
		in[n] = '\0';
		while ((nl = memchr(at, '\n', n - (size_t)(at - in))) != NULL) {
			*nl = '\0';
			answer(at);
			at = nl + 1;
		}
		n -= (size_t)(at - in);
		memmove(in, at, n);
	}
	return 0;
}
