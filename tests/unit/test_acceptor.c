/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening in a loop: turns, pauses, stops. */
#include "common/acceptor.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "tests/lib/unit.h"

#define CROWD 20

struct place {
	struct event_base *base;
	struct ats_acceptor *a;
	int listener, clients[CROWD];
	int came[CROWD];
	size_t ncame;
	bool stops;			/* with the first that comes */
};

static void
admit(void *ctx, int fd)
{
	struct place *p = ctx;

	ck_assert_uint_lt(p->ncame, CROWD);
	p->came[p->ncame++] = fd;
	if (p->stops)
		ats_acceptor_stop(p->a);
}

/* A listening socket with a name of the kernel's choice, and a crowd in its backlog. */
static void
set_up(struct place *p)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t n = sizeof(un);

	*p = (struct place){ .base = event_base_new() };
	ck_assert_ptr_nonnull(p->base);
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(p->listener, (struct sockaddr *)&un, sizeof(un.sun_family)), 0);
	ck_assert_int_eq(listen(p->listener, CROWD), 0);
	ck_assert_int_eq(getsockname(p->listener, (struct sockaddr *)&un, &n), 0);
	for (size_t i = 0; i < CROWD; i++) {
		p->clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ck_assert_int_eq(connect(p->clients[i], (struct sockaddr *)&un, n), 0);
	}
	p->a = ats_acceptor_new(p->base, p->listener, admit, p);
	ck_assert_ptr_nonnull(p->a);
}

static void
tear_down(struct place *p)
{
	ats_acceptor_free(p->a);
	for (size_t i = 0; i < p->ncame; i++)
		(void)close(p->came[i]);
	for (size_t i = 0; i < CROWD; i++)
		(void)close(p->clients[i]);
	(void)close(p->listener);
	event_base_free(p->base);
}

START_TEST(acceptor_takes_a_crowd_in_more_than_one_turn_and_none_before_its_start)
{
	struct place p;

	set_up(&p);
	(void)event_base_loop(p.base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(p.ncame, 0);
	ck_assert_int_eq(ats_acceptor_start(p.a), 0);
	(void)event_base_loop(p.base, EVLOOP_ONCE);
	ck_assert_uint_gt(p.ncame, 0);
	ck_assert_uint_lt(p.ncame, CROWD);
	(void)event_base_loop(p.base, EVLOOP_ONCE);
	ck_assert_uint_eq(p.ncame, CROWD);
	tear_down(&p);
}
END_TEST

/* It would be called in every turn: the backlog is full all the time. */
START_TEST(acceptor_without_descriptors_pauses_and_goes_on)
{
	int log = memfd_create("log", MFD_CLOEXEC);
	struct rlimit old, none;
	size_t lines = 0;
	char text[65536];
	uint64_t begin;
	struct place p;
	ssize_t n;

	set_up(&p);
	ats_log_init("test", ATS_LOG_INFO, log);
	ck_assert_int_eq(ats_acceptor_start(p.a), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 3, old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	begin = ats_clock_ms();
	for (int i = 0; i < 1000; i++)
		(void)event_base_loop(p.base, EVLOOP_NONBLOCK);
	n = pread(log, text, sizeof(text), 0);
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	ck_assert_uint_eq(p.ncame, 0);
	ck_assert_uint_ge(lines, 1);
	ck_assert_uint_le(lines, 1 + (ats_clock_ms() - begin) / 100);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	while (p.ncame < CROWD)
		ck_assert_int_eq(event_base_loop(p.base, EVLOOP_ONCE), 0);
	tear_down(&p);
	(void)close(log);
}
END_TEST

START_TEST(acceptor_stopped_while_it_pauses_takes_nothing_more)
{
	struct place p;

	set_up(&p);
	ck_assert_int_eq(ats_acceptor_start(p.a), 0);
	ats_acceptor_pause(p.a, 1);
	ats_acceptor_stop(p.a);
	/* Nothing is left that the loop could wait for. */
	ck_assert_int_eq(event_base_loop(p.base, 0), 1);
	ck_assert_uint_eq(p.ncame, 0);
	ck_assert_int_eq(ats_acceptor_start(p.a), 0);
	p.stops = true;
	ck_assert_int_eq(event_base_loop(p.base, 0), 1);
	ck_assert_uint_eq(p.ncame, 1);
	tear_down(&p);
}
END_TEST

START_TEST(acceptor_after_a_pause_goes_on)
{
	struct place p;

	set_up(&p);
	ck_assert_int_eq(ats_acceptor_start(p.a), 0);
	ats_acceptor_pause(p.a, 1);
	while (p.ncame < CROWD)
		ck_assert_int_eq(event_base_loop(p.base, EVLOOP_ONCE), 0);
	tear_down(&p);
}
END_TEST

ATS_UNIT_MAIN("acceptor", acceptor_takes_a_crowd_in_more_than_one_turn_and_none_before_its_start,
    acceptor_without_descriptors_pauses_and_goes_on,
    acceptor_stopped_while_it_pauses_takes_nothing_more, acceptor_after_a_pause_goes_on)
