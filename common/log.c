/* SPDX-License-Identifier: Apache-2.0
 *
 * logfmt lines, one write(2) each. Linked into every process; quotes what peers say, so
 * that a line of the log is always one line of ours. To the journal each says its priority. */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/logfmt.h"

#define LINE_MAX_BYTES 2048
#define JOURNAL_STREAM "JOURNAL_STREAM"
#define ENV_MAX 8

static const char *log_proc = "ats";
static enum ats_log_level log_level = ATS_LOG_INFO;
static int log_fd = STDERR_FILENO;
static bool log_to_journal;

static const char *const level_names[] = {
	[ATS_LOG_ERROR] = "error",
	[ATS_LOG_WARN] = "warn",
	[ATS_LOG_INFO] = "info",
	[ATS_LOG_DEBUG] = "debug",
};

/* Of sd-daemon(3), by level: err, warning, info, debug. */
static const char *const level_marks[] = {
	[ATS_LOG_ERROR] = "<3>",
	[ATS_LOG_WARN] = "<4>",
	[ATS_LOG_INFO] = "<6>",
	[ATS_LOG_DEBUG] = "<7>",
};

/* systemd.exec(5): the variable names device and inode of what the journal reads. It outlives
 * redirections, so that it alone says nothing. */
static bool
is_journal(int fd)
{
	const char *named = getenv(JOURNAL_STREAM);
	char is[64];
	struct stat st;

	if (named == NULL || fstat(fd, &st) < 0)
		return false;
	(void)snprintf(is, sizeof(is), "%llu:%llu", (unsigned long long)st.st_dev,
	    (unsigned long long)st.st_ino);
	return strcmp(named, is) == 0;
}

void
ats_log_init(const char *proc, enum ats_log_level level, int fd)
{
	log_proc = proc;
	log_level = level;
	log_fd = fd;
	log_to_journal = is_journal(fd);
	ats_fault_process(proc);
}

const char *
ats_log_mark(enum ats_log_level level)
{
	return is_journal(STDERR_FILENO) ? level_marks[level] : "";
}

const char *const *
ats_log_env(void)
{
	static const char *env[ENV_MAX + 1];
	static char stream[sizeof(JOURNAL_STREAM) + 64];
	size_t n = 0;

	if (log_to_journal) {
		(void)snprintf(stream, sizeof(stream), JOURNAL_STREAM "=%s",
		    getenv(JOURNAL_STREAM));
		env[n++] = stream;
	}
	for (const char *const *e = ats_fault_env(); *e != NULL && n < ENV_MAX; e++)
		env[n++] = *e;
	env[n] = NULL;
	return env;
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
	n = clamp(snprintf(line, sizeof(line), "%sts=%lld.%03lld level=%s proc=%s msg=%s",
		      log_to_journal ? level_marks[level] : "", (long long)(now / 1000),
		      (long long)(now % 1000), level_names[level], log_proc, quoted),
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
