/* SPDX-License-Identifier: Apache-2.0
 *
 * logfmt lines, one write(2) each. Linked into every process; quotes what peers say, so
 * that a line of the log is always one line of ours. */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/logfmt.h"

#define LINE_MAX_BYTES 2048

static const char *log_proc = "ats";
static enum ats_log_level log_level = ATS_LOG_INFO;
static int log_fd = STDERR_FILENO;

static const char *const level_names[] = {
	[ATS_LOG_ERROR] = "error",
	[ATS_LOG_WARN] = "warn",
	[ATS_LOG_INFO] = "info",
	[ATS_LOG_DEBUG] = "debug",
};

void
ats_log_init(const char *proc, enum ats_log_level level, int fd)
{
	log_proc = proc;
	log_level = level;
	log_fd = fd;
	ats_fault_process(proc);
}

void
ats_log_level_set(enum ats_log_level level)
{
	log_level = level;
}

int
ats_log_level_parse(const char *name, enum ats_log_level *ret_level)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret_level = (enum ats_log_level)i;
			return 0;
		}
	}
	return -ATS_E_INVAL;
}

const char *
ats_log_quote(char *out, size_t size, const char *s, size_t n)
{
	(void)ats_logfmt_quote(out, size, s, n);
	return out;
}

static size_t
clamp(int n, size_t room)
{
	if (n < 0)
		return 0;
	return (size_t)n < room ? (size_t)n : room - 1;
}

void
ats_log(enum ats_log_level level, const char *msg, const char *fields, ...)
{
	int saved = errno;
	char line[LINE_MAX_BYTES], quoted[512];
	int64_t now;
	size_t n, added;
	va_list ap;

	if (level > log_level)
		return;
	now = ats_clock_wall_ms();
	(void)ats_logfmt_quote(quoted, sizeof(quoted), msg, strlen(msg));
	n = clamp(snprintf(line, sizeof(line), "ts=%lld.%03lld level=%s proc=%s msg=%s",
		      (long long)(now / 1000), (long long)(now % 1000),
		      level_names[level], log_proc, quoted),
	    sizeof(line));
	if (fields != NULL && n + 2 < sizeof(line)) {
		line[n] = ' ';
		va_start(ap, fields);
		added = ats_logfmt_fields(line + n + 1, sizeof(line) - n - 2, fields, ap);
		va_end(ap);
		n += added > 0 ? added + 1 : 0;
	}
	line[n++] = '\n';
	while (write(log_fd, line, n) < 0 && errno == EINTR)
		continue;
	errno = saved;
}

void
ats_fatal(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ats_log(ATS_LOG_ERROR, text, NULL);
	exit(1);
}
