/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of an exec, held until it is acknowledged. Runs in hands' front; the bytes are the
 * program's, how fast they are taken, and what of them is asked for again, is the peer's.
 * Positions: base <= sent <= end of what is held <= end of what is spilled <= the pipe's next.
 * What was read from the pipe is copied, not spliced: a splice leaves nothing to send again. */
#include "hands/front/exec_private.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/hold.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/spill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define SMALL_BYTES (16u << 10)	/* with less queued, the last bytes leave at once */
#define TURN_BYTES (256u << 10)	/* read in one turn while nobody is attached */

static const struct {
	const char *name;
	enum ats_frame_id frame;
} streams[] = {
	{ "stdout", ATS_FRAME_EVENT_STDOUT },
	{ "stderr", ATS_FRAME_EVENT_STDERR },
};

static size_t
bytes_in(int fd)
{
	int n = 0;

	return fd >= 0 && ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

static void
unwatch(struct exec_out *o)
{
	if (o->watched)
		(void)event_del(&o->ev);
	o->watched = false;
}

static void
watch(struct exec_out *o)
{
	if (!o->watched && o->fd >= 0 && !o->ended && event_add(&o->ev, NULL) == 0)
		o->watched = true;
}

void
exec_out_close(struct exec_out *o)
{
	unwatch(o);
	o->fd = -1;
}

/* ---- what waits -------------------------------------------------------------------- */
static uint64_t
spilled(const struct exec_out *o)
{
	return o->spill == NULL ? 0 : spill_total(o->spill) - spill_lost(o->spill) - o->unspilled;
}

/* The position of the next byte that the pipe gives. */
static uint64_t
read_end(const struct exec_out *o)
{
	return ats_hold_end(&o->hold) + spilled(o) + o->rest.len;
}

/* Bytes up to upto are lost, those before them too. */
static void
lose(struct exec_out *o, uint64_t upto)
{
	char json[128];
	int n;

	ats_hold_drop(&o->hold, upto);
	if (o->stream == NULL || upto <= o->sent)
		return;
	n = snprintf(json, sizeof(json),
	    "{\"stream\":\"%s\",\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
	    streams[o->which].name, o->sent, upto);
	(void)link_send(
	    o->c->f->link, ATS_FRAME_EVENT_GAP, o->c->id, json, (size_t)n, NULL, 0);
	o->granted += upto - o->sent;
	o->sent = upto;
}

static bool
open_spill(struct exec_out *o)
{
	char name[SPILL_NAME];
	struct ats_err err;

	(void)snprintf(name, sizeof(name), "exec-%" PRIu64 ".%s", o->c->id,
	    streams[o->which].name);
	if (spill_new(o->c->f->spills, name, &o->spill, &err) == 0)
		return true;
	ats_log(ATS_LOG_WARN, "output of an exec waits", "session=%s call=c-%" PRIu64
	    " why=\"%s\"", o->c->session, o->c->id, err.text);
	return false;
}

/* As take. Its file has no hole: what does not fit stays in memory, and then the program
 * waits. */
static ssize_t
take_to_spill(struct exec_out *o, size_t max)
{
	uint64_t kept;
	ssize_t n;
	char *p;

	if (o->rest.len > 0 || (o->spill == NULL && !open_spill(o)))
		return 0;
	if (max > SPILL_FIRST - spill_total(o->spill))
		max = (size_t)(SPILL_FIRST - spill_total(o->spill));
	if (max > FRONT_BLOCK_BYTES)
		max = FRONT_BLOCK_BYTES;
	if (max == 0 || ats_buf_reserve(&o->rest, max, &p) < 0)
		return 0;
	n = ats_fd_read(o->fd, p, max);
	if (n <= 0)
		return n;
	ats_buf_commit(&o->rest, (size_t)n);
	kept = spilled(o);
	(void)spill_add(o->spill, p, (size_t)n);
	ats_buf_consume(&o->rest, (size_t)(spilled(o) - kept));
	return n;
}

/* Reads the pipe once. Bytes read; 0 at its end or without room; -1 it has none now. */
static ssize_t
take(struct exec_out *o, size_t max)
{
	bool waits = o->spill != NULL || o->rest.len > 0;
	ssize_t n;
	size_t room;
	char *p;

	if (o->ended && max > o->end - read_end(o))
		max = (size_t)(o->end - read_end(o));
	if (o->fd < 0 || max == 0)
		return 0;
	room = waits ? 0 : ats_hold_room(&o->hold, max, &p);
	if (room == 0)
		return o->stream == NULL ? take_to_spill(o, max) : 0;
	n = ats_fd_read(o->fd, p, room);
	if (n > 0)
		ats_hold_commit(&o->hold, (size_t)n);
	return n;
}

/* From the file back into memory, as there is room. */
static void
unspill(struct exec_out *o)
{
	uint64_t from;
	long got = 0;
	size_t n;
	char *p;

	if (spilled(o) > 0 && (n = ats_hold_room(&o->hold, ATS_CHAN_CHUNK, &p)) > 0) {
		got = spill_read(o->spill, o->unspilled, p, n, &from);
		if (got > 0) {
			ats_hold_commit(&o->hold, (size_t)got);
			o->unspilled += (uint64_t)got;
		} else { /* all that it had is lost */
			lose(o, ats_hold_end(&o->hold) + spilled(o));
			o->unspilled += spilled(o);
		}
	}
	if (spilled(o) > 0)
		return;
	spill_drop(o->spill);
	o->spill = NULL;
	o->unspilled = 0;
	while (o->rest.len > 0 && (n = ats_hold_room(&o->hold, o->rest.len, &p)) > 0) {
		memcpy(p, o->rest.data, n);
		ats_hold_commit(&o->hold, n);
		ats_buf_consume(&o->rest, n);
	}
}

/* Bytes to send now, at most max in one run. */
static size_t
next_bytes(struct exec_out *o, size_t max, const char **ret_p)
{
	size_t n;

	if (o->ended && max > o->stop - o->sent)
		max = (size_t)(o->stop - o->sent);
	if (o->sent == ats_hold_end(&o->hold)) {
		if (o->spill != NULL || o->rest.len > 0)
			unspill(o);
		else
			(void)take(o, max);
	}
	n = ats_hold_at(&o->hold, o->sent, ret_p);
	return n < max ? n : max;
}

/* ---- the pipe ---------------------------------------------------------------------- */
/* While nobody is attached. */
static void
read_on(struct exec_out *o)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < TURN_BYTES && (n = take(o, ATS_CHAN_CHUNK)) > 0)
		done += (size_t)n;
	if (n == 0)
		unwatch(o);	/* full, or at its end */
	if (n == 0 && ats_fd_at_end(o->fd))
		exec_out_close(o);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_out *o = arg;

	(void)what;
	if (o->stream == NULL) {
		read_on(o);
		return;
	}
	unwatch(o);
	if (bytes_in(fd) > 0)
		ats_stream_ready(o->stream);
	else if (ats_fd_at_end(fd))
		exec_out_close(o);
	else
		watch(o);
}

void
exec_out_open(struct exec_out *o, int fd)
{
	if (fd < 0 || o->fd >= 0 || event_assign(&o->ev, o->c->f->base, fd,
		EV_READ | EV_PERSIST, on_readable, o) < 0)
		return;
	o->fd = fd;
	watch(o);
}

/* ---- the link ---------------------------------------------------------------------- */
static void
check_over(struct exec_out *o)
{
	if (!o->ended || o->stream == NULL || o->sent < o->stop)
		return;
	if (o->end > o->stop) {
		spill_drop(o->spill);
		o->spill = NULL;
		ats_buf_reset(&o->rest);
		lose(o, o->end);
	}
	event_active(o->finish, EV_TIMEOUT, 0); /* not now: the pump may be on the stack */
}

static void
on_pump(void *ctx, size_t max, struct ats_chunk *k)
{
	struct exec_out *o = ctx;
	const struct ats_frame_row *row = &ats_frame_rows[streams[o->which].frame];
	const char *p = NULL;

	*k = (struct ats_chunk){ .type = row->type, .kind = row->kind, .pipe_fd = -1 };
	k->n = next_bytes(o, max, &p);
	if (k->n == 0 && o->ended && o->sent < o->stop) {
		o->stop = o->sent;
		if (bytes_in(o->fd) == 0)
			o->end = o->sent; /* somebody else has read its pipe */
	}
	check_over(o);
	if (k->n == 0) {
		watch(o);
		return;
	}
	k->mem = p;
	k->json_len = (size_t)snprintf(
	    k->json, sizeof(k->json), "{\"offset\":%" PRIu64 "}", o->sent);
	o->sent += k->n;
}

bool
exec_out_attach(struct exec_out *o, struct ats_chan *chan)
{
	unwatch(o);
	o->stream = ats_stream_new(chan, o->c->id, o->granted - o->sent, on_pump, o);
	return o->stream != NULL;
}

int
exec_out_resume(struct exec_out *o, struct ats_chan *chan, uint64_t have, uint64_t window,
    struct ats_err *err)
{
	uint64_t base;

	if (have > o->sent)
		return ats_err_set(err, ATS_E_FIELD, "resume: more of %s than was sent",
		    streams[o->which].name);
	if (window > o->window)
		return ats_err_set(err, ATS_E_FIELD, "resume: more credit for %s than at first",
		    streams[o->which].name);
	ats_hold_drop(&o->hold, have);
	base = o->hold.base;
	o->sent = have;
	o->granted = have + window;
	if (!exec_out_attach(o, chan))
		return ats_err_set(err, ATS_E_NOMEM, "no memory");
	lose(o, base);
	check_over(o);
	ats_stream_ready(o->stream);
	return 0;
}

void
exec_out_detach(struct exec_out *o)
{
	ats_stream_free(o->stream);
	o->stream = NULL;
	watch(o);
}

int
exec_out_credit(struct exec_out *o, uint64_t bytes)
{
	if (o->stream == NULL)
		return -ATS_E_STATE;
	if (ats_stream_credit(o->stream, bytes) < 0)
		return -ATS_E_CREDIT;
	o->granted += bytes;
	/* It gives back what has left it. */
	if (o->granted > o->window)
		ats_hold_drop(&o->hold, o->granted - o->window < o->sent
					    ? o->granted - o->window
					    : o->sent);
	return 0;
}

/* ---- the end ----------------------------------------------------------------------- */
void
exec_out_end(struct exec_out *o)
{
	unwatch(o);
	o->end = o->stop = read_end(o) + bytes_in(o->fd);
	o->ended = true;
	while (o->stream == NULL && take(o, ATS_CHAN_CHUNK) > 0)
		;
}

void
exec_out_give_up(struct exec_out *o)
{
	if (o->stream != NULL && o->stop > o->granted)
		o->stop = o->granted;
	check_over(o);
}

void
exec_out_cut(struct exec_out *o)
{
	o->stop = o->sent;
	check_over(o);
}

/* Little leaves with the result, in one write. */
static bool
send_now(struct exec_out *o)
{
	uint64_t left = o->stop - o->sent;
	const char *p;
	char json[64];
	size_t n;
	int len;

	if (left > ATS_CHAN_CHUNK || left > o->granted - o->sent ||
	    ats_chan_queued(link_chan(o->c->f->link)) > SMALL_BYTES ||
	    (n = next_bytes(o, (size_t)left, &p)) == 0)
		return false;
	len = snprintf(json, sizeof(json), "{\"offset\":%" PRIu64 "}", o->sent);
	if (link_send(o->c->f->link, streams[o->which].frame, o->c->id, json, (size_t)len, p,
		n) < 0)
		return false;
	o->sent += n;
	return o->sent == o->stop;
}

void
exec_out_send_rest(struct exec_out *o)
{
	if (o->stream == NULL || o->sent >= o->stop)
		return;
	if (send_now(o))
		check_over(o);
	else
		ats_stream_ready(o->stream);
}

bool
exec_out_is_over(const struct exec_out *o)
{
	return o == NULL || (o->ended && o->stream != NULL && o->sent >= o->end);
}

/* ---- life -------------------------------------------------------------------------- */
struct exec_out *
exec_out_new(struct call *c, unsigned which, uint64_t window, struct event *finish)
{
	struct exec_out *o = ats_calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->c = c;
	o->which = which;
	o->finish = finish;
	o->fd = -1;
	o->window = o->granted = window;
	ats_hold_init(&o->hold, window > EXEC_HELD ? (size_t)window : EXEC_HELD);
	ats_buf_init(&o->rest, FRONT_BLOCK_BYTES);
	return o;
}

void
exec_out_free(struct exec_out *o)
{
	if (o == NULL)
		return;
	unwatch(o);
	ats_stream_free(o->stream);
	ats_hold_done(&o->hold);
	spill_drop(o->spill);
	ats_buf_done(&o->rest);
	free(o);
}
