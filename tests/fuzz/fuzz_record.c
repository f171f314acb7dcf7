/* SPDX-License-Identifier: Apache-2.0
 *
 * What a new front takes over, from one that may be anything. Input: records, each its id, a byte
 * of how it is wrong, the lengths of JSON and payload, then both; descriptors of the kind that
 * belongs to a record come with it. Whatever comes is taken or refused with a reason; what was
 * taken can be told to a third front, which takes it as well; and no descriptor is left. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/record.h"
#include "hands/front/report.h"
#include "hands/front/spill.h"
#include "hands/front/upgrade.h"
#include "hands/init/roles.h"
#include "tests/fuzz/fuzz.h"

#define RECORDS 64
#define HEAD_JSON                                                                         \
	"{\"format\":%u,\"inside\":%u,\"tables\":\"%s\",\"boot\":\"h\",\"epoch\":1,"          \
	"\"next_job\":4,\"gateway_ids\":0,\"draining\":false,\"read\":true,"                   \
	"\"write\":true,\"shell\":true,\"key\":false}"
#define REPORT "{\"verified\":true}"

struct head {
	uint32_t id, json_len, payload_len, nfds;
};

static int
next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	(void)close(fd);
	return fd;
}

/* ---- a front ------------------------------------------------------------------------- */
static void
up(struct front *f)
{
	memset(f, 0, sizeof(*f));
	f->opt = (struct front_options){ .workspace = "/ws", .home = "/h", .confinement = "{}",
		.retention_ms = 1000, .heartbeat_ms = 1000, .background_jobs = 4,
		.background_life_s = 60, .number = 2 };
	f->base = event_base_new();
	FUZZ_CHECK(f->base != NULL);
	ats_buf_init(&f->rx, FRONT_RX_MAX);
	ats_buf_init(&f->arena, 1u << 20);
	ats_buf_init(&f->out, WORKER_JSON_MAX + 4096);
}

static void
down(struct front *f)
{
	background_free(f->background);
	if (f->calls != NULL)
		calls_free(f->calls);
	link_free(f->link);
	front_report_free(f->report);
	pool_free(f->pool);
	spill_store_free(f->spills);
	ats_buf_done(&f->rx);
	ats_buf_done(&f->arena);
	ats_buf_done(&f->out);
	event_base_free(f->base);
}

/* ---- the one before ------------------------------------------------------------------ */
/* Descriptors as they come with it; their other ends are closed at once. */
static size_t
make_fds(uint32_t id, size_t n, int fds[ATS_FD_PASS_MAX])
{
	int pair[2];

	for (size_t i = 0; i < n; i++) {
		if (id == RECORD_ID_SPILL) {
			fds[i] = memfd_create("spill", MFD_CLOEXEC);
			FUZZ_CHECK(fds[i] >= 0);
			continue;
		}
		FUZZ_CHECK(id == RECORD_ID_SHELL && i > 0 ? ats_fd_pipe(pair, O_NONBLOCK) == 0 :
		    ats_fd_socketpair(id == RECORD_ID_HEAD ? SOCK_SEQPACKET : SOCK_STREAM,
			pair) == 0);
		fds[i] = pair[0];
		(void)close(pair[1]);
	}
	return n;
}

static void
put(int sock, uint32_t id, uint8_t wrong, const char *json, size_t json_len,
    struct ats_slice payload, size_t nfds)
{
	static char d[sizeof(struct head) + 65536];
	struct head h = { id, (uint32_t)json_len, (uint32_t)payload.n, (uint32_t)nfds };
	int fds[ATS_FD_PASS_MAX];

	nfds = make_fds(id, nfds, fds);
	h.json_len += (wrong & 1) != 0;
	h.payload_len += (wrong & 2) != 0;
	h.nfds += (wrong & 4) != 0;
	memcpy(d, &h, sizeof(h));
	memcpy(d + sizeof(h), json, json_len);
	(void)!ats_fd_send(sock, d, sizeof(h) + json_len, fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
	if (payload.n > 0)
		(void)!ats_fd_send(sock, payload.p, payload.n, NULL, 0);
}

/* The head is right, but for those who write another. */
static void
put_all(int sock, struct fuzz_in *in)
{
	char json[512];
	int n = snprintf(json, sizeof(json), HEAD_JSON, RECORD_FORMAT, HANDS_INSIDE,
	    ats_proto_digest());

	put(sock, RECORD_ID_HEAD, 0, json, (size_t)n,
	    (struct ats_slice){ REPORT, strlen(REPORT) }, 3);
	for (int i = 0; i < RECORDS && in->n > 0; i++) {
		uint32_t id = fuzz_byte(in);
		uint8_t how = fuzz_byte(in);
		size_t json_len = fuzz_byte(in), payload;
		struct ats_slice text;

		json_len |= (size_t)fuzz_byte(in) << 8;
		payload = fuzz_byte(in);
		payload |= (size_t)fuzz_byte(in) << 8;
		text = fuzz_bytes(in, json_len);
		put(sock, id, how & 7, text.p, text.n, fuzz_bytes(in, payload), how >> 4 & 7);
	}
}

/* ---- to the one after ---------------------------------------------------------------- */
static bool
tell(const struct front *f, int sock)
{
	struct record_HEAD head = { .format = RECORD_FORMAT, .inside = HANDS_INSIDE,
		.tables = ats_proto_digest(), .boot = f->boot, .epoch = link_epoch(f->link),
		.next_job = background_next(f->background) };
	const struct ats_slice report = front_report_json(f->report);
	struct record_END end = { 0 };
	struct records r;
	int rc;

	records_init(&r, sock, 0);
	rc = record_send(&r, RECORD_ID_HEAD, &head, &report, 1, NULL, 0);
	if (rc == 0)
		rc = background_save(f->background, &r, &end.jobs);
	if (rc == 0)
		rc = calls_save(f->calls, &r, &end.calls);
	if (rc == 0)
		rc = record_send(&r, RECORD_ID_END, &end, NULL, 0, NULL, 0);
	records_done(&r);
	return rc == 0;
}

/* What is said on sock was said, and its other end is closed. */
static bool
take(struct front *f, int sock, int dir)
{
	struct records r;
	int rc;

	up(f);
	records_init(&r, sock, 0);
	rc = takeover_take(f, dir, &r);
	FUZZ_CHECK(rc == 0 || (rc == -r.err.code && r.err.text[0] != '\0'));
	records_done(&r);
	return rc == 0;
}

static void
open_pair(int pair[2])
{
	FUZZ_CHECK(ats_fd_socketpair(SOCK_SEQPACKET, pair) == 0);
	FUZZ_CHECK(ats_fd_nonblock(pair[0], true) == 0 && ats_fd_nonblock(pair[1], true) == 0);
}

static void
be_quiet(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct front f, g;
	static int dir = -1;
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in);
	char name[] = "/tmp/ats-fuzz-record-XXXXXX";
	int pair[2], before;
	bool taken, told;

	ats_log_init("fuzz", ATS_LOG_ERROR, -1);
	event_set_log_callback(be_quiet);
	if (dir < 0) {
		FUZZ_CHECK(mkdtemp(name) != NULL);
		dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)rmdir(name);	/* nothing is made in it */
	}
	before = next_fd();
	open_pair(pair);
	put_all(pair[0], &in);
	ats_fault_alloc(fault);
	taken = take(&f, pair[1], dir);
	ats_fault_alloc(0);
	ats_fd_close(&pair[0]);
	ats_fd_close(&pair[1]);
	/* Where more was said than the socket takes it could not be told. */
	if (taken && calls_move(f.calls) == CALL_MOVES && background_can_move(f.background)) {
		open_pair(pair);
		told = tell(&f, pair[0]);
		FUZZ_CHECK(!take(&g, pair[1], dir) || told);
		if (told)
			FUZZ_CHECK(calls_active(g.calls) == calls_active(f.calls) &&
			    background_running(g.background) == background_running(f.background));
		down(&g);
		ats_fd_close(&pair[0]);
		ats_fd_close(&pair[1]);
	}
	down(&f);
	FUZZ_CHECK(next_fd() == before);
	return 0;
}
