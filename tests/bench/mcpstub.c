/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor of an MCP server on stdio: one process, no confinement, no journal; it opens the
 * "path" of a request, reads it and answers it as JSON text. Requests are mcpbench's. */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/bench/bench.h"

static char *file, *out;
static size_t file_cap, out_cap;

static void *
grow(void *p, size_t *cap, size_t want)
{
	if (want <= *cap)
		return p;
	*cap = want;
	p = realloc(p, want);
	if (p == NULL)
		bench_die("realloc");
	return p;
}

static size_t
escape(char *to, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	char *q = to;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x20 && c != '"' && c != '\\') {
			*q++ = s[i];
			continue;
		}
		*q++ = '\\';
		if (c == '\n' || c == '\t') {
			*q++ = c == '\n' ? 'n' : 't';
		} else if (c >= 0x20) {
			*q++ = s[i];
		} else {
			memcpy(q, "u00", 3);
			q[3] = hex[c >> 4];
			q[4] = hex[c & 15];
			q += 5;
		}
	}
	return (size_t)(q - to);
}

static size_t
read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	struct stat st;
	ssize_t k;

	if (fd < 0 || fstat(fd, &st) < 0)
		bench_die(path);
	file = grow(file, &file_cap, (size_t)st.st_size + 1);
	while ((k = read(fd, file + n, file_cap - n)) > 0)
		n += (size_t)k;
	(void)close(fd);
	return n;
}

static void
answer(char *line)
{
	char *id = strstr(line, "\"id\":"), *path = strstr(line, "\"path\":\""), *end;
	size_t n = 0, len;

	if (id == NULL)
		return;		/* a notification */
	if (path != NULL) {
		path += 8;
		end = strchr(path, '"');
		if (end != NULL)
			*end = '\0';
		n = read_file(path);
	}
	out = grow(out, &out_cap, 6 * n + 256);
	len = (size_t)sprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":["
	    "{\"type\":\"text\",\"text\":\"", atol(id + 5));
	len += escape(out + len, file, n);
	len += (size_t)sprintf(out + len, "\"}]}}\n");
	bench_write_all(1, out, len);
}

int
main(void)
{
	static char in[1 << 17];
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
