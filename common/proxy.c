/* SPDX-License-Identifier: Apache-2.0
 *
 * Which HTTP proxy is used. Runs in ats-brain and ats-hands' launcher, before they have children;
 * configuration, options, files and environment are those of whoever started us. */
#include "common/proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/fd.h"
#include "common/secret.h"

#define URL_MAX 1024u		/* with a user and a password in %HH */
#define SCHEME "http://"

/* ---- a URL ----------------------------------------------------------------------------- */

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* USER:PASSWORD, in which %HH stands for a byte (RFC 3986, 3.2.1). */
static int
take_user(const char *p, size_t n, struct ats_proxy *ret, struct ats_err *err)
{
	char plain[ATS_PROXY_USER_MAX];
	size_t len = 0;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		int c = (unsigned char)p[i];

		if (c == '%') {
			c = i + 2 < n && hex(p[i + 1]) >= 0 && hex(p[i + 2]) >= 0 ?
			    hex(p[i + 1]) * 16 + hex(p[i + 2]) : 0;
			i += 2;
		}
		if (c < ' ' || c == 0x7f)	/* RFC 7617, 2 */
			rc = ats_err_set(err, ATS_E_INVAL, "the user name or the password has a "
			    "%% that is not of %%HH, or a control character");
		else if (len == sizeof(plain))
			rc = ats_err_set(err, ATS_E_INVAL, "user name and password have at most "
			    "%u bytes", ATS_PROXY_USER_MAX);
		else
			plain[len++] = (char)c;
	}
	if (rc == 0 && memchr(plain, ':', len) == NULL)
		rc = ats_err_set(err, ATS_E_INVAL, "before @ stands USER:PASSWORD");
	if (rc == 0) {
		ats_base64_digits(plain, len, ret->auth);
		ret->auth[(len + 2) / 3 * 4] = '\0';
	}
	ats_secret_wipe(plain, sizeof(plain));
	return rc;
}

static int
parse(const char *text, struct ats_proxy *ret, struct ats_err *err)
{
	const char *p = text + strlen(SCHEME), *at = strrchr(text, '@');
	char url[ATS_ADDR_MAX];
	int rc = 0, n;

	if (strncasecmp(text, SCHEME, strlen(SCHEME)) != 0)
		return ats_err_set(err, ATS_E_INVAL, "a proxy is http://HOST:PORT: no other kind "
		    "is spoken");
	if (at != NULL) {
		rc = take_user(p, (size_t)(at - p), ret, err);
		p = at + 1;
	}
	n = snprintf(url, sizeof(url), "tcp://%.*s", (int)strcspn(p, "/"), p);
	if (rc == 0 && (p[strcspn(p, "/")] == '/' && p[strcspn(p, "/") + 1] != '\0'))
		rc = ats_err_set(err, ATS_E_INVAL, "a proxy's URL ends with its port");
	if (rc == 0 && (n < 0 || (size_t)n >= sizeof(url)))
		rc = ats_err_set(err, ATS_E_INVAL, "a host is too long");
	if (rc == 0)
		rc = ats_addr_parse(url, &ret->at, err);
	if (rc == 0 && ret->at.port == 0)
		rc = ats_err_set(err, ATS_E_INVAL, "a proxy has a port");
	return rc < 0 ? ats_err_wrap(err, "http://[USER:PASSWORD@]HOST:PORT is wanted") : 0;
}

/* The one line of a file, without its end. */
static int
read_line(const char *path, char to[URL_MAX], struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s", path);
	if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & 077) != 0)
		return ats_err_set(err, ATS_E_INVAL, "%s must be a file of ours or root's that "
		    "nobody else can read; remedy: chmod 600, or mount it with mode 0400", path);
	for (; n < URL_MAX && got > 0; n += got > 0 ? (size_t)got : 0)
		got = ats_fd_read(fd, to + n, URL_MAX - n);
	if (got < 0)
		return ats_err_sys(err, "%s", path);
	if (n == URL_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "%s: more than %u bytes", path, URL_MAX - 1);
	to[n] = '\0';
	to[strcspn(to, "\r\n")] = '\0';
	return 0;
}

int
ats_proxy_read(const char *text, struct ats_proxy *ret, struct ats_err *err)
{
	struct ats_proxy p = { .auth = "" };
	char line[URL_MAX] = "";
	int rc = 0;

	if (strncmp(text, "file:", 5) == 0) {
		rc = text[5] == '/' ? read_line(text + 5, line, err) : ats_err_set(err,
		    ATS_E_INVAL, "file: has an absolute path, as in file:/etc/ats/proxy");
		text = line;
		if (rc == 0)
			rc = parse(text, &p, err);
	} else if (text[0] != '\0' && strcmp(text, "none") != 0) {
		rc = parse(text, &p, err);
	}
	if (rc == 0)
		*ret = p;
	ats_secret_wipe(line, sizeof(line));
	ats_secret_wipe(&p, sizeof(p));
	return rc;
}

/* ---- the environment --------------------------------------------------------------------- */

static const char *
variable(const char *upper, const char *lower)
{
	const char *v = getenv(upper);

	if (v == NULL || v[0] == '\0')
		v = getenv(lower);
	return v != NULL ? v : "";
}

int
ats_proxy_of_environment(const struct ats_addr *to, struct ats_proxy *ret, struct ats_err *err)
{
	const char *text = variable("HTTPS_PROXY", "https_proxy");
	char url[URL_MAX];
	int n, rc;

	if (!ats_addr_has_tls(to) || ats_addr_is_local(to) ||
	    ats_proxy_is_exempt(variable("NO_PROXY", "no_proxy"), to))
		text = "";
	/* curl takes HOST:PORT alone as well, and so many write it. */
	n = snprintf(url, sizeof(url), "%s%s", text[0] != '\0' && strstr(text, "://") == NULL ?
	    SCHEME : "", text);
	rc = n < 0 || (size_t)n >= sizeof(url) ? ats_err_set(err, ATS_E_TOOBIG,
	    "more than %u bytes", URL_MAX - 1) : ats_proxy_read(url, ret, err);
	ats_secret_wipe(url, sizeof(url));
	return rc < 0 ? ats_err_wrap(err, "HTTPS_PROXY") : 0;
}

/* ---- who is reached without one ------------------------------------------------------------ */

/* A literal address, as 16 bytes: IPv4 as ::ffff:a.b.c.d. */
static bool
literal(const char *host, unsigned char ret[16])
{
	memcpy(ret, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	return inet_pton(AF_INET, host, ret + 12) == 1 || inet_pton(AF_INET6, host, ret) == 1;
}

/* "ADDRESS" or "ADDRESS/BITS". */
static bool
in_network(char *entry, const unsigned char host[16])
{
	unsigned char net[16];
	char *slash = strchr(entry, '/'), *end = NULL;
	unsigned long bits = 128;

	if (slash != NULL) {
		*slash = '\0';
		bits = strtoul(slash + 1, &end, 10);
		if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || bits > 128)
			return false;
		bits += strchr(entry, ':') == NULL ? 96 : 0;
	}
	if (bits > 128 || !literal(entry, net) || memcmp(host, net, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || (host[bits / 8] ^ net[bits / 8]) >> (8 - bits % 8) == 0;
}

/* The name, or one below it. */
static bool
below(const char *entry, const char *host)
{
	size_t n, all = strlen(host);

	entry += strncmp(entry, "*.", 2) == 0 ? 2 : entry[0] == '.';
	n = strlen(entry);
	return n > 0 && n <= all && strcasecmp(host + all - n, entry) == 0 &&
	    (n == all || host[all - n - 1] == '.');
}

static bool
names(char *entry, const struct ats_addr *to)
{
	unsigned char host[16];
	char *colon = strrchr(entry, ':'), port[8];
	size_t n;

	(void)snprintf(port, sizeof(port), "%u", (unsigned)to->port);
	/* One colon is a port's, or what follows a ]; more are an IPv6 address. */
	if (colon != NULL && (strchr(entry, ':') == colon || colon[-1] == ']')) {
		if (strcmp(colon + 1, port) != 0)
			return false;
		*colon = '\0';
	}
	n = strlen(entry);
	if (n > 2 && entry[0] == '[' && entry[n - 1] == ']') {
		entry[n - 1] = '\0';
		entry++;
	}
	return strcmp(entry, "*") == 0 ||
	    (literal(to->host, host) ? in_network(entry, host) : below(entry, to->host));
}

bool
ats_proxy_is_exempt(const char *no_proxy, const struct ats_addr *to)
{
	char entry[300];
	size_t n;

	for (const char *p = no_proxy; *(p += strspn(p, ", \t")) != '\0'; p += n) {
		n = strcspn(p, ", \t");
		if (n >= sizeof(entry))		/* longer than any name */
			continue;
		memcpy(entry, p, n);
		entry[n] = '\0';
		if (names(entry, to))
			return true;
	}
	return false;
}

bool
ats_proxy_serves(const struct ats_proxy *p, const struct ats_addr *to)
{
	return p != NULL && p->at.port != 0 && !ats_addr_is_local(to);
}
