/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandbox's hands, or the program that leads to one, has logged. Runs in the engine; the
 * text is theirs. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/sandbox.h"
#include "common/fd.h"
#include "common/log.h"

#define LAST_WORDS_TAIL 1024

void
sandbox_last_words(const struct sandbox *box, char *out, size_t size)
{
	static const char mark[] = "ats-brain: the command is started";
	char text[LAST_WORDS_TAIL + 1];
	char *line;
	size_t n = sandbox_log_tail(box, text, LAST_WORDS_TAIL);

	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		n--;
	text[n] = '\0';
	line = memrchr(text, '\n', n);
	line = line == NULL ? text : line + 1;
	out[0] = '\0';
	if (line[0] != '\0' && strcmp(line, mark) != 0)
		(void)ats_log_quote(out, size, line, strlen(line));
}

size_t
sandbox_log_tail(const struct sandbox *box, char *out, size_t size)
{
	char path[ATS_PATH_MAX + 96];
	struct stat st;
	ssize_t n = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s/hands.log", box->e->boxes_dir, box->id);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, out, size,
		    st.st_size > (off_t)size ? st.st_size - (off_t)size : 0);
	ats_fd_close(&fd);
	return n > 0 ? (size_t)n : 0;
}
