/* SPDX-License-Identifier: Apache-2.0
 *
 * What a front takes from the one before it, and what it refuses: records that are no records,
 * of another version, or that contradict themselves. */
#include "hands/front/record.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/report.h"
#include "hands/front/spill.h"
#include "hands/front/upgrade.h"
#include "hands/init/roles.h"
#include "tests/lib/unit.h"

#include <event2/event.h>

#define REPORT "{\"verified\":true}"

struct raw_head {
	uint32_t id, json_len, payload_len, nfds;
};

static int ends[2];

static void
setup(void)
{
	ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET, ends), 0);
	ck_assert_int_eq(ats_fd_nonblock(ends[0], true), 0);
	ck_assert_int_eq(ats_fd_nonblock(ends[1], true), 0);
}

static void
teardown(void)
{
	ats_fd_close(&ends[0]);
	ats_fd_close(&ends[1]);
}

static int
open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* One datagram as somebody may send it. */
static void
say(uint32_t id, const char *json, uint32_t json_len, uint32_t payload_len, uint32_t nfds,
    unsigned really)
{
	char p[4096];
	struct raw_head h = { id, json_len, payload_len, nfds };
	const int fds[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	memcpy(p, &h, sizeof(h));
	memcpy(p + sizeof(h), json, strlen(json));
	ck_assert_int_gt(ats_fd_send(ends[0], p, sizeof(h) + strlen(json), fds, really), 0);
}

static int
hear(union record_any *rec, unsigned ms)
{
	struct records r;
	int rc;

	records_init(&r, ends[1], ms);
	rc = record_any(&r, rec);
	ck_assert(rc == 0 || (r.err.code == -rc && r.err.text[0] != '\0'));
	records_done(&r);
	return rc;
}

START_TEST(record_any_of_what_is_none_is_refused_and_leaves_no_descriptor)
{
	static const struct {
		uint32_t id;
		const char *json;
		int json_more;
		uint32_t payload, nfds;
		unsigned really;
		int code;
	} bad[] = {
		{ RECORD_COUNT, "{}", 0, 0, 0, 0, ATS_E_VERSION },
		{ UINT32_MAX, "{}", 0, 0, 0, 0, ATS_E_VERSION },
		{ RECORD_ID_STOP, "{}", 1, 0, 0, 0, ATS_E_PROTO },
		{ RECORD_ID_STOP, "{}", -1, 0, 0, 0, ATS_E_PROTO },
		{ RECORD_ID_STOP, "{}", 0, 1, 0, 0, ATS_E_PROTO },
		{ RECORD_ID_STOP, "{}", 0, UINT32_MAX, 0, 0, ATS_E_PROTO },
		{ RECORD_ID_STOP, "{}", 0, 0, 0, 1, ATS_E_PROTO },
		{ RECORD_ID_STOP, "{}", 0, 0, 1, 1, ATS_E_PROTO },
		{ RECORD_ID_STOP, "{}", 0, 0, 1, 0, ATS_E_PROTO },
		{ RECORD_ID_SPILL, "{}", 0, 0, 3, 3, ATS_E_PROTO },
		{ RECORD_ID_SPILL, "{}", 0, 0, 2, 2, ATS_E_FIELD },
		{ RECORD_ID_STOP, "", 0, 0, 0, 0, ATS_E_JSON },
		{ RECORD_ID_STOP, "[]", 0, 0, 0, 0, ATS_E_FIELD },
		{ RECORD_ID_STOP, "{", 0, 0, 0, 0, ATS_E_JSON },
		{ RECORD_ID_STOP, "{\"a\":1}", 0, 0, 0, 0, ATS_E_FIELD },
		{ RECORD_ID_END, "{\"jobs\":1}", 0, 0, 0, 0, ATS_E_FIELD },
		{ RECORD_ID_END, "{\"jobs\":1,\"calls\":-1}", 0, 0, 0, 0, ATS_E_FIELD },
		{ RECORD_ID_END, "{\"jobs\":1,\"calls\":4294967296}", 0, 0, 0, 0, ATS_E_FIELD },
		{ RECORD_ID_END, "{\"jobs\":1,\"jobs\":1,\"calls\":1}", 0, 0, 0, 0, ATS_E_JSON },
	};
	union record_any rec;
	int before = open_fds() + 2;	/* ends */

	setup();
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		say(bad[i].id, bad[i].json, (uint32_t)((int)strlen(bad[i].json) + bad[i].json_more),
		    bad[i].payload, bad[i].nfds, bad[i].really);
		ck_assert_msg(hear(&rec, 0) == -bad[i].code, "%zu", i);
		ck_assert_int_eq(open_fds(), before);
	}
	say(RECORD_ID_END, "{\"jobs\":1,\"calls\":2}", 20, 0, 0, 0);
	ck_assert_int_eq(hear(&rec, 0), 0);
	ck_assert_uint_eq(rec.END.calls, 2);
	teardown();
}
END_TEST

START_TEST(record_any_short_silent_or_ended_says_which)
{
	union record_any rec;

	setup();
	ck_assert_int_eq(hear(&rec, 1), -ATS_E_TIMEOUT);
	ck_assert_int_eq(write(ends[0], "x", 1), 1);
	ck_assert_int_eq(hear(&rec, 0), -ATS_E_PROTO);
	say(RECORD_ID_CAPTURE, "{\"total\":9,\"head\":9}", 20, 9, 0, 0);
	ck_assert_int_eq(write(ends[0], "four", 4), 4);
	ck_assert_int_eq(hear(&rec, 1), -ATS_E_TIMEOUT);
	say(RECORD_ID_CAPTURE, "{\"total\":9,\"head\":9}", 20, 3, 0, 0);
	ck_assert_int_eq(write(ends[0], "four", 4), 4);
	ck_assert_int_eq(hear(&rec, 0), -ATS_E_PROTO);
	ats_fd_close(&ends[0]);
	ck_assert_int_eq(hear(&rec, 1000), -ATS_E_EOF);
	teardown();
}
END_TEST

START_TEST(record_any_of_an_end_that_left_something_unread_is_what_it_said)
{
	union record_any rec;
	struct records r;

	setup();
	ck_assert_int_eq(write(ends[1], "unread", 6), 6);
	say(RECORD_ID_STOP, "{}", 2, 0, 0, 0);
	ats_fd_close(&ends[0]);
	records_init(&r, ends[1], 0);
	ck_assert_int_eq(record_any(&r, &rec), 0);
	ck_assert_int_eq((int)r.id, RECORD_ID_STOP);
	ck_assert_int_eq(record_any(&r, &rec), -ATS_E_EOF);
	records_done(&r);
	teardown();
}
END_TEST

/* ---- a whole takeover ---------------------------------------------------------------- */
static struct front f;

static void
front_up(void)
{
	memset(&f, 0, sizeof(f));
	f.opt = (struct front_options){ .workspace = "/ws", .home = "/h", .confinement = "{}",
		.retention_ms = 1000, .heartbeat_ms = 1000, .background_jobs = 4,
		.background_life_s = 60, .number = 2 };
	f.base = event_base_new();
	ats_buf_init(&f.rx, FRONT_RX_MAX);
	ats_buf_init(&f.arena, 1u << 20);
	ats_buf_init(&f.out, WORKER_JSON_MAX + 4096);
}

static void
front_down(void)
{
	background_free(f.background);
	calls_free(f.calls);
	link_free(f.link);
	front_report_free(f.report);
	pool_free(f.pool);
	spill_store_free(f.spills);
	ats_buf_done(&f.rx);
	ats_buf_done(&f.arena);
	ats_buf_done(&f.out);
	event_base_free(f.base);
}

static struct record_HEAD
head(void)
{
	return (struct record_HEAD){ .format = RECORD_FORMAT, .inside = HANDS_INSIDE,
		.tables = ats_proto_digest(), .boot = "h-1", .epoch = 5, .next_job = 3 };
}

static void
put(enum record_id id, const void *m, const char *payload, size_t n, const int *fds, size_t nfds)
{
	const struct ats_slice part = { payload, n };
	struct records r;

	records_init(&r, ends[0], 1000);
	ck_assert_int_eq(record_send(&r, id, m, &part, 1, fds, nfds), 0);
	records_done(&r);
}

static void
send_head(const struct record_HEAD *m)
{
	put(RECORD_ID_HEAD, m, REPORT, strlen(REPORT), NULL, 0);
}

/* What the new front makes of what was said: its code, and its text. */
static int
take(char text[512])
{
	struct records r;
	char dir[] = "/tmp/ats-record-XXXXXX";
	int spill, rc;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	spill = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	records_init(&r, ends[1], 20);
	rc = takeover_take(&f, spill, &r);
	(void)snprintf(text, 512, "%s", r.err.text);
	records_done(&r);
	ats_fd_close(&spill);
	(void)rmdir(dir);
	return rc;
}

START_TEST(takeover_of_another_version_says_which)
{
	struct record_HEAD m[] = { head(), head(), head() };
	static const char *const says[] = { "records of version", "init and workers",
		"other tables" };
	char text[512];

	setup();
	m[0].format++;
	m[1].inside++;
	m[2].tables = "0123";
	for (size_t i = 0; i < ATS_ARRAY_LEN(m); i++) {
		front_up();
		send_head(&m[i]);
		ck_assert_int_eq(take(text), -ATS_E_VERSION);
		ck_assert_msg(strstr(text, says[i]) != NULL, "%s", text);
		front_down();
	}
	teardown();
}
END_TEST

static const struct record_CALL a_call = { .id = 7, .session = "s-1", .tool = "Bash", .kept = true,
	.json = 2, .arrival_us = 1, .start_us = 1 };

static int
take_call(const struct record_CALL *c, size_t payload, char text[512])
{
	const struct record_END end = { .calls = 1 };
	const struct record_HEAD h = head();

	front_up();
	send_head(&h);
	put(RECORD_ID_CALL, c, "{}text", payload, NULL, 0);
	put(RECORD_ID_END, &end, NULL, 0, NULL, 0);
	return take(text);
}

START_TEST(takeover_of_a_kept_result_has_it)
{
	char text[512];
	struct call *c;

	setup();
	ck_assert_msg(take_call(&a_call, 6, text) == 0, "%s", text);
	c = calls_find(f.calls, 7);
	ck_assert_ptr_nonnull(c);
	ck_assert(c->keep && c->state == CALL_KEPT);
	ck_assert_str_eq(c->json.data, "{}");
	ck_assert_uint_eq(c->payload.len, 4);
	ck_assert_uint_eq(calls_active(f.calls), 0);
	ck_assert_str_eq(f.boot, "h-1");
	ck_assert_uint_eq(link_epoch(f.link), 5);
	ck_assert_uint_eq(background_next(f.background), 3);
	front_down();
	teardown();
}
END_TEST

START_TEST(takeover_of_a_call_that_contradicts_itself_is_refused)
{
	struct record_CALL bad[] = { a_call, a_call, a_call, a_call, a_call, a_call, a_call, a_call,
		a_call, a_call };
	char text[512];

	setup();
	bad[0].kept = false;		/* it runs, and has a result */
	bad[1].json = 7;		/* more than the payload */
	bad[2].tool = "NoSuchTool";
	bad[3].part = RECORD_EXEC;
	bad[4].part = RECORD_TASK;
	bad[5].job = "bash_1";
	bad[6].part = RECORD_BASH;
	bad[7].arrival_us = UINT64_MAX;	/* in the future */
	bad[8].json = 0;
	bad[9].deadline_us = UINT64_MAX;
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		ck_assert_msg(take_call(&bad[i], 6, text) == -ATS_E_PROTO, "%zu: %s", i, text);
		front_down();
		teardown();
		setup();
	}
	teardown();
}
END_TEST

START_TEST(takeover_counts_what_came)
{
	const struct record_END ends_of[] = { { .calls = 0 }, { .calls = 2 },
		{ .calls = 1, .jobs = 1 } };
	const struct record_HEAD h = head();
	char text[512];

	setup();
	for (size_t i = 0; i < ATS_ARRAY_LEN(ends_of); i++) {
		front_up();
		send_head(&h);
		put(RECORD_ID_CALL, &a_call, "{}text", 6, NULL, 0);
		put(RECORD_ID_END, &ends_of[i], NULL, 0, NULL, 0);
		ck_assert_int_eq(take(text), -ATS_E_PROTO);
		front_down();
	}
	front_up();
	send_head(&h);
	put(RECORD_ID_CALL, &a_call, "{}text", 6, NULL, 0);
	put(RECORD_ID_CALL, &a_call, "{}text", 6, NULL, 0);	/* the same id */
	ck_assert_int_eq(take(text), -ATS_E_PROTO);
	front_down();
	teardown();
}
END_TEST

/* A command whose spill and shell do not fit. */
START_TEST(takeover_of_a_part_that_does_not_fit_is_refused_and_freed)
{
	static const struct record_JOB job = { .id = "bash_1", .session = "s-1", .note = "",
		.shell = true, .ends_us = 1 };
	struct record_SPILL spill[4];
	const struct record_HEAD h = head();
	int file[1], pipe_fd[2], before = open_fds() + 2;	/* ends */
	char text[512];

	setup();
	for (size_t i = 0; i < ATS_ARRAY_LEN(spill); i++) {
		spill[i] = (struct record_SPILL){ .name = "bash_1.out", .total = 5, .stored = 5 };
		ck_assert_int_eq(ats_fd_pipe(pipe_fd, 0), 0);
		file[0] = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		ck_assert_int_ge(file[0], 0);
		front_up();
		send_head(&h);
		put(RECORD_ID_JOB, &job, NULL, 0, NULL, 0);
		switch (i) {
		case 0:
			spill[i].name = "../bash_1.out";
			break;
		case 1:
			spill[i].stored = 6;
			break;
		case 2:
			spill[i].copied = 1;
			break;
		default:
			break;
		}
		/* The last is no file. */
		put(RECORD_ID_SPILL, &spill[i], NULL, 0, i == 3 ? pipe_fd : file, 1);
		ck_assert_msg(take(text) == -ATS_E_PROTO, "%zu: %s", i, text);
		front_down();
		teardown();
		setup();
		(void)close(file[0]);
		(void)close(pipe_fd[0]);
		(void)close(pipe_fd[1]);
	}
	ck_assert_int_eq(open_fds(), before);
	teardown();
}
END_TEST

ATS_UNIT_MAIN("front_record", record_any_of_what_is_none_is_refused_and_leaves_no_descriptor,
    record_any_short_silent_or_ended_says_which,
    record_any_of_an_end_that_left_something_unread_is_what_it_said,
    takeover_of_another_version_says_which,
    takeover_of_a_kept_result_has_it,
    takeover_of_a_call_that_contradicts_itself_is_refused,
    takeover_counts_what_came,
    takeover_of_a_part_that_does_not_fit_is_refused_and_freed)
