/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP proxies: which one is used, what it is asked, and what it may answer. */
#include "common/proxy.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "tests/lib/unit.h"

static struct ats_addr
addr(const char *text)
{
	struct ats_addr a;

	ck_assert_int_eq(ats_addr_parse(text, &a, NULL), 0);
	return a;
}

START_TEST(read_takes_a_url_with_a_user_or_none)
{
	static const struct {
		const char *text, *host, *auth;
		unsigned port;
	} rows[] = {
		{ "", "", "", 0 },
		{ "none", "", "", 0 },
		{ "http://proxy.corp:3128", "proxy.corp", "", 3128 },
		{ "HTTP://proxy.corp:3128/", "proxy.corp", "", 3128 },
		{ "http://[2001:db8::1]:80", "2001:db8::1", "", 80 },
		{ "http://me:pass@10.0.0.1:8080", "10.0.0.1", "bWU6cGFzcw==", 8080 },
		{ "http://me:@p:1", "p", "bWU6", 1 },
		{ "http://a%40b:c%3Ad@p:1", "p", "YUBiOmM6ZA==", 1 },
		{ "http://me:p@ss@p:1", "p", "bWU6cEBzcw==", 1 },
	};
	struct ats_proxy p;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		err = (struct ats_err){ 0 };
		ck_assert_msg(ats_proxy_read(rows[i].text, &p, &err) == 0, "%s: %s", rows[i].text,
		    err.text);
		ck_assert_uint_eq(p.at.port, rows[i].port);
		ck_assert_str_eq(p.auth, rows[i].auth);
		if (rows[i].port != 0)
			ck_assert_str_eq(p.at.host, rows[i].host);
		ck_assert_ptr_null(strstr(p.at.text, "pass"));
	}
}
END_TEST

START_TEST(read_refuses_the_rest_and_repeats_none_of_it)
{
	static const char *const rows[] = { "proxy:3128", "https://hidden:443", "socks5://hidden:1",
		"http://hidden", "http://hidden:", "http://hidden:0", "http://hidden:70000",
		"http://:1", "http://hidden@p:1", "http://u:hidden%zz@p:1", "http://u:hidden%4@p:1",
		"http://u:hidden%0a@p:1", "http://u:hidden%00@p:1", "http://u:hidden\n@p:1",
		"http://hidden:1/path", "http://hi dden:1", "file:relative/hidden", "direct" };
	struct ats_proxy p = { .auth = "kept" };
	struct ats_err err;
	char text[2000];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(ats_proxy_read(rows[i], &p, &err) == -ATS_E_INVAL, "%s", rows[i]);
		ck_assert_msg(strstr(err.text, "hidden") == NULL, "%s", err.text);
	}
	(void)snprintf(text, sizeof(text), "http://u:%0*d@p:1", (int)ATS_PROXY_USER_MAX - 2, 0);
	ck_assert_int_eq(ats_proxy_read(text, &p, &err), 0);
	(void)snprintf(text, sizeof(text), "http://u:%0*d@p:1", (int)ATS_PROXY_USER_MAX - 1, 0);
	ck_assert_int_eq(ats_proxy_read(text, &p, &err), -ATS_E_INVAL);
	(void)snprintf(text, sizeof(text), "http://%01000d:1", 0);
	ck_assert_int_eq(ats_proxy_read(text, &p, &err), -ATS_E_INVAL);
}
END_TEST

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

START_TEST(read_of_a_file_wants_one_that_is_ours_alone)
{
	char dir[] = "/tmp/ats-proxy-XXXXXX", path[64], name[80], text[1200];
	struct ats_proxy p;
	struct ats_err err;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/proxy", dir);
	(void)snprintf(name, sizeof(name), "file:%s", path);
	ck_assert_int_eq(ats_proxy_read(name, &p, &err), -ATS_E_NOENT);
	put(path, "http://me:hidden@proxy.corp:3128\r\nmore\n");
	ck_assert_int_eq(ats_proxy_read(name, &p, &err), 0);
	ck_assert_str_eq(p.at.host, "proxy.corp");
	ck_assert_str_ne(p.auth, "");
	put(path, "file:/etc/passwd\n");		/* not once more */
	ck_assert_int_eq(ats_proxy_read(name, &p, &err), -ATS_E_INVAL);
	put(path, "");
	ck_assert_int_eq(ats_proxy_read(name, &p, &err), -ATS_E_INVAL);
	(void)snprintf(text, sizeof(text), "http://me:%01100d@p:1", 0);
	put(path, text);
	ck_assert_int_eq(ats_proxy_read(name, &p, &err), -ATS_E_TOOBIG);
	put(path, "http://me:hidden@proxy.corp:3128\n");
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(ats_proxy_read(name, &p, &err), -ATS_E_INVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "chmod 600"));
	(void)snprintf(name, sizeof(name), "file:%s", dir);
	ck_assert_int_lt(ats_proxy_read(name, &p, &err), 0);
	(void)unlink(path);
	(void)rmdir(dir);
}
END_TEST

START_TEST(no_proxy_names_hosts_networks_and_what_is_below_a_name)
{
	static const struct {
		const char *list, *to;
		bool exempt;
	} rows[] = {
		{ "", "wss://a.example:443/", false },
		{ "*", "wss://a.example:443/", true },
		{ "a.example", "wss://A.Example:443/", true },
		{ "example", "wss://a.example:443/", true },
		{ ".example", "wss://a.example:443/", true },
		{ "*.example", "wss://a.example:443/", true },
		{ ".a.example", "wss://a.example:443/", true },
		{ "xample", "wss://a.example:443/", false },
		{ ".", "wss://a.example:443/", false },
		{ "b.a.example", "wss://a.example:443/", false },
		{ "a.example.org, x\t,,a.example", "wss://a.example:443/", true },
		{ "a.example:443", "wss://a.example:443/", true },
		{ "a.example:80", "wss://a.example:443/", false },
		{ "10.0.0.0/8", "tls://10.200.3.4:1", true },
		{ "10.0.0.0/8", "tls://11.0.0.1:1", false },
		{ "10.128.0.0/9", "tls://10.127.0.1:1", false },
		{ "10.128.0.0/9:1", "tls://10.129.0.1:1", true },
		{ "10.1.2.3", "tls://10.1.2.3:1", true },
		{ "10.1.2.3", "tls://10.1.2.30:1", false },
		{ "0.0.0.0/0", "tls://10.1.2.3:1", true },
		{ "0.0.0.0/0", "tls://[2001:db8::1]:1", false },
		{ "10.1.2.3/33,10.1.2.3/x,10.1.2.3/", "tls://10.1.2.3:1", false },
		{ "2001:db8::/32", "tls://[2001:db8:1::1]:1", true },
		{ "2001:db8::/129,2001:db8::/128", "tls://[2001:db8::1]:1", false },
		{ "[2001:db8::1]", "tls://[2001:db8::1]:1", true },
		{ "[2001:db8::1]:2", "tls://[2001:db8::1]:1", false },
		{ "2.3", "tls://10.1.2.3:1", false },
		{ ":", "tls://a.example:1", false },
		{ "[]", "tls://a.example:1", false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_addr to = addr(rows[i].to);

		ck_assert_msg(ats_proxy_is_exempt(rows[i].list, &to) == rows[i].exempt, "%s %s",
		    rows[i].list, rows[i].to);
	}
}
END_TEST

START_TEST(environment_counts_for_tls_beyond_this_machine)
{
	static const struct {
		const char *upper, *lower, *no, *to;
		unsigned port;
	} rows[] = {
		{ "http://p:1", NULL, NULL, "wss://a.example:443/", 1 },
		{ "http://p:1", "http://p:2", NULL, "tls://a.example:443", 1 },
		{ "", "p:2", NULL, "tls://a.example:443", 2 },
		{ NULL, NULL, NULL, "tls://a.example:443", 0 },
		{ "http://p:1", NULL, "a.example", "tls://a.example:443", 0 },
		{ "http://p:1", NULL, NULL, "ws://a.example:443/", 0 },
		{ "http://p:1", NULL, NULL, "tcp://a.example:443", 0 },
		{ "http://p:1", NULL, NULL, "wss://127.0.0.1:443/", 0 },
		{ "http://p:1", NULL, NULL, "wss://localhost:443/", 0 },
		{ "https://p:1", NULL, "a.example", "tls://a.example:443", 0 },
	};
	struct ats_addr to = addr("tls://a.example:443");
	struct ats_proxy p;
	struct ats_err err = { 0 };

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		(void)unsetenv("HTTPS_PROXY"), (void)unsetenv("https_proxy");
		(void)unsetenv("NO_PROXY"), (void)unsetenv("no_proxy");
		if (rows[i].upper != NULL)
			(void)setenv("HTTPS_PROXY", rows[i].upper, 1);
		if (rows[i].lower != NULL)
			(void)setenv("https_proxy", rows[i].lower, 1);
		if (rows[i].no != NULL)
			(void)setenv("no_proxy", rows[i].no, 1);
		to = addr(rows[i].to);
		ck_assert_msg(ats_proxy_of_environment(&to, &p, &err) == 0, "%zu: %s", i, err.text);
		ck_assert_uint_eq(p.at.port, rows[i].port);
		ck_assert(ats_proxy_serves(&p, &to) == (rows[i].port != 0));
	}
	(void)unsetenv("no_proxy");
	to = addr("tls://a.example:443");
	ck_assert_int_eq(ats_proxy_of_environment(&to, &p, &err), -ATS_E_INVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "HTTPS_PROXY"));
}
END_TEST

/* ---- asking ---------------------------------------------------------------------------- */

/* What a proxy that answers so makes of it. n: of the answer, which is closed after; what is left
 * in the socket goes to ret_rest. */
static int
asked(const char *to_text, const char *answer, size_t n, bool ends, char ret_rest[16],
    struct ats_err *err)
{
	struct ats_addr to = addr(to_text);
	struct ats_proxy p;
	int fds[2], rc;
	ssize_t got;

	*err = (struct ats_err){ 0 };
	ck_assert_int_eq(ats_proxy_read("http://me:hidden@p.example:3128", &p, NULL), 0);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	ck_assert_int_eq(ats_fd_nonblock(fds[0], true), 0);
	ck_assert_int_eq(write(fds[1], answer, n), (ssize_t)n);
	if (ends)
		(void)shutdown(fds[1], SHUT_WR);
	rc = ats_proxy_ask(fds[0], &p, &to, ats_clock_us() + 100000, err);
	got = recv(fds[0], ret_rest, 15, MSG_DONTWAIT);
	ret_rest[got > 0 ? got : 0] = '\0';
	(void)close(fds[0]);
	(void)close(fds[1]);
	return rc;
}

#define OK "HTTP/1.1 200 Connection established\r\n"

START_TEST(ask_takes_a_2xx_and_leaves_what_is_the_peers)
{
	static const char *const rows[] = { OK "\r\n", "HTTP/1.0 200 Established\r\n\r\n",
		"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 299 x\r\nA: b\r\n\r\n",
		OK "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" };
	struct ats_err err;
	char rest[16], text[200];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		int n = snprintf(text, sizeof(text), "%s\x16\r\n\r\nats", rows[i]);

		ck_assert_msg(asked("tls://[2001:db8::1]:7", text, (size_t)n, false, rest,
		    &err) == 0, "%s: %s", rows[i], err.text);
		ck_assert_str_eq(rest, "\x16\r\n\r\nats");
	}
}
END_TEST

START_TEST(ask_refuses_other_answers_and_repeats_none)
{
	static char big[ATS_PROXY_HEAD_MAX + 1];
	static const struct {
		const char *answer, *says;
		int code;
	} rows[] = {
		{ "HTTP/1.1 407 hidden\r\nProxy-Authenticate: Basic realm=\"hidden\"\r\n\r\n",
		    "(407)", ATS_E_PERM },
		{ "HTTP/1.1 403 hidden\r\n\r\nhidden", "(403)", ATS_E_SYS },
		{ "HTTP/1.1 502 hidden\r\n\r\n", "it answers 502", ATS_E_SYS },
		{ "HTTP/1.1 100 Continue\r\n\r\n", "it answers 100", ATS_E_SYS },
		{ "HTTP/1.1 301 x\r\nLocation: http://hidden/\r\n\r\n", "answers 301", ATS_E_SYS },
		{ "HTTP/2 200\r\n\r\n", "not a response", ATS_E_PROTO },
		{ "HTTP/1.1 2000 x\r\n\r\n", "without a status", ATS_E_PROTO },
		{ "HTTP/1.1 20 x\r\n\r\n", "without a status", ATS_E_PROTO },
		{ "hidden\r\n\r\n", "not a response", ATS_E_PROTO },
		{ OK "hidden\r\n\r\n", "no field", ATS_E_PROTO },
		{ OK " hidden: x\r\n\r\n", "no field", ATS_E_PROTO },
		{ OK, "closed the connection", ATS_E_EOF },
		{ "", "closed the connection", ATS_E_EOF },
		{ big, "more than 8192 bytes", ATS_E_TOOBIG },
	};
	struct ats_err err;
	char rest[16];

	memset(big, 'x', sizeof(big) - 1);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(asked("tls://b.example:7", rows[i].answer, strlen(rows[i].answer),
		    true, rest, &err), -rows[i].code);
		ck_assert_msg(strstr(err.text, rows[i].says) != NULL, "%s", err.text);
		ck_assert_ptr_nonnull(strstr(err.text, "the proxy p.example:3128, asked for "
		    "b.example:7: "));
		ck_assert_msg(strstr(err.text, "hidden") == NULL, "%s", err.text);
	}
	ck_assert_int_eq(asked("tls://b.example:7", OK, strlen(OK), false, rest, &err),
	    -ATS_E_TIMEOUT);
	/* One byte less has room. */
	memcpy(big, OK "A: ", strlen(OK "A: "));
	memcpy(big + sizeof(big) - 5, "\r\n\r\n", 5);
	ck_assert_int_eq(asked("tls://b.example:7", big, strlen(big), true, rest, &err), 0);
}
END_TEST

struct dripper {
	int fd;
	bool stop;
};

static void *
drip(void *arg)
{
	struct dripper *d = arg;

	(void)send(d->fd, OK "A: ", strlen(OK "A: "), MSG_NOSIGNAL);
	while (!__atomic_load_n(&d->stop, __ATOMIC_RELAXED) &&
	    send(d->fd, "x", 1, MSG_NOSIGNAL) == 1)
		(void)usleep(500);
	return NULL;
}

/* Each byte comes in time: all of them together have that time. */
START_TEST(ask_of_a_proxy_that_drips_ends_in_time)
{
	struct ats_addr to = addr("tls://b.example:7");
	struct ats_proxy p;
	struct dripper d = { .stop = false };
	struct ats_err err = { 0 };
	uint64_t begin = ats_clock_us();
	pthread_t thread;
	int fds[2];

	ck_assert_int_eq(ats_proxy_read("http://p:1", &p, NULL), 0);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	ck_assert_int_eq(ats_fd_nonblock(fds[0], true), 0);
	d.fd = fds[1];
	ck_assert_int_eq(pthread_create(&thread, NULL, drip, &d), 0);
	ck_assert_int_eq(ats_proxy_ask(fds[0], &p, &to, begin + 200000, &err), -ATS_E_TIMEOUT);
	ck_assert_uint_lt(ats_clock_us() - begin, 3000000);
	__atomic_store_n(&d.stop, true, __ATOMIC_RELAXED);
	(void)pthread_join(thread, NULL);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

ATS_UNIT_MAIN("proxy", read_takes_a_url_with_a_user_or_none,
    read_refuses_the_rest_and_repeats_none_of_it, read_of_a_file_wants_one_that_is_ours_alone,
    no_proxy_names_hosts_networks_and_what_is_below_a_name,
    environment_counts_for_tls_beyond_this_machine,
    ask_takes_a_2xx_and_leaves_what_is_the_peers, ask_refuses_other_answers_and_repeats_none,
    ask_of_a_proxy_that_drips_ends_in_time)
