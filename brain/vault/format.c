/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of the state directory's format, in STATE/format: a version that does not know it must
 * neither misread nor overwrite what is there. Runs in ats-brain's main; the directory is ours. */
#include "brain/vault/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/path.h"

#define FILE_MAX 32

/* Absent is 1: there was no other before the file was. */
static void
write_ours(const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	int fd ATS_CLEANUP_FD = open(path, flags, 0600);
	char text[FILE_MAX];
	int n = snprintf(text, sizeof(text), "%d\n", STATE_FORMAT);

	if (fd < 0 || ats_fd_write_all(fd, text, (size_t)n) == 0)
		return;
	ats_log(ATS_LOG_WARN, "cannot write the format of the state", "path=%s", path);
	(void)unlink(path);
}

int
format_check(const char *dir, struct ats_err *err)
{
	char path[ATS_PATH_MAX + 16], *text = NULL, *end;
	struct ats_err why = { 0 };
	long format;
	size_t n;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/format", dir);
	rc = ats_fd_slurp(AT_FDCWD, path, FILE_MAX, &text, &n, &why);
	if (rc == -ATS_E_NOENT) {
		write_ours(path);
		return 0;
	}
	if (rc < 0)
		return ats_err_set(err, why.code, "%s", why.text);
	format = strtol(text, &end, 10);
	if (end == text || strcmp(end, "\n") != 0 || format < 1)
		rc = ats_err_set(err, ATS_E_INVAL, "%s: not a number; if nothing else is wrong "
		    "with the directory, remove this file", path);
	else if (format > STATE_FORMAT)
		rc = ats_err_set(err, ATS_E_VERSION, "%s is of a newer agent-tool-server "
		    "(format %ld, we know %d): install that, or take another directory "
		    "(--state, XDG_STATE_HOME)", dir, format, STATE_FORMAT);
	free(text);
	return rc < 0 ? rc : 0;
}
