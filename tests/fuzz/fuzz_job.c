/* SPDX-License-Identifier: Apache-2.0
 *
 * What zygotes, workers and monitors read from front. Input: which of the three, how the
 * bytes are cut (a descriptor or several at each cut: a read ends there), then the bytes, of
 * a job with its head's two sizes first. What comes out is what went in, or nothing. */
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/worker/job.h"
#include "tests/fuzz/fuzz.h"

enum { JOB, ORDERS_ZYGOTE, ORDERS_MONITOR, KINDS };

#define SMALL 256
#define STRINGS 24

static int
open_fds(void)
{
	int fd = dup(STDERR_FILENO);

	(void)close(fd);
	return fd;
}

static void
put(int sock, const char *p, size_t n, unsigned nfds)
{
	const int fds[ATS_FD_PASS_MAX] = { 2, 2, 2, 2, 2, 2, 2, 2 };

	FUZZ_CHECK(ats_fd_send(sock, p, n, fds, nfds % ATS_FD_PASS_MAX) == (ssize_t)n);
}

/* Each half of a byte: the length of a piece in sixteenths, and its descriptors. */
static void
put_cut(int sock, struct ats_slice all, struct fuzz_in cuts)
{
	while (all.n > 0) {
		uint8_t b = fuzz_byte(&cuts);
		size_t n = b >> 4 == 0 ? all.n : (all.n * (b >> 4) + 15) / 16;

		put(sock, all.p, n, b & 15);
		all.p += n;
		all.n -= n;
	}
}

static void
check_strings(const struct job *j)
{
	const char *cwd, *strings[STRINGS], *argv[STRINGS];
	const char *end = j->json + j->head.json_len;
	size_t n = 0;

	if (job_strings(j, &cwd, strings, STRINGS, &n) == 0) {
		FUZZ_CHECK(n <= STRINGS && cwd + strlen(cwd) < end);
		for (size_t i = 0; i < n; i++)
			FUZZ_CHECK(*strings[i] != '\0' && strings[i] + strlen(strings[i]) < end);
	}
	n = job_argv(j, argv, STRINGS);
	FUZZ_CHECK(n < STRINGS && argv[n] == NULL);
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(argv[i] + strlen(argv[i]) <= j->extra + j->head.extra_len);
}

/* The answer, as front would read it. */
static void
check_reply(const struct job *j)
{
	struct reply_head h;
	int pair[2], fd = -1;
	size_t nfds;
	char *p;

	FUZZ_CHECK(ats_fd_socketpair(SOCK_STREAM, pair) == 0);
	FUZZ_CHECK(job_reply_fd(pair[0], REPLY_RESULT, j->json, j->head.json_len, j->extra,
	    j->head.extra_len, 2) == 0);
	FUZZ_CHECK(ats_fd_recv(pair[1], &h, sizeof h, &fd, 1, &nfds) == sizeof h);
	FUZZ_CHECK(nfds == 1 && h.what == REPLY_RESULT && h.json_len == j->head.json_len &&
	    h.payload_len == j->head.extra_len);
	(void)close(fd);
	p = malloc((size_t)h.json_len + h.payload_len + 1);
	FUZZ_CHECK(p != NULL);
	FUZZ_CHECK(ats_fd_read_all(pair[1], p, (size_t)h.json_len + h.payload_len) == 0);
	FUZZ_CHECK(memcmp(p, j->json, h.json_len) == 0 &&
	    memcmp(p + h.json_len, j->extra, h.payload_len) == 0);
	free(p);
	(void)close(pair[1]);
	job_wait_release(pair[0]);
	FUZZ_CHECK(job_reply(pair[0], REPLY_RESULT, "x", 1, NULL, 0) < 0);
	(void)close(pair[0]);
}

static void
read_a_job(int sock, struct ats_slice sent, unsigned fault)
{
	const size_t head = sizeof(struct job_head);
	char *small = malloc(SMALL);
	struct job j = { .fd = -1 };
	int rc;

	FUZZ_CHECK(small != NULL);
	ats_fault_alloc(fault);
	rc = job_read(sock, small, SMALL, &j);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 1 || rc < 0);
	if (rc == 1) {
		FUZZ_CHECK(sent.n >= head && memcmp(&j.head, sent.p, head) == 0);
		FUZZ_CHECK(memcmp(j.json, sent.p + head, j.head.json_len) == 0);
		FUZZ_CHECK(
		    memcmp(j.extra, sent.p + head + j.head.json_len, j.head.extra_len) == 0);
		FUZZ_CHECK(j.json[j.head.json_len] == '\0' && j.extra[j.head.extra_len] == '\0');
		check_strings(&j);
		check_reply(&j);
		free(j.big);
		if (j.fd >= 0)
			(void)close(j.fd);
	}
	free(small);
}

static void
try_job(struct fuzz_in *in, struct fuzz_in cuts, unsigned fault)
{
	struct job_head h = { 0 };
	char *all = malloc(sizeof h + in->n + 1);
	int pair[2];
	size_t n;

	FUZZ_CHECK(all != NULL && ats_fd_socketpair(SOCK_STREAM, pair) == 0);
	n = fuzz_byte(in) & 0x80 ? 0 : sizeof h;
	h.json_len = (uint32_t)(fuzz_byte(in) | fuzz_byte(in) << 8);
	h.extra_len = (uint32_t)(fuzz_byte(in) | fuzz_byte(in) << 8);
	if (h.json_len >= 0xff00)
		h.json_len <<= 16;
	if (h.extra_len >= 0xff00)
		h.extra_len <<= 16;
	memcpy(all, &h, n);
	memcpy(all + n, in->p, in->n);
	put_cut(pair[0], (struct ats_slice){ all, n + in->n }, cuts);
	(void)close(pair[0]);
	read_a_job(pair[1], (struct ats_slice){ all, n + in->n }, fault);
	(void)close(pair[1]);
	free(all);
}

/* A datagram a cut; those of the right size may be orders. */
static void
try_zygote(struct fuzz_in *in)
{
	struct zygote_msg m, got;
	char big[2 * sizeof m] = { 0 };
	int pair[2], rc;

	FUZZ_CHECK(ats_fd_socketpair(SOCK_SEQPACKET, pair) == 0);
	FUZZ_CHECK(ats_fd_nonblock(pair[1], true) == 0);
	FUZZ_CHECK(order_zygote(pair[1], &got) == 0);
	while (in->n > 0) {
		uint8_t how = fuzz_byte(in);
		size_t n = how & 0x80 ? how & 0x7f : sizeof m + (how >> 6);
		struct ats_slice s = fuzz_bytes(in, sizeof m);

		memset(&m, 0, sizeof m);
		memcpy(&m, s.p, s.n);
		memcpy(big, &m, sizeof m);
		put(pair[0], big, n, how & 0x3);
		rc = order_zygote(pair[1], &got);
		if (n != sizeof m || (how & 0x3) != 0)
			FUZZ_CHECK(rc <= 0);
		else
			FUZZ_CHECK(rc == (m.what == ZYGOTE_WANT || m.what == ZYGOTE_KILL) &&
			    (rc == 0 || memcmp(&m, &got, sizeof m) == 0));
	}
	(void)close(pair[0]);
	FUZZ_CHECK(order_zygote(pair[1], &got) == -ATS_E_EOF);
	(void)close(pair[1]);
}

static void
try_monitor(struct fuzz_in *in, struct fuzz_in cuts)
{
	struct ats_slice all = { (const char *)in->p, in->n };
	struct monitor_msg m;
	int pair[2];
	size_t n = 0;

	FUZZ_CHECK(ats_fd_socketpair(SOCK_STREAM, pair) == 0);
	put_cut(pair[0], all, cuts);
	(void)close(pair[0]);
	while (order_monitor(pair[1], &m) > 0) {
		FUZZ_CHECK(n + sizeof m <= all.n && memcmp(&m, all.p + n, sizeof m) == 0);
		n += sizeof m;
	}
	FUZZ_CHECK(all.n - n < sizeof m);
	(void)close(pair[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), kind = fuzz_byte(&in) % KINDS;
	struct ats_slice cut = fuzz_bytes(&in, 4);
	struct fuzz_in cuts = { (const uint8_t *)cut.p, cut.n };
	int before = open_fds();

	if (kind == JOB)
		try_job(&in, cuts, fault);
	else if (kind == ORDERS_ZYGOTE)
		try_zygote(&in);
	else
		try_monitor(&in, cuts);
	FUZZ_CHECK(open_fds() == before);
	return 0;
}
