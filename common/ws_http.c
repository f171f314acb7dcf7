/* SPDX-License-Identifier: Apache-2.0
 *
 * The opening handshake of WebSocket (RFC 6455, 4) in as much of HTTP/1.1 as it needs. Runs in
 * the engine and in hands' front; a head that comes is the peer's, or anybody's who finds the
 * port: a browser, which says its Origin, is refused. Each of the fields that count is there
 * once at most, and no body follows. */
#include <stdio.h>
#include <string.h>

#include "common/base64.h"
#include "common/digest.h"
#include "common/http_head.h"
#include "common/ws.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"	/* RFC 6455, 1.3 */

void
ats_ws_key(const unsigned char bytes[16], char ret_key[ATS_WS_KEY])
{
	ats_base64_digits(bytes, 16, ret_key);
	ret_key[ATS_WS_KEY - 1] = '\0';
}

void
ats_ws_accept(const char *key, char ret_accept[ATS_WS_ACCEPT])
{
	char text[ATS_WS_KEY + sizeof(GUID)];
	unsigned char sum[ATS_SHA1_BYTES];
	int n = snprintf(text, sizeof(text), "%s" GUID, key);

	ats_sha1(text, (size_t)n, sum);
	ats_base64_digits(sum, sizeof(sum), ret_accept);
	ret_accept[ATS_WS_ACCEPT - 1] = '\0';
}

/* ---- what is sent ---------------------------------------------------------------- */

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

/* ---- a head that came ------------------------------------------------------------ */

/* The field, which a head has once at most. */
static struct ats_http_text
one(const struct ats_http_head *h, const char *name, bool *twice)
{
	unsigned count;
	struct ats_http_text value = ats_http_field(h, name, &count);

	*twice |= count > 1;
	return value;
}

/* What both heads must have. */
struct handshake {
	struct ats_http_text host, upgrade, connection, key, version, accept, extensions, protocol,
	    origin, length, coding;
	bool twice;
};

static struct handshake
read_fields(const struct ats_http_head *h)
{
	bool t = false;
	struct handshake f = {
		one(h, "Host", &t), one(h, "Upgrade", &t), one(h, "Connection", &t),
		one(h, "Sec-WebSocket-Key", &t), one(h, "Sec-WebSocket-Version", &t),
		one(h, "Sec-WebSocket-Accept", &t), one(h, "Sec-WebSocket-Extensions", &t),
		one(h, "Sec-WebSocket-Protocol", &t), one(h, "Origin", &t),
		one(h, "Content-Length", &t), one(h, "Transfer-Encoding", &t), false,
	};

	f.twice = t;
	return f;
}

static bool
upgrades(const struct handshake *f)
{
	return ats_http_text_is(f->upgrade, "websocket") &&
	    ats_http_lists(f->connection, "upgrade");
}

/* 16 bytes in base64. */
static bool
is_key(struct ats_http_text t)
{
	if (t.p == NULL || t.n != ATS_WS_KEY - 1 || memcmp(t.p + 22, "==", 2) != 0)
		return false;
	for (size_t i = 0; i < 22; i++)
		if (t.p[i] != '+' && t.p[i] != '/' && !(t.p[i] >= '0' && t.p[i] <= '9') &&
		    !(t.p[i] >= 'a' && t.p[i] <= 'z') && !(t.p[i] >= 'A' && t.p[i] <= 'Z'))
			return false;
	return true;
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
	struct ats_http_head h;
	struct handshake f;
	char key[ATS_WS_KEY];

	if (ats_http_request_read(head, n, &h, err) < 0)
		return refuse(ret_status, 400, err, "not a request of HTTP/1.1");
	f = read_fields(&h);
	if (f.twice)
		return refuse(ret_status, 400, err, "a field twice that counts");
	if (!ats_http_text_is_exactly(h.method, "GET"))
		return refuse(ret_status, 405, err, "not GET");
	if (!ats_http_text_is_exactly(h.target, path))
		return refuse(ret_status, 404, err, "another path");
	if (f.host.n == 0 || f.length.p != NULL || f.coding.p != NULL)
		return refuse(ret_status, 400, err, "a body, or no host");
	if (f.origin.p != NULL)
		return refuse(ret_status, 403, err, "from a browser (it has an Origin)");
	if (!upgrades(&f) || !ats_http_text_is_exactly(f.version, "13"))
		return refuse(ret_status, 426, err, "no upgrade to version 13");
	if (!is_key(f.key))
		return refuse(ret_status, 400, err, "no key of 16 bytes");
	memcpy(key, f.key.p, ATS_WS_KEY - 1);
	key[ATS_WS_KEY - 1] = '\0';
	ats_ws_accept(key, ret_accept);
	return 0;
}

int
ats_ws_check_response(const char *head, size_t n, const char *key, struct ats_err *err)
{
	char accept[ATS_WS_ACCEPT];
	struct ats_http_head h;
	int unused, rc = ats_http_response_read(head, n, &h, err);
	struct handshake f = read_fields(&h);

	if (rc < 0 || f.twice)
		return refuse(&unused, 0, err, "not a response of HTTP/1.1");
	if (h.status != 101)
		return ats_err_set(err, ATS_E_PROTO, "WebSocket handshake: the server answered %u",
		    h.status);
	ats_ws_accept(key, accept);
	if (!upgrades(&f) || !ats_http_text_is_exactly(f.accept, accept))
		return refuse(&unused, 0, err, "not an answer to this request");
	if (f.extensions.p != NULL || f.protocol.p != NULL)
		return refuse(&unused, 0, err, "the server takes what was not offered");
	return 0;
}
