/* SPDX-License-Identifier: Apache-2.0
 *
 * front: the process of hands that holds the connection. It never forks, execs or runs a
 * tool; it confines itself before the first byte from anyone. Started by init with the
 * descriptors of hands/init/roles.h; its arguments are init's. */
#include "hands/front/front.h"

#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/apply.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/delivery.h"
#include "hands/front/gateway.h"
#include "hands/front/keys.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/report.h"
#include "hands/front/spill.h"
#include "hands/front/upgrade.h"
#include "hands/init/roles.h"

#include <event2/event.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXIT_USAGE 2

/* ---- the loop ---------------------------------------------------------------------- */
void
front_stop(struct front *f, const char *why)
{
	ats_log(ATS_LOG_INFO, "front ends", "why=\"%s\"", why);
	(void)event_base_loopbreak(f->base);
}

void
front_refuse(struct front *f, const char *why)
{
	f->unconfined = true;
	link_goodbye(f->link, ATS_E_CONFINE, why);
	front_stop(f, why);
}

void
front_stop_if_drained(struct front *f)
{
	if (f->draining && calls_active(f->calls) == 0)
		front_stop(f, "drained");
}

/* init speaks of zygotes that it started again, and of another front; its end is ours. */
static void
on_init(evutil_socket_t fd, short what, void *arg)
{
	struct front *f = arg;
	struct init_msg m;
	int fds[1] = { -1 };
	size_t nfds = 0;
	ssize_t n = ats_fd_recv(fd, &m, sizeof(m), fds, 1, &nfds);

	(void)what;
	if (n == -ATS_E_AGAIN)
		return;
	if (n == sizeof(m) && m.what == INIT_ZYGOTE && nfds == 1 &&
	    m.profile <= ATS_PROFILE_SHELL) {
		pool_replace(f->pool, (enum ats_profile)m.profile, fds[0]);
		return;
	}
	if (n == sizeof(m) && (m.what == INIT_NEXT || m.what == INIT_REFUSED)) {
		m.text[sizeof(m.text) - 1] = '\0';
		upgrade_on_init(f, &m, fds[0]);
		return;
	}
	ats_fd_close(&fds[0]);
	if (n <= 0)
		front_stop(f, "init is gone");
}

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	front_stop(arg, "asked to by a signal");
}

static bool
is_open(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_PATH) == 0;	/* init holds absent numbers so */
}

static int
take(int fd)
{
	if (!is_open(fd))
		return -1;
	return ats_fd_cloexec(fd, true) == 0 ? fd : -1;
}

static int
make_parts(struct front *f)
{
	int spill = take(FRONT_FD_SPILL), listen = take(FRONT_FD_LISTEN);
	int link = take(FRONT_FD_LINK), tools = take(FRONT_FD_TOOLS);
	int relay = take(FRONT_FD_RELAY), next = take(FRONT_FD_UPGRADE);

	ats_buf_init(&f->rx, FRONT_RX_MAX);
	f->block = ats_malloc_read(FRONT_BLOCK_BYTES);
	ats_buf_init(&f->arena, 1u << 20);
	ats_buf_init(&f->out, WORKER_JSON_MAX + 4096);
	if (f->block == NULL || ats_id_new("h", f->boot, sizeof(f->boot)) < 0)
		return -ATS_E_NOMEM;
	if (next >= 0) {
		takeover(f, next, spill);
		/* Its files may be made now, and who asks there is heard. */
		f->delivery = delivery_new(f, tools, relay >= 0);
		f->gateway = gateway_new(f, relay);
		if (f->delivery == NULL || f->gateway == NULL)
			return -ATS_E_NOMEM;
		link_report_ready(f->link);
		pool_start(f->pool);
		return link_open(f->link, listen);
	}
	f->spills = spill_store_new(spill);
	if (f->spills == NULL)
		return -ATS_E_NOMEM;
	f->pool =
	    pool_new(f, take(FRONT_FD_READ), take(FRONT_FD_WRITE), take(FRONT_FD_SHELL));
	f->calls = calls_new(f);
	f->background = background_new(f);
	f->report = front_report_new(f);
	f->delivery = delivery_new(f, tools, relay >= 0);
	f->gateway = gateway_new(f, relay);
	if (f->pool == NULL || f->calls == NULL || f->background == NULL ||
	    f->report == NULL || f->delivery == NULL || f->gateway == NULL)
		return -ATS_E_NOMEM;
	front_report_start(f->report);
	f->link = link_new(f, link, listen);
	return f->link == NULL ? -ATS_E_NOMEM : 0;
}

static void
free_parts(struct front *f)
{
	upgrade_free(f->upgrade);
	f->upgrade = NULL;
	gateway_free(f->gateway);
	f->gateway = NULL;
	link_goodbye(f->link, 0, "hands ends");
	background_free(f->background);
	calls_free(f->calls);
	link_free(f->link);
	front_report_free(f->report);
	pool_free(f->pool);
	delivery_free(f->delivery);
	spill_store_free(f->spills);
	ats_buf_done(&f->arena);
	ats_buf_done(&f->out);
	ats_buf_done(&f->rx);
	free(f->block);
}

static int
run(struct front *f)
{
	struct event *init = NULL, *term = NULL;
	int rc = make_parts(f);

	if (rc == 0 && f->unconfined)
		rc = -ATS_E_CONFINE;
	if (rc == 0 && take(FRONT_FD_INIT) >= 0) {
		init =
		    event_new(f->base, FRONT_FD_INIT, EV_READ | EV_PERSIST, on_init, f);
		f->upgrade = upgrade_new(f);
		if (init == NULL || f->upgrade == NULL ||
		    ats_fd_nonblock(FRONT_FD_INIT, true) < 0 ||
		    event_add(init, NULL) < 0)
			rc = -ATS_E_NOMEM;
	}
	term = evsignal_new(f->base, SIGTERM, on_signal, f);
	if (term == NULL || event_add(term, NULL) < 0)
		rc = -ATS_E_NOMEM;
	if (rc == 0)
		(void)event_base_dispatch(f->base);
	else
		ats_log(ATS_LOG_ERROR, "front cannot start", "code=%s", ats_err_name(rc));
	free_parts(f);
	if (init != NULL)
		event_free(init);
	if (term != NULL)
		event_free(term);
	return f->unconfined ? CONFINE_EXIT : rc < 0 ? EXIT_FAILURE : 0;
}

static struct event_base *
make_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg != NULL) {
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
		/* For the pool, which waits for less than a millisecond. */
		(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER);
		base = event_base_new_with_config(cfg);
		event_config_free(cfg);
	}
	return base;
}

int
front_main(int argc, char **argv)
{
	static struct front f;
	struct ats_err err = { 0 };
	int status;

	ats_log_init("front", ATS_LOG_INFO, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, "ats-front", 0, 0, 0);
	if (front_options_parse(argc, argv, &f.opt) < 0) {
		ats_log(ATS_LOG_ERROR, "front: wrong arguments", NULL);
		return EXIT_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
	/* A large result must not stay in the heap of an idle front. */
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 10);
	f.base = make_base();
	if (f.base == NULL) {
		ats_log(ATS_LOG_ERROR, "front: no event loop", NULL);
		return EXIT_FAILURE;
	}
	if (confine_front(FRONT_FD_SPILL, take(FRONT_FD_TOOLS), &err) < 0) {
		ats_log(
		    ATS_LOG_ERROR, "front cannot be confined", "why=\"%s\"", err.text);
		return CONFINE_EXIT;
	}
	if (front_keys_take(&f, take(FRONT_FD_KEY), &err) < 0) {
		ats_log(ATS_LOG_ERROR, "front: no key", "why=\"%s\"", err.text);
		return EXIT_FAILURE;
	}
	status = run(&f);
	front_keys_done(&f);
	event_base_free(f.base);
	return status;
}
