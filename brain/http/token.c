/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads tokens from their files, before the confinement. The files are the user's, and must be
 * nobody else's to read. */
#include "brain/http/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/http/http.h"
#include "common/fd.h"
#include "common/secret.h"

#define TOKEN_MIN 32			/* bytes: as many as nobody guesses */
#define TOKEN_MAX 4096

/* The whole content but white space at its end. option: what names the file. */
static int
read_token(const char *option, const char *path, struct ats_secret **ret, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[TOKEN_MAX + 1];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s: %s", option, path);
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0 ||
	    (st.st_uid != geteuid() && st.st_uid != 0))
		return ats_err_set(err, ATS_E_PERM, "%s: %s must be a file of yours that nobody "
		    "else reads (chmod 600)", option, path);
	n = ats_fd_read(fd, text, sizeof(text));
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		n--;
	if (n < TOKEN_MIN || n > TOKEN_MAX)
		return ats_err_set(err, ATS_E_INVAL, "%s: %s: expected %d to %d bytes; openssl "
		    "rand -hex 32 makes some", option, path, TOKEN_MIN, TOKEN_MAX);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return ats_err_set(err, ATS_E_INVAL, "%s: %s: expected one line of visible "
			    "ASCII", option, path);
	return ats_secret_new(text, (size_t)n, ret, err);
}

/* Who reads metrics may not use tools: with one token for both they could. */
int
tokens_read(struct http *h, struct ats_err *err)
{
	const char *path = h->opt->metrics_token_file;
	const void *bytes;
	size_t n;
	int rc = read_token("--token-file", h->opt->token_file, &h->token, err);

	if (rc < 0 || path == NULL)
		return rc;
	rc = read_token("--metrics-token-file", path, &h->metrics_token, err);
	if (rc < 0)
		return rc;
	bytes = ats_secret_bytes(h->metrics_token, &n);
	return !ats_secret_equal(h->token, bytes, n) ? 0 : ats_err_set(err, ATS_E_INVAL,
	    "--metrics-token-file: %s holds the token of --token-file; it must be another", path);
}
