/* SPDX-License-Identifier: Apache-2.0
 *
 * take-key. A process of its own, beside the daemon. Its input is of whoever may run programs
 * here; what it writes is a key, checked, and in one step: the daemon never sees a part of one, and
 * of two who come at once one is told of the other. */
#include "hands/init/take_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/secret.h"
#include "hands/key.h"

#define LIMIT_MS 60000u		/* for the one who was told "wants" */
#define EXIT_USAGE 2

/* Whose key text is; the text is wiped. */
static int
whose(char *text, size_t n, char ret_sandbox[33], struct ats_err *err)
{
	char workspace[PATH_MAX];
	struct key k;
	int rc = key_cut_workspace(text, &n, workspace, sizeof(workspace), err);

	if (rc == 0)
		rc = key_parse(text, n, &k, err);
	if (rc == 0) {
		memcpy(ret_sandbox, k.sandbox, sizeof(k.sandbox));
		key_done(&k);
	}
	return rc;
}

/* 1: there is one, and whose. */
static int
look(const char *path, char ret_sandbox[33], struct ats_err *err)
{
	char text[KEY_GIVEN_MAX];
	int fd ATS_CLEANUP_FD = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : ats_err_sys(err, "%s", path);
	n = ats_fd_read(fd, text, sizeof(text));
	rc = n < 0 ? ats_err_sys(err, "%s", path) : whose(text, (size_t)n, ret_sandbox, err);
	ats_secret_wipe(text, sizeof(text));
	return rc < 0 ? ats_err_wrap(err, "%s is there, and no key", path) : 1;
}

/* Up to an empty line, which is not kept, or the end. */
static int
read_given(char *to, size_t size, size_t *ret_n, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + LIMIT_MS, now;
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0 && (n < 2 || memcmp(to + n - 2, "\n\n", 2) != 0)) {
		if (n == size)
			return ats_err_set(err, ATS_E_TOOBIG, "more than %zu bytes", size);
		now = ats_clock_ms();
		if (now >= end || poll(&p, 1, (int)(end - now)) == 0)
			return ats_err_set(err, ATS_E_TIMEOUT, "no key came on standard input in "
			    "%u s", LIMIT_MS / 1000);
		got = ats_fd_read(STDIN_FILENO, to + n, 1);	/* no more than is ours */
		if (got > 0)
			n++;
	}
	if (got < 0)
		return ats_err_sys(err, "read of standard input");
	*ret_n = n;
	return 0;
}

/* 1: another one was faster. */
static int
put(const char *path, const char *text, size_t n, struct ats_err *err)
{
	char temp[PATH_MAX];
	int fd ATS_CLEANUP_FD = -1, rc = 0;

	if ((size_t)snprintf(temp, sizeof(temp), "%s.%d", path, (int)getpid()) >= sizeof(temp))
		return ats_err_set(err, ATS_E_TOOBIG, "%s: the path is too long", path);
	(void)unlink(temp);	/* of a killed one that had our number */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return ats_err_sys(err, "%s", temp);
	if (ats_fd_write_all(fd, text, n) < 0)
		rc = ats_err_sys(err, "%s", temp);
	else if (link(temp, path) < 0)
		rc = errno == EEXIST ? 1 : ats_err_sys(err, "%s", path);
	(void)unlink(temp);
	return rc;
}

static int
say(const char *what, const char *sandbox)
{
	int n = printf("%s%s%s\n", what, sandbox[0] == '\0' ? "" : " ", sandbox);

	return n < 0 || fflush(stdout) == EOF ? 1 : 0;
}

static int
take(const char *path, char *text, char *copy, struct ats_err *err)
{
	char sandbox[33] = "";
	size_t n = 0;
	int rc = look(path, sandbox, err);

	if (rc != 0)
		return rc < 0 ? rc : say("has", sandbox);
	if (say("wants", "") != 0)
		return 1;
	rc = read_given(text, KEY_GIVEN_MAX, &n, err);
	memcpy(copy, text, n);
	if (rc == 0)
		rc = whose(copy, n, sandbox, err);
	if (rc == 0)
		rc = put(path, text, n, err);
	if (rc > 0)
		rc = look(path, sandbox, err);
	else if (rc == 0)
		return say("took", sandbox);
	return rc < 0 ? rc : say("has", sandbox);
}

int
take_key_main(int argc, char **argv)
{
	static char text[KEY_GIVEN_MAX], copy[KEY_GIVEN_MAX];
	struct ats_err err = { 0 };
	int rc;

	if (argc != 2 || argv[1][0] != '/') {
		(void)fputs("usage: ats-hands take-key FILE\n\n"
		    "Puts the key that comes on stdin, up to an empty line, to FILE (absolute),\n"
		    "where a hands with --key-file FILE --key-wait SECONDS waits for it.\n",
		    argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : EXIT_USAGE;
	}
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);	/* no core with a key */
	rc = take(argv[1], text, copy, &err);
	ats_secret_wipe(text, sizeof(text));
	ats_secret_wipe(copy, sizeof(copy));
	if (rc < 0)
		(void)fprintf(stderr, "ats-hands: take-key: %s\n", err.text);
	return rc == 0 ? 0 : 1;
}
