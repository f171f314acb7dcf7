/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of links. Read in the vault (configuration, providers' answers), in atsctl and in
 * ats-hands (options, environment). What is wrong is told by what is expected, never by a copy
 * of the text: it may hold a password where none belongs. */
#include "common/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/json.h"

#define UNIX_PATH_MAX_BYTES 107
#define LABEL_MAX 63
#define NAME_MAX_BYTES 253

static const struct {
	const char *scheme;
	enum ats_addr_kind kind;
} schemes[] = {
	{ "tcp://", ATS_ADDR_TCP },
	{ "tls://", ATS_ADDR_TLS },
	{ "ws://", ATS_ADDR_WS },
	{ "wss://", ATS_ADDR_WSS },
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- unix -------------------------------------------------------------------------- */

static int
parse_unix(const char *path, struct ats_addr *a, struct ats_err *err)
{
	size_t n = strlen(path);

	if (path[0] != '/' || path[1] == '/')
		return ats_err_set(err, ATS_E_INVAL,
		    "an address unix: has an absolute path, as in unix:/run/ats/hands.sock");
	if (path[n - 1] == '/')
		return ats_err_set(err, ATS_E_INVAL,
		    "an address unix: names a socket, not a directory");
	if (n > UNIX_PATH_MAX_BYTES)
		return ats_err_set(err, ATS_E_INVAL,
		    "an address unix: has a path of at most %d bytes", UNIX_PATH_MAX_BYTES);
	memcpy(a->path, path, n + 1);
	return 0;
}

/* ---- host and port ------------------------------------------------------------------ */

/* A name whose last label is a number would be taken for an IPv4 address by some. */
static bool
ends_in_number(const char *host)
{
	const char *last = strrchr(host, '.');

	last = last != NULL ? last + 1 : host;
	if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X'))
		return true;
	return last[0] != '\0' && strspn(last, "0123456789") == strlen(last);
}

/* RFC 1123, 2.1; underscores, which container networks have in names, as well. */
static bool
is_name(const char *host)
{
	size_t label = 0;

	for (const char *p = host;; p++) {
		if (*p == '.' || *p == '\0') {
			if (label == 0 || label > LABEL_MAX || p[-1] == '-')
				return false;
			if (*p == '\0')
				return true;
			label = 0;
		} else if (is_alnum(*p) || *p == '_' || (*p == '-' && label > 0)) {
			label++;
		} else {
			return false;
		}
	}
}

static int
check_host(const char *host, bool bracketed, struct ats_err *err)
{
	struct in6_addr six;
	struct in_addr four;

	if (bracketed)
		return inet_pton(AF_INET6, host, &six) == 1 ? 0 :
		    ats_err_set(err, ATS_E_INVAL, "between [ and ] stands an IPv6 address "
			"without a zone, as in tcp://[::1]:7000");
	if (strchr(host, ':') != NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "an address has one port; an IPv6 address stands in brackets, as in "
		    "tcp://[::1]:7000");
	if (ends_in_number(host) && inet_pton(AF_INET, host, &four) != 1)
		return ats_err_set(err, ATS_E_INVAL,
		    "an IPv4 address has four decimal numbers, as in 192.0.2.7");
	if (!is_name(host))
		return ats_err_set(err, ATS_E_INVAL,
		    "a host is a name (letters, digits, '-', '_' and '.' between labels of at "
		    "most %d), an IPv4 address or an IPv6 address in brackets", LABEL_MAX);
	return 0;
}

/* Five digits at most, no sign, no zero in front. Returns where they end, or NULL. */
static const char *
parse_port(const char *p, uint16_t *ret_port)
{
	const char *from = p;
	unsigned port = 0;

	while (is_digit(*p) && p - from < 5)
		port = port * 10 + (unsigned)(*p++ - '0');
	if (p == from || is_digit(*p) || (from[0] == '0' && p - from > 1) || port > 65535)
		return NULL;
	*ret_port = (uint16_t)port;
	return p;
}

/* HOST:PORT up to end. */
static int
parse_authority(const char *p, const char *end, struct ats_addr *a, struct ats_err *err)
{
	bool bracketed = p < end && *p == '[';
	const char *host = bracketed ? p + 1 : p, *stop, *after;

	if (memchr(p, '@', (size_t)(end - p)) != NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "an address holds no user name and no password");
	stop = bracketed ? memchr(host, ']', (size_t)(end - host)) :
	    memrchr(host, ':', (size_t)(end - host));
	if (bracketed && stop == NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "an IPv6 address ends with ], as in tcp://[::1]:7000");
	after = stop == NULL ? end : bracketed ? stop + 1 : stop;
	if (after == end || *after != ':')
		return ats_err_set(err, ATS_E_INVAL,
		    "an address has a port after its host, as in tcp://HOST:7000");
	if (stop == host)
		return ats_err_set(err, ATS_E_INVAL,
		    "an address has a host, as in tcp://HOST:7000");
	if ((size_t)(stop - host) > NAME_MAX_BYTES)
		return ats_err_set(err, ATS_E_INVAL, "a host has at most %d characters",
		    NAME_MAX_BYTES);
	memcpy(a->host, host, (size_t)(stop - host));
	a->host[stop - host] = '\0';
	if (parse_port(after + 1, &a->port) != end)
		return ats_err_set(err, ATS_E_INVAL,
		    "a port is a number up to 65535 without a zero in front");
	return check_host(a->host, bracketed, err);
}

/* ---- path of a WebSocket's request --------------------------------------------------- */

/* RFC 3986, 3.3 and 3.4, for RFC 6455's resource name. */
static int
parse_resource(const char *p, struct ats_addr *a, struct ats_err *err)
{
	size_t n = strlen(p);

	if (strchr(p, '#') != NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "an address ws:// or wss:// has no fragment (#)");
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '%' && is_hex(p[i + 1]) && is_hex(p[i + 2]))
			continue;
		if (!is_alnum(p[i]) && strchr("-._~!$&'()*+,;=:@/?", p[i]) == NULL)
			return ats_err_set(err, ATS_E_INVAL, "a path of an address ws:// or "
			    "wss:// has the characters of a URL; others are written as %%HH");
	}
	if (p[0] == '?')
		return ats_err_set(err, ATS_E_INVAL,
		    "an address ws:// has a / before its query, as in ws://HOST:80/?QUERY");
	memcpy(a->path, n > 0 ? p : "/", n > 0 ? n + 1 : 2);
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------ */

static int
check_text(const char *text, size_t *ret_n, struct ats_err *err)
{
	size_t n = strnlen(text, ATS_ADDR_MAX);

	if (n == ATS_ADDR_MAX)
		return ats_err_set(err, ATS_E_INVAL, "an address has at most %d bytes",
		    ATS_ADDR_MAX - 1);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return ats_err_set(err, ATS_E_INVAL,
			    "an address holds no blank and no control character");
	if (!ats_utf8_valid(text, n))
		return ats_err_set(err, ATS_E_INVAL, "an address is valid UTF-8");
	*ret_n = n;
	return 0;
}

static int
parse(const char *text, struct ats_addr *a, struct ats_err *err)
{
	const char *p = NULL, *end;
	int rc;

	if (strncmp(text, "unix:", 5) == 0) {
		a->kind = ATS_ADDR_UNIX;
		return parse_unix(text + 5, a, err);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(schemes) && p == NULL; i++) {
		if (strncmp(text, schemes[i].scheme, strlen(schemes[i].scheme)) != 0)
			continue;
		a->kind = schemes[i].kind;
		p = text + strlen(schemes[i].scheme);
	}
	if (p == NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "an address is unix:/PATH, tcp://HOST:PORT, tls://HOST:PORT, "
		    "ws://HOST:PORT/PATH or wss://HOST:PORT/PATH, in small letters");
	end = p + strcspn(p, "/?#");
	rc = parse_authority(p, end, a, err);
	if (rc < 0)
		return rc;
	if (ats_addr_has_ws(a))
		return parse_resource(end, a, err);
	if (*end != '\0')
		return ats_err_set(err, ATS_E_INVAL,
		    "an address tcp:// or tls:// ends with its port");
	return 0;
}

int
ats_addr_parse(const char *text, struct ats_addr *ret, struct ats_err *err)
{
	struct ats_addr a = { .kind = ATS_ADDR_UNIX };
	size_t n = 0;
	int rc = check_text(text, &n, err);

	if (rc == 0)
		rc = parse(text, &a, err);
	if (rc < 0)
		return rc;
	memcpy(a.text, text, n + 1);
	*ret = a;
	return 0;
}

int
ats_addr_parse_own(const char *text, struct ats_addr *ret, struct ats_err *err)
{
	char url[ATS_ADDR_MAX];
	bool path = strncmp(text, "unix:", 5) == 0;
	int n = snprintf(url, sizeof(url), "%s%s", path ? "" : "tcp://", text);

	if (n >= (int)sizeof(url))
		return ats_err_set(err, ATS_E_INVAL, "an address has at most %d bytes",
		    ATS_ADDR_MAX - 1);
	/* What parse says is of addresses with a scheme, which is not to be written here. */
	if (ats_addr_parse(url, ret, err) < 0)
		return path ? -ATS_E_INVAL : ats_err_set(err, ATS_E_INVAL, "expected "
		    "ADDRESS:PORT, as in 127.0.0.1:8765 or [::1]:8765, or unix:/PATH");
	if (!ats_addr_is_local(ret))
		return ats_err_set(err, ATS_E_INVAL,
		    "that address is not of loopback; put a proxy with TLS before it");
	if (strcasecmp(ret->host, "localhost") == 0)
		memcpy(ret->host, "127.0.0.1", sizeof("127.0.0.1"));
	return 0;
}

bool
ats_addr_has_tls(const struct ats_addr *a)
{
	return a->kind == ATS_ADDR_TLS || a->kind == ATS_ADDR_WSS;
}

bool
ats_addr_has_ws(const struct ats_addr *a)
{
	return a->kind == ATS_ADDR_WS || a->kind == ATS_ADDR_WSS;
}

bool
ats_addr_is_local(const struct ats_addr *a)
{
	struct in6_addr six;
	struct in_addr four;

	if (a->kind == ATS_ADDR_UNIX || strcasecmp(a->host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, a->host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, a->host, &six) != 1)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&six) ||
	    (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}
