/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocking JSON-RPC client on brain's Unix socket. Process: atsctl; the engine controls
 * what comes, and through it a sandbox the texts in it. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/leave.h"
#include "common/clock.h"
#include "proto/unsure.h"

#define FILL_BYTES (256u << 10)

int
door_connect(struct door *d, const struct ctl *c, struct ats_err *err)
{
	int fd, rc = ats_fd_unix_connect(c->door_path, SOCK_STREAM, &fd, err);

	if (rc == 0 && (rc = brain_peer_check(c, fd, c->door_path, err)) < 0)
		ats_fd_close(&fd);
	if (rc < 0)
		return rc;
	*d = (struct door){ .fd = fd, .next_id = 1, .leave = c->leave };
	ats_buf_init(&d->in, DOOR_LINE_MAX);
	return 0;
}

void
door_close(struct door *d)
{
	ats_fd_close(&d->fd);
	ats_buf_done(&d->in);
	d->used = d->scanned = 0;
}

static int
send_all(
    int fd, const struct ats_buf *line, const int *fds, size_t nfds, struct ats_err *err)
{
	size_t at = 0;
	ssize_t n;

	while (at < line->len) {
		n = ats_fd_send(
		    fd, line->data + at, line->len - at, fds, at == 0 ? nfds : 0);
		if (n < 0)
			return ats_err_set(err, (int)-n, "brain closed the connection");
		at += (size_t)n;
	}
	return 0;
}

int
door_send(struct door *d, const char *method, const struct ats_buf *params,
    const int *fds, size_t nfds, uint64_t *ret_id, struct ats_err *err)
{
	uint64_t id = d->next_id++;
	struct ats_json_w w;
	struct ats_buf line;
	int rc;

	ats_buf_init(&line, DOOR_LINE_MAX);
	ats_json_w_init(&w, &line);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_u64(&w, "id", id);
	ats_json_w_str(&w, "method", method);
	if (params != NULL)
		ats_json_w_raw(&w, "params", params->data, params->len);
	else
		ats_json_w_raw(&w, "params", "{}", 2);
	ats_json_w_end(&w);
	rc = ats_json_w_line(&w);
	if (rc < 0)
		(void)ats_err_set(err, -rc, "request: %s", ats_err_text(rc));
	else
		rc = send_all(d->fd, &line, fds, nfds, err);
	ats_buf_done(&line);
	if (rc == 0 && ret_id != NULL)
		*ret_id = id;
	return rc;
}

static void
drop_used(struct door *d)
{
	if (d->used > 0)
		d->scanned = 0;
	ats_buf_consume(&d->in, d->used);
	d->used = 0;
}

int
door_fill(struct door *d)
{
	char *to;
	ssize_t n;
	int rc;

	drop_used(d);
	rc = ats_buf_reserve(&d->in, FILL_BYTES, &to);
	if (rc < 0)
		return rc;
	do
		n = recv(d->fd, to, FILL_BYTES, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ATS_E_AGAIN : 0;
	ats_buf_commit(&d->in, (size_t)n);
	return n > 0 ? 1 : 0;
}

static void
take_member(struct door_msg *m, struct ats_slice key, const struct ats_json_val *v)
{
	if (ats_json_key_is(key, "id"))
		m->id = v->raw;
	else if (ats_json_key_is(key, "method"))
		m->method = v->raw;
	else if (ats_json_key_is(key, "params"))
		m->params = v->raw;
	else if (ats_json_key_is(key, "result"))
		m->result = v->raw;
	else if (ats_json_key_is(key, "error"))
		m->error = v->raw;
}

bool
door_take(struct door *d, struct ats_slice *ret_line)
{
	const char *nl;

	drop_used(d);
	nl = memchr(d->in.data + d->scanned, '\n', d->in.len - d->scanned);
	d->scanned = d->in.len;
	if (nl == NULL)
		return false;
	*ret_line = (struct ats_slice){ d->in.data, (size_t)(nl - d->in.data) };
	d->used = ret_line->n + 1;
	return true;
}

int
door_line(struct door *d, struct door_msg *ret, struct ats_err *err)
{
	struct door_msg m = { 0 };
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;

	if (!door_take(d, &m.line))
		return 0;
	if (ats_json_scan(m.line.p, m.line.n, err) < 0)
		return ats_err_set(
		    err, ATS_E_PROTO, "brain sent a line that is not JSON");
	ats_json_iter_init(&it, m.line);
	while (it.in_object && ats_json_next(&it, &key, &v))
		take_member(&m, key, &v);
	*ret = m;
	return 1;
}

int
door_next(struct door *d, int timeout_ms, struct door_msg *ret, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms), now;
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	int rc, wait = -1;

	for (;;) {
		rc = door_line(d, ret, err);
		if (rc != 0)
			return rc < 0 ? rc : 0;
		rc = door_fill(d);
		if (rc == 0)
			return ats_err_set(err, ATS_E_EOF, "brain closed the connection");
		if (rc < 0 && rc != -ATS_E_AGAIN)
			return ats_err_set(
			    err, -rc, "brain's answer: %s", ats_err_text(rc));
		if (rc > 0)
			continue;
		now = ats_clock_ms();
		if (timeout_ms >= 0 && now >= end)
			return ats_err_set(err, ATS_E_TIMEOUT, "brain does not answer");
		if (timeout_ms >= 0)
			wait = (int)(end - now);
		rc = leave_poll(d->leave, &p, wait, err);
		if (rc < 0)
			return rc;
	}
}

bool
door_is_answer(const struct door_msg *m, uint64_t id)
{
	struct ats_json_val v;
	uint64_t n;

	if (m->method.p != NULL || m->id.p == NULL)
		return false;
	v = ats_json_value(m->id);
	return ats_json_to_u64(&v, &n) == 0 && n == id;
}

int
door_result(const struct door_msg *m, struct ats_err *err)
{
	struct ats_json_val v, data;
	int code = ATS_E_PROTO;
	char *text = NULL, *name = NULL;
	int64_t rpc = 0;

	if (m->result.p != NULL)
		return 0;
	if (m->error.p == NULL)
		return ats_err_set(err, ATS_E_PROTO, "brain's answer has no result");
	if (ats_json_get(m->error, "code", &v) && ats_json_to_i64(&v, &rpc) == 0 &&
	    rpc == -32602)
		code = ATS_E_FIELD;
	if (ats_json_get(m->error, "message", &v))
		text = ats_json_dup_str(&v);
	if (ats_json_get(m->error, "data", &data) && ats_json_get(data.raw, "code", &v))
		name = ats_json_dup_str(&v);
	if (name != NULL)
		code = ats_err_from_name(name);
	(void)ats_err_set(err, code, "%s", text != NULL ? text : ats_err_text(code));
	free(text);
	free(name);
	return -code;
}

void
door_sent_before(struct ats_err *err)
{
	if (err->code != ATS_E_FULL)
		(void)ats_err_wrap(err, ATS_UNSURE);
}

int
door_call(struct door *d, const char *method, const struct ats_buf *params,
    struct door_msg *ret, struct ats_err *err)
{
	uint64_t id;
	int rc = door_send(d, method, params, NULL, 0, &id, err);

	while (rc == 0) {
		rc = door_next(d, 60000, ret, err);
		if (rc == 0 && door_is_answer(ret, id))
			return door_result(ret, err);
	}
	return rc;
}
