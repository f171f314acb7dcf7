/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-http: the steps of the start, in order. Runs as the user; it ends with SIGTERM or SIGINT. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/http/confine.h"
#include "brain/http/conn.h"
#include "brain/http/http.h"
#include "brain/http/listen.h"
#include "brain/http/metrics.h"
#include "brain/http/session.h"
#include "brain/http/token.h"
#include "common/fd.h"
#include "common/log.h"
#include "proto/brain.h"

static void
on_turn_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sessions_bury(arg);
	conns_bury(arg);
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd;
	(void)what;
	(void)event_base_loopbreak(h->base);
}

static int
make_parts(struct http *h, struct ats_err *err)
{
	TAILQ_INIT(&h->conns);
	TAILQ_INIT(&h->dead);
	TAILQ_INIT(&h->sessions);
	h->gate = (struct gate){ .token = h->token,
		.metrics_token = h->metrics_token,
		.hosts = h->opt->hosts,
		.origins = h->opt->origins,
		.nhosts = h->opt->nhosts,
		.norigins = h->opt->norigins,
		.body_max = h->opt->body_max };
	h->base = event_base_new();
	h->scraped = metrics_new(h);
	if (h->base == NULL || h->scraped == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	h->turn_end = event_new(h->base, -1, 0, on_turn_end, h);
	h->sig_int = evsignal_new(h->base, SIGINT, on_signal, h);
	h->sig_term = evsignal_new(h->base, SIGTERM, on_signal, h);
	if (h->turn_end == NULL || h->sig_int == NULL || h->sig_term == NULL ||
	    event_add(h->sig_int, NULL) < 0 || event_add(h->sig_term, NULL) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	return listen_start(h, err);
}

static void
free_parts(struct http *h)
{
	sessions_free(h);
	conns_free(h);
	listen_close(h);
	metrics_free(h->scraped);
	event_free(h->turn_end);
	event_free(h->sig_int);
	event_free(h->sig_term);
	event_base_free(h->base);
	ats_secret_free(h->token);
	ats_secret_free(h->metrics_token);
}

/* Who started it may wait for it: brain on its socket, a person at the output. */
static void
tell(const struct options *opt, uint64_t code, const char *text)
{
	int fd = opt->vault_fd;

	if (fd >= 0) {
		if (ats_brain_send(fd, ATS_MSG_HTTP_READY, 0, NULL, 0, code, text) < 0)
			ats_log(ATS_LOG_WARN, "brain does not hear that it listens", NULL);
		ats_fd_close(&fd);
	} else if (code == 0) {
		(void)printf("%s\n", text);
		(void)fflush(stdout);
	}
}

/* An upgrade has put us beside a brain that is still the old one. */
static int
check_version(const char *brain, struct ats_err *err)
{
	if (brain == NULL || strcmp(brain, ATS_VERSION) == 0)
		return 0;
	return ats_err_set(err, ATS_E_VERSION, "brain is version %.32s, this ats-http " ATS_VERSION
	    ": atsctl shutdown, and the next brain is of one version", brain);
}

int
main(int argc, char **argv)
{
	static struct options opt;
	static struct http h;
	struct ats_err err = { 0 };
	struct ats_buf where;

	options_parse(argc, argv, &opt);
	ats_log_init("http", ATS_LOG_INFO, STDERR_FILENO);
	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
	h.opt = &opt;
	ats_buf_init(&where, HTTP_LISTENERS * ATS_ADDR_MAX);
	if (check_version(opt.brain_version, &err) < 0 || tokens_read(&h, &err) < 0 ||
	    listen_open(&h, &where, &err) < 0 || make_parts(&h, &err) < 0 ||
	    confine_http(&h, &err) < 0) {
		tell(&opt, (uint64_t)err.code, err.text);
		ats_fatal("%s", err.text);
	}
	tell(&opt, 0, where.data);
	ats_log(ATS_LOG_INFO, "listening", "at=\"%s\" workspace=\"%s\"", where.data,
	    opt.workspace);
	ats_buf_done(&where);
	(void)event_base_dispatch(h.base);
	ats_log(ATS_LOG_INFO, "ats-http ends", NULL);
	free_parts(&h);
	return 0;
}
