/* SPDX-License-Identifier: Apache-2.0
 *
 * The opening handshake of WebSocket (RFC 6455, 4) in as much of HTTP/1.1 as it needs. Runs in
 * the engine and in hands' front; a head that comes is the peer's, or anybody's who finds the
 * port: a browser, which says its Origin, is refused. Strict: CRLF, no folded lines, each of
 * the headers that count at most once, no body. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/digest.h"
#include "common/ws.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"	/* RFC 6455, 1.3 */

enum name {				/* headers that count; the others are left alone */
	H_HOST, H_UPGRADE, H_CONNECTION, H_KEY, H_VERSION, H_ACCEPT, H_EXTENSIONS, H_PROTOCOL,
	H_ORIGIN, H_LENGTH, H_ENCODING, H_N,
};
static const char *const names[H_N] = { "Host", "Upgrade", "Connection", "Sec-WebSocket-Key",
	"Sec-WebSocket-Version", "Sec-WebSocket-Accept", "Sec-WebSocket-Extensions",
	"Sec-WebSocket-Protocol", "Origin", "Content-Length", "Transfer-Encoding" };

struct text {				/* borrowed */
	const char *p;
	size_t n;
};
struct head {
	struct text first;		/* line */
	struct text value[H_N];		/* p is NULL where it is not there */
	unsigned count[H_N];
};

/* ---- base64 of what is ours --------------------------------------------------------------- */

static void
base64(const unsigned char *p, size_t n, char *out)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16;

		bits |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		bits |= i + 2 < n ? p[i + 2] : 0;
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = i + 1 < n ? digits[bits >> 6 & 63] : '=';
		*out++ = i + 2 < n ? digits[bits & 63] : '=';
	}
	*out = '\0';
}

void
ats_ws_key(const unsigned char bytes[16], char ret_key[ATS_WS_KEY])
{
	base64(bytes, 16, ret_key);
}

void
ats_ws_accept(const char *key, char ret_accept[ATS_WS_ACCEPT])
{
	char text[ATS_WS_KEY + sizeof(GUID)];
	unsigned char sum[ATS_SHA1_BYTES];
	int n = snprintf(text, sizeof(text), "%s" GUID, key);

	ats_sha1(text, (size_t)n, sum);
	base64(sum, sizeof(sum), ret_accept);
}

/* ---- what is sent --------------------------------------------------------------------------- */

static int
fits(int n, size_t size)
{
	return n < 0 || (size_t)n >= size ? -ATS_E_TOOBIG : n;
}

int
ats_ws_request(char *out, size_t size, const char *host, unsigned port, const char *path,
    const char *key)
{
	bool six = strchr(host, ':') != NULL;
	char at[8] = "";

	if (port != 0)
		(void)snprintf(at, sizeof(at), ":%u", port & 0xffffu);
	return fits(snprintf(out, size, "GET %s HTTP/1.1\r\nHost: %s%s%s%s\r\n"
	    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
	    "Sec-WebSocket-Version: 13\r\n\r\n", path, six ? "[" : "", host, six ? "]" : "", at,
	    key), size);
}

int
ats_ws_response(char *out, size_t size, int status, const char *accept)
{
	static const struct {
		int status;
		const char *text;
	} refusals[] = {
		{ 400, "400 Bad Request" },
		{ 403, "403 Forbidden" },
		{ 404, "404 Not Found" },
		{ 405, "405 Method Not Allowed\r\nAllow: GET" },
		{ 426, "426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13" },
		{ 431, "431 Request Header Fields Too Large" },
	};
	const char *text = refusals[0].text;

	if (status == 101)
		return fits(snprintf(out, size, "HTTP/1.1 101 Switching Protocols\r\n"
		    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
		    "\r\n", accept), size);
	for (size_t i = 0; i < ATS_ARRAY_LEN(refusals); i++)
		if (refusals[i].status == status)
			text = refusals[i].text;
	return fits(snprintf(out, size, "HTTP/1.1 %s\r\nConnection: close\r\n"
	    "Content-Length: 0\r\n\r\n", text), size);
}

/* ---- a head that came ------------------------------------------------------------------------ */

size_t
ats_ws_head_end(const char *p, size_t n, size_t from)
{
	const char *end;

	from = from > 3 ? from - 3 : 0;
	end = n > from ? memmem(p + from, n - from, "\r\n\r\n", 4) : NULL;
	return end != NULL ? (size_t)(end - p) + 4 : 0;
}

static bool
is_token(char c)			/* RFC 9110, 5.6.2 */
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
is(struct text t, const char *s)
{
	return t.p != NULL && t.n == strlen(s) && strncasecmp(t.p, s, t.n) == 0;
}

static bool
is_exactly(struct text t, const char *s)
{
	return t.p != NULL && t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

/* Whether a comma-separated list has the word. */
static bool
lists(struct text t, const char *word)
{
	while (t.n > 0) {
		const char *comma = memchr(t.p, ',', t.n);
		struct text one = { t.p, comma != NULL ? (size_t)(comma - t.p) : t.n };

		t.p += one.n + (comma != NULL);
		t.n -= one.n + (comma != NULL);
		while (one.n > 0 && (*one.p == ' ' || *one.p == '\t'))
			one.p++, one.n--;
		while (one.n > 0 && (one.p[one.n - 1] == ' ' || one.p[one.n - 1] == '\t'))
			one.n--;
		if (is(one, word))
			return true;
	}
	return false;
}

/* "NAME: VALUE", without its CRLF. */
static bool
read_header(struct head *h, struct text line)
{
	struct text value = line;

	while (value.n > 0 && is_token(*value.p))
		value.p++, value.n--;
	line.n -= value.n;
	if (line.n == 0 || value.n == 0 || *value.p != ':')
		return false;
	value.p++, value.n--;
	while (value.n > 0 && (*value.p == ' ' || *value.p == '\t'))
		value.p++, value.n--;
	while (value.n > 0 && (value.p[value.n - 1] == ' ' || value.p[value.n - 1] == '\t'))
		value.n--;
	for (size_t i = 0; i < value.n; i++)
		if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
			return false;
	for (size_t i = 0; i < H_N; i++)
		if (is(line, names[i])) {
			h->value[i] = value;
			h->count[i]++;
		}
	return true;
}

/* False: it is no head, or has twice what counts. */
static bool
read_head(const char *p, size_t n, struct head *h)
{
	bool first = true;

	*h = (struct head){ .first = { "", 0 } };
	for (;;) {
		const char *end = memmem(p, n, "\r\n", 2);
		struct text line = { p, end != NULL ? (size_t)(end - p) : 0 };

		if (end == NULL)
			return false;
		if (line.n == 0)
			break;
		if (first)
			h->first = line;
		else if (!read_header(h, line))
			return false;
		first = false;
		n -= line.n + 2;
		p += line.n + 2;
	}
	for (size_t i = 0; i < H_N; i++)
		if (h->count[i] > 1)
			return false;
	return !first;
}

static bool
upgrades(const struct head *h)
{
	return is(h->value[H_UPGRADE], "websocket") && lists(h->value[H_CONNECTION], "upgrade");
}

/* 16 bytes in base64. */
static bool
is_key(struct text t)
{
	if (t.p == NULL || t.n != ATS_WS_KEY - 1 || memcmp(t.p + 22, "==", 2) != 0)
		return false;
	for (size_t i = 0; i < 22; i++)
		if (t.p[i] != '+' && t.p[i] != '/' && !(t.p[i] >= '0' && t.p[i] <= '9') &&
		    !(t.p[i] >= 'a' && t.p[i] <= 'z') && !(t.p[i] >= 'A' && t.p[i] <= 'Z'))
			return false;
	return true;
}

/* "GET PATH HTTP/1.1". */
static int
judge_line(struct text line, const char *path)
{
	static const char get[] = "GET ", version[] = " HTTP/1.1";
	size_t around = sizeof(get) - 1 + sizeof(version) - 1;

	if (line.n < around || memcmp(line.p + line.n - (sizeof(version) - 1), version,
	    sizeof(version) - 1) != 0)
		return 400;
	if (memcmp(line.p, get, sizeof(get) - 1) != 0)
		return 405;
	return is_exactly((struct text){ line.p + sizeof(get) - 1, line.n - around }, path) ? 0 :
	    404;
}

static int
refuse(int *ret_status, int status, struct ats_err *err, const char *why)
{
	*ret_status = status;
	return ats_err_set(err, ATS_E_PROTO, "WebSocket handshake: %s", why);
}

int
ats_ws_check_request(const char *head, size_t n, const char *path,
    char ret_accept[ATS_WS_ACCEPT], int *ret_status, struct ats_err *err)
{
	char key[ATS_WS_KEY];
	struct head h;
	int status;

	if (!read_head(head, n, &h))
		return refuse(ret_status, 400, err, "not a request of HTTP/1.1");
	status = judge_line(h.first, path);
	if (status != 0)
		return refuse(ret_status, status, err, status == 404 ? "another path" :
		    "not GET of HTTP/1.1");
	if (h.count[H_HOST] == 0 || h.value[H_HOST].n == 0 || h.count[H_LENGTH] != 0 ||
	    h.count[H_ENCODING] != 0)
		return refuse(ret_status, 400, err, "a body, or no host");
	if (h.count[H_ORIGIN] != 0)
		return refuse(ret_status, 403, err, "from a browser (it has an Origin)");
	if (!upgrades(&h) || !is_exactly(h.value[H_VERSION], "13"))
		return refuse(ret_status, 426, err, "no upgrade to version 13");
	if (!is_key(h.value[H_KEY]))
		return refuse(ret_status, 400, err, "no key of 16 bytes");
	memcpy(key, h.value[H_KEY].p, ATS_WS_KEY - 1);
	key[ATS_WS_KEY - 1] = '\0';
	ats_ws_accept(key, ret_accept);
	return 0;
}

/* "HTTP/1.1 101 ...": the status, or 0. */
static unsigned
read_status(struct text line)
{
	static const char version[] = "HTTP/1.1 ";
	const char *d = line.p + sizeof(version) - 1;
	unsigned status = 0;

	if (line.n < sizeof(version) - 1 + 3 || memcmp(line.p, version, sizeof(version) - 1) != 0 ||
	    (line.n > sizeof(version) - 1 + 3 && d[3] != ' '))
		return 0;
	for (int i = 0; i < 3; i++) {
		if (d[i] < '0' || d[i] > '9')
			return 0;
		status = status * 10 + (unsigned)(d[i] - '0');
	}
	return status;
}

int
ats_ws_check_response(const char *head, size_t n, const char *key, struct ats_err *err)
{
	char accept[ATS_WS_ACCEPT];
	unsigned status;
	struct head h;
	int unused;

	if (!read_head(head, n, &h) || (status = read_status(h.first)) == 0)
		return refuse(&unused, 0, err, "not a response of HTTP/1.1");
	if (status != 101)
		return ats_err_set(err, ATS_E_PROTO, "WebSocket handshake: the server answered %u",
		    status);
	ats_ws_accept(key, accept);
	if (!upgrades(&h) || !is_exactly(h.value[H_ACCEPT], accept))
		return refuse(&unused, 0, err, "not an answer to this request");
	if (h.count[H_EXTENSIONS] != 0 || h.count[H_PROTOCOL] != 0)
		return refuse(&unused, 0, err, "the server takes what was not offered");
	return 0;
}
