/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs ats-hands --probe and ats-brain -n. Process: atsctl. */
#include "brain/ctl/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "common/child.h"
#include "common/clock.h"

#define READ_BYTES 16384u
#define CONFIG_MS 10000u

static int
read_all(int fd, unsigned timeout_ms, struct ats_buf *out, const char *name,
    struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + timeout_ms, now;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	char *to;
	int rc;

	while ((now = ats_clock_ms()) < end) {
		if (poll(&p, 1, (int)(end - now)) <= 0)
			continue;
		rc = ats_buf_reserve(out, READ_BYTES, &to);
		if (rc < 0)
			return ats_err_set(err, -rc, "%s printed too much", name);
		n = ats_fd_read(fd, to, READ_BYTES);
		if (n < 0)
			return ats_err_sys(err, "%s", name);
		if (n == 0)
			return 0;
		ats_buf_commit(out, (size_t)n);
	}
	return ats_err_set(err, ATS_E_TIMEOUT, "%s did not end in %u s", name,
	    timeout_ms / 1000);
}

int
run_program(const char *const *argv, int fd, unsigned timeout_ms, struct ats_buf *out,
    int *ret_status, struct ats_err *err)
{
	int ATS_CLEANUP_FD r = -1, ATS_CLEANUP_FD w = -1;
	char path[ATS_PATH_MAX];
	int ends[2], status, rc;
	pid_t pid;

	rc = brain_program(argv[0], path, err);
	if (rc < 0)
		return rc;
	if (ats_fd_pipe(ends, 0) < 0)
		return ats_err_sys(err, "pipe");
	r = ends[0];
	w = ends[1];
	const struct ats_child_fd fds[] = { { w, fd } };
	const struct ats_child child = { .path = path, .exec_fd = -1, .argv = argv,
		.env = brain_environment(), .fds = fds, .nfds = 1,
		.death_signal = SIGKILL };
	rc = ats_child_start(&child, &pid, NULL, err);
	if (rc < 0)
		return rc;
	ats_fd_close(&w);
	rc = read_all(r, timeout_ms, out, argv[0], err);
	if (rc < 0)
		(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return rc < 0 ? rc : ats_err_sys(err, "%s", argv[0]);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return rc;
}

/* The reason out of "... msg="REASON" ..." of a log line, or the line. In place. */
static char *
reason(char *text)
{
	char *p, *to, *last = text;

	text[strcspn(text, "\n")] = '\0';
	p = strstr(text, "msg=\"");
	if (p == NULL)
		return strncmp(last, "ats-brain: ", 11) == 0 ? last + 11 : last;
	last = p += 5;
	for (to = last; *p != '\0' && *p != '"'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		*to++ = *p;
	}
	*to = '\0';
	return last;
}

/* Of the lines that begin with head what follows, a line each. */
static void
take_lines(const char *said, const char *head, char *out, size_t size)
{
	size_t used = 0, skip = strlen(head);

	for (const char *p = said; *p != '\0';) {
		size_t n = strcspn(p, "\n");

		if (n > skip && strncmp(p, head, skip) == 0 && used + n - skip + 2 < size)
			used += (size_t)snprintf(out + used, size - used, "%.*s\n",
			    (int)(n - skip), p + skip);
		p += n + (p[n] == '\n');
	}
}

/* Whose brain reads it decides what it may say. */
static bool
is_of_system(const char *file)
{
	char own[ATS_PATH_MAX + 16];
	struct ats_places places;

	ats_places_system(&places);
	(void)snprintf(own, sizeof(own), "%s/brain.json", places.config);
	return strcmp(file, own) == 0;
}

void
config_verdict(const char *file, struct config_verdict *ret)
{
	const char *argv[] = { "ats-brain", "-n", "--config", file, NULL, NULL };
	struct ats_places places;
	struct ats_err err = { 0 };
	struct ats_buf out;
	int status = 0, rc;

	*ret = (struct config_verdict){ .exists = true };
	ats_buf_init(&out, 1 << 16);
	if (file != NULL) {
		(void)snprintf(ret->file, sizeof(ret->file), "%s", file);
		if (is_of_system(file))
			argv[4] = "--system";
	} else {
		argv[2] = NULL;
		if (ats_places_find(&places, NULL) == 0) {
			(void)snprintf(ret->file, sizeof(ret->file), "%s/brain.json",
			    places.config);
			ret->exists = access(ret->file, F_OK) == 0 || errno != ENOENT;
		}
	}
	rc = run_program(argv, 2, CONFIG_MS, &out, &status, &err);
	ret->ok = rc == 0 && status == 0;
	if (!ret->ok)
		(void)snprintf(ret->why, sizeof(ret->why), "%s", rc < 0 ? err.text :
		    out.len > 0 ? reason(out.data) : "ats-brain -n failed without a word");
	else if (out.len > 0) {
		take_lines(out.data, "ats-brain: warning: ", ret->warnings,
		    sizeof(ret->warnings));
		take_lines(out.data, "ats-brain: sandbox.url: ", ret->url, sizeof(ret->url));
		ret->url[strcspn(ret->url, "\n")] = '\0';
		take_lines(out.data, "ats-brain: hooks: ", ret->hooks, sizeof(ret->hooks));
		ret->hooks[strcspn(ret->hooks, "\n")] = '\0';
	}
	ats_buf_done(&out);
}
