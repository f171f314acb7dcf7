/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses: what is taken and as what; what is refused, and that the text says why. */
#include "common/addr.h"
#include "tests/lib/unit.h"

START_TEST(parse_good_addresses_gives_their_parts)
{
	static const struct {
		const char *text;
		enum ats_addr_kind kind;
		const char *host;
		unsigned port;
		const char *path;
		bool local;
	} rows[] = {
		{ "unix:/run/ats.sock", ATS_ADDR_UNIX, "", 0, "/run/ats.sock", true },
		{ "unix:/a?b#c", ATS_ADDR_UNIX, "", 0, "/a?b#c", true },
		{ "unix:/\xc3\xa4", ATS_ADDR_UNIX, "", 0, "/\xc3\xa4", true },
		{ "tcp://127.0.0.1:1", ATS_ADDR_TCP, "127.0.0.1", 1, "", true },
		{ "tcp://127.255.0.9:65535", ATS_ADDR_TCP, "127.255.0.9", 65535, "", true },
		{ "tcp://128.0.0.1:80", ATS_ADDR_TCP, "128.0.0.1", 80, "", false },
		{ "tcp://0.0.0.0:0", ATS_ADDR_TCP, "0.0.0.0", 0, "", false },
		{ "tcp://[::1]:7", ATS_ADDR_TCP, "::1", 7, "", true },
		{ "tcp://[::]:7", ATS_ADDR_TCP, "::", 7, "", false },
		{ "tcp://[::ffff:127.0.0.1]:7", ATS_ADDR_TCP, "::ffff:127.0.0.1", 7, "", true },
		{ "tls://[2001:db8::7]:443", ATS_ADDR_TLS, "2001:db8::7", 443, "", false },
		{ "tls://LocalHost:9", ATS_ADDR_TLS, "LocalHost", 9, "", true },
		{ "tls://my_box.example:9", ATS_ADDR_TLS, "my_box.example", 9, "", false },
		{ "tls://localhost.example:9", ATS_ADDR_TLS, "localhost.example", 9, "", false },
		{ "ws://a:80", ATS_ADDR_WS, "a", 80, "/", false },
		{ "ws://a:80/", ATS_ADDR_WS, "a", 80, "/", false },
		{ "wss://1.2.3.4:80/x/%7e?y=/?@", ATS_ADDR_WSS, "1.2.3.4", 80, "/x/%7e?y=/?@",
		    false },
		{ "wss://[::1]:80/@:", ATS_ADDR_WSS, "::1", 80, "/@:", true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_addr a;
		struct ats_err err = { .text = "" };

		ck_assert_msg(ats_addr_parse(rows[i].text, &a, &err) == 0, "%s: %s",
		    rows[i].text, err.text);
		ck_assert_int_eq(a.kind, rows[i].kind);
		ck_assert_str_eq(a.text, rows[i].text);
		ck_assert_str_eq(a.host, rows[i].host);
		ck_assert_uint_eq(a.port, rows[i].port);
		ck_assert_str_eq(a.path, rows[i].path);
		ck_assert_msg(ats_addr_is_local(&a) == rows[i].local, "%s", rows[i].text);
		ck_assert_int_eq(ats_addr_has_tls(&a),
		    rows[i].kind == ATS_ADDR_TLS || rows[i].kind == ATS_ADDR_WSS);
		ck_assert_int_eq(ats_addr_has_ws(&a),
		    rows[i].kind == ATS_ADDR_WS || rows[i].kind == ATS_ADDR_WSS);
	}
}
END_TEST

#define LABEL "123456789-123456789-123456789-123456789-123456789-123456789-abc"

START_TEST(parse_wrong_addresses_tells_what_is_expected)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ "", "an address is unix:/PATH" },
		{ "tcp", "an address is unix:/PATH" },
		{ "TCP://a:1", "small letters" },
		{ "http://a:1", "an address is unix:/PATH" },
		{ "tcp:/a:1", "an address is unix:/PATH" },
		{ "unix:", "absolute path" },
		{ "unix:run", "absolute path" },
		{ "unix://run/x", "absolute path" },
		{ "unix:/", "not a directory" },
		{ "unix:/x/", "not a directory" },
		{ "unix:/x\n", "control character" },
		{ "unix:/x y", "blank" },
		{ "unix:/\xff", "UTF-8" },
		{ "tcp://", "port after its host" },
		{ "tcp://a", "port after its host" },
		{ "tcp://a:", "a port is" },
		{ "tcp://:1", "has a host" },
		{ "tcp://[]:1", "has a host" },
		{ "tcp://a:65536", "a port is" },
		{ "tcp://a:99999999999999999999", "a port is" },
		{ "tcp://a:080", "a port is" },
		{ "tcp://a:00", "a port is" },
		{ "tcp://a:+8", "a port is" },
		{ "tcp://a:-8", "a port is" },
		{ "tcp://a:0x8", "a port is" },
		{ "tcp://a:8x", "a port is" },
		{ "tcp://a:1/", "ends with its port" },
		{ "tcp://a:1?x", "ends with its port" },
		{ "tls://a:1#x", "ends with its port" },
		{ "tcp://u@a:1", "no user name" },
		{ "ws://u:secret@a:1/", "no user name" },
		{ "tcp://::1:7", "in brackets" },
		{ "tcp://a:b:7", "one port" },
		{ "tcp://[::1:7", "ends with ]" },
		{ "tcp://[::1]7", "port after its host" },
		{ "tcp://[::1]", "port after its host" },
		{ "tcp://[fe80::1%eth0]:7", "without a zone" },
		{ "tcp://[fe80::1%25eth0]:7", "without a zone" },
		{ "tcp://[127.0.0.1]:7", "IPv6 address" },
		{ "tcp://[a]:7", "IPv6 address" },
		{ "tcp://127.1:7", "four decimal numbers" },
		{ "tcp://2130706433:7", "four decimal numbers" },
		{ "tcp://0x7f000001:7", "four decimal numbers" },
		{ "tcp://1.2.3.256:7", "four decimal numbers" },
		{ "tcp://1.2.3.04:7", "four decimal numbers" },
		{ "tcp://a.0x1:7", "four decimal numbers" },
		{ "tcp://a..b:7", "a host is" },
		{ "tcp://.a:7", "a host is" },
		{ "tcp://a.b.:7", "a host is" },
		{ "tcp://-a:7", "a host is" },
		{ "tcp://a-:7", "a host is" },
		{ "tcp://a-.b:7", "a host is" },
		{ "tcp://a%41:7", "a host is" },
		{ "tcp://\xc3\xa4:7", "a host is" },
		{ "tcp://" LABEL "d:7", "a host is" },
		{ "tcp://" LABEL "." LABEL "." LABEL "." LABEL ":7", "253" },
		{ "ws://a:1?x", "/ before its query" },
		{ "ws://a:1/#x", "no fragment" },
		{ "ws://a:1#x", "no fragment" },
		{ "ws://a:1/%4", "%HH" },
		{ "ws://a:1/%", "%HH" },
		{ "ws://a:1/\"", "%HH" },
		{ "ws://a:1/\xc3\xa4", "%HH" },
		{ "ws://a:1/\\", "%HH" },
		{ "ws://a:1/\r\nX: y", "control character" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_addr a = { .port = 77 };
		struct ats_err err = { .text = "" };

		ck_assert_msg(ats_addr_parse(rows[i].text, &a, &err) == -ATS_E_INVAL, "%s",
		    rows[i].text);
		ck_assert_msg(strstr(err.text, rows[i].said) != NULL, "%s: %s", rows[i].text,
		    err.text);
		ck_assert_ptr_null(strstr(err.text, "secret"));
		ck_assert_uint_eq(a.port, 77);
	}
}
END_TEST

START_TEST(own_addresses_are_of_loopback_or_a_socket)
{
	static const struct {
		const char *text, *host, *path;	/* both NULL: wrong */
		uint16_t port;
	} rows[] = {
		{ "127.0.0.1:8765", "127.0.0.1", "", 8765 }, { "127.9.9.9:0", "127.9.9.9", "", 0 },
		{ "localhost:1", "127.0.0.1", "", 1 }, { "[::1]:1", "::1", "", 1 },
		{ "unix:/run/x.sock", "", "/run/x.sock", 0 },
		{ "0.0.0.0:1", NULL, NULL, 0 }, { "[::]:1", NULL, NULL, 0 },
		{ "example.org:1", NULL, NULL, 0 }, { "127.0.0.1", NULL, NULL, 0 },
		{ "", NULL, NULL, 0 }, { "unix:x.sock", NULL, NULL, 0 },
		{ "127.0.0.1:1/mcp", NULL, NULL, 0 }, { "tcp://127.0.0.1:1", NULL, NULL, 0 },
	};
	char far[2 * ATS_ADDR_MAX];
	struct ats_err err;
	struct ats_addr a;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		int rc = ats_addr_parse_own(rows[i].text, &a, &err);

		ck_assert_msg((rc == 0) == (rows[i].host != NULL), "%s", rows[i].text);
		/* A scheme would be wrong here, and so is a text that shows one. */
		ck_assert_msg(rc == 0 || strstr(err.text, "tcp://") == NULL, "%s", err.text);
		if (rc < 0)
			continue;
		ck_assert_str_eq(a.host, rows[i].host);
		ck_assert_str_eq(a.path, rows[i].path);
		ck_assert_uint_eq(a.port, rows[i].port);
	}
	memset(far, 'a', sizeof(far) - 1);
	far[sizeof(far) - 1] = '\0';
	ck_assert_int_eq(ats_addr_parse_own(far, &a, NULL), -ATS_E_INVAL);
	ck_assert_int_eq(ats_addr_parse_own("foo", &a, &err), -ATS_E_INVAL);
	ck_assert_str_eq(err.text, "expected ADDRESS:PORT, as in 127.0.0.1:8765 or [::1]:8765, or "
	    "unix:/PATH");
}
END_TEST

START_TEST(parse_holds_to_its_lengths)
{
	char text[ATS_ADDR_MAX + 8];
	struct ats_addr a;
	struct ats_err err;

	memset(text, 'x', sizeof(text));
	memcpy(text, "ws://h:1/", 9);
	text[ATS_ADDR_MAX - 1] = '\0';
	ck_assert_int_eq(ats_addr_parse(text, &a, &err), 0);
	ck_assert_uint_eq(strlen(a.path), ATS_ADDR_MAX - 1 - 8);
	text[ATS_ADDR_MAX - 1] = 'x';
	text[ATS_ADDR_MAX] = '\0';
	ck_assert_int_eq(ats_addr_parse(text, &a, &err), -ATS_E_INVAL);
	memcpy(text, "unix:/xxx", 9);
	text[5 + 107] = '\0';
	ck_assert_int_eq(ats_addr_parse(text, &a, &err), 0);
	text[5 + 107] = 'x';
	text[5 + 108] = '\0';
	ck_assert_int_eq(ats_addr_parse(text, &a, &err), -ATS_E_INVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "107"));
	ck_assert_int_eq(ats_addr_parse("tcp://h:1", &a, NULL), 0);
	ck_assert_int_eq(ats_addr_parse("tcp://h", &a, NULL), -ATS_E_INVAL);
}
END_TEST

ATS_UNIT_MAIN("addr", parse_good_addresses_gives_their_parts,
    parse_wrong_addresses_tells_what_is_expected, own_addresses_are_of_loopback_or_a_socket,
    parse_holds_to_its_lengths)
