/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's pipe to the link. Runs in hands' front. The worker writes as the peer takes:
 * nothing here grows with the file. The pipe is from a hostile worker: it is only ever read
 * from, without waiting. */
#include "hands/front/data.h"

#include "common/chan.h"
#include "common/fault.h"
#include "common/fd.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "proto/msg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

struct data {
	struct call *c;
	int fd;			/* the pipe, or -1: none yet, or at its end */
	struct event ev, finish_ev;
	bool watched;
	struct ats_stream *stream;
	uint64_t offset;	/* of the next byte sent */
	bool has_result;
	struct ats_buf json, payload;
};

static void
unwatch(struct data *d)
{
	if (d->watched)
		(void)event_del(&d->ev);
	d->watched = false;
}

static void
watch(struct data *d)
{
	if (!d->watched && d->fd >= 0 && event_add(&d->ev, NULL) == 0)
		d->watched = true;
}

static void
finish(struct data *d)
{
	struct call *c = d->c;
	struct ats_msg_RESULT r;
	struct ats_err err;

	/* It was checked when it came, but its strings were not kept. */
	if (ats_msg_decode(&ats_frame_rows[ATS_FRAME_RESULT].shape, d->json.data, d->json.len,
		0, &r, &c->f->arena, &err) < 0)
		call_fail(c, true, err.code, "%s", err.text);
	else
		call_answer_json(c, &r, d->json.data, d->json.len, d->payload.data,
		    d->payload.len);
}

static void
on_finish(evutil_socket_t fd, short what, void *arg)
{
	struct data *d = arg;

	(void)fd;
	(void)what;
	if (d->has_result && d->fd < 0)
		finish(d);
}

/* Not from within the pump: finishing frees the stream. */
static void
pipe_over(struct data *d)
{
	unwatch(d);
	ats_fd_close(&d->fd);
	event_active(&d->finish_ev, EV_TIMEOUT, 0);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct data *d = arg;
	int n = 0;

	(void)what;
	unwatch(d);
	if (ioctl(fd, FIONREAD, &n) == 0 && n > 0)
		ats_stream_ready(d->stream);
	else if (ats_fd_at_end(fd))
		pipe_over(d);
	else
		watch(d);
}

static void
on_pump(void *ctx, size_t max, struct ats_chunk *k)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_EVENT_STDOUT];
	struct data *d = ctx;

	*k = (struct ats_chunk){ .type = row->type, .kind = row->kind, .pipe_fd = -1 };
	if (d->fd < 0 || ats_stream_take(d->stream, d->fd, max, k) == 0) {
		watch(d);
		return;
	}
	k->json_len = (size_t)snprintf(
	    k->json, sizeof(k->json), "{\"offset\":%" PRIu64 "}", d->offset);
	d->offset += k->n;
}

struct data *
data_new(struct call *c, uint64_t window)
{
	struct data *d = ats_calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->c = c;
	d->fd = -1;
	ats_buf_init(&d->json, 1u << 20);
	ats_buf_init(&d->payload, 4u << 20);
	(void)evtimer_assign(&d->finish_ev, c->f->base, on_finish, d);
	d->stream = ats_stream_new(link_chan(c->f->link), c->id, window, on_pump, d);
	if (d->stream == NULL) {
		data_free(d);
		return NULL;
	}
	return d;
}

void
data_free(struct data *d)
{
	if (d == NULL)
		return;
	unwatch(d);
	(void)event_del(&d->finish_ev);
	ats_stream_free(d->stream);
	ats_fd_close(&d->fd);
	ats_buf_done(&d->json);
	ats_buf_done(&d->payload);
	free(d);
}

bool
data_open(struct data *d, int fd)
{
	struct stat st;

	if (fd < 0 || d->fd >= 0 || d->offset > 0 || fstat(fd, &st) < 0 ||
	    !S_ISFIFO(st.st_mode) || ats_fd_nonblock(fd, true) < 0 ||
	    event_assign(&d->ev, d->c->f->base, fd, EV_READ | EV_PERSIST, on_readable, d) <
		0) {
		ats_fd_close(&fd);
		return false;
	}
	d->fd = fd;
	watch(d);
	return true;
}

void
data_result(struct data *d, const char *json, size_t json_len, const char *payload, size_t n)
{
	if (ats_buf_add(&d->json, json, json_len) < 0 ||
	    ats_buf_add(&d->payload, payload, n) < 0) {
		call_fail(d->c, true, ATS_E_NOMEM, "no memory for the result");
		return;
	}
	d->has_result = true;
	if (d->fd < 0)
		finish(d);
}

int
data_credit(struct data *d, uint64_t bytes)
{
	return ats_stream_credit(d->stream, bytes);
}
