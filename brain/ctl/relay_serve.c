/* SPDX-License-Identifier: Apache-2.0
 *
 * From files to calls and back. Process: atsctl relay. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/ctl/relay_server.h"
#include "common/clock.h"
#include "common/digest.h"

#define TRIES 256u		/* names a turn; most may be junk */
#define LOG_MS 10000u		/* between two lines about what was refused */

bool
relay_has_room(const struct relay_server *s)
{
	return s->ncalls < RELAY_CALLS && s->tokens >= 1.0;
}

int
relay_token_wait_ms(const struct relay_server *s)
{
	return s->tokens >= 1.0 ? -1 : (int)((1.0 - s->tokens) * 1000.0 / RELAY_RATE) + 1;
}

static void
refill(struct relay_server *s)
{
	uint64_t now = ats_clock_ms();

	s->tokens += (double)(now - s->tokens_ms) * RELAY_RATE / 1000.0;
	if (s->tokens > RELAY_RATE)
		s->tokens = RELAY_RATE;
	s->tokens_ms = now;
}

/* To an id that has no place, or no more one: when that fails, nobody is told. */
static void
refuse(struct relay_server *s, const char *id, const char *why)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	s->refused++;
	ats_buf_init(&text, 4096);
	if (ats_relaydir_response_write(&text, ATS_RELAYDIR_ERROR, why, strlen(why)) == 0)
		(void)!relay_dir_answer(&s->dir, id, text.data, text.len, NULL);
}

/* The file is taken, whatever it holds; what is wrong with it is told by an answer. */
static int
on_request(struct relay_server *s, const char *id)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_buf params;
	struct ats_err err = { 0 };
	char key[24];
	int rc, used;

	ats_buf_init(&text, ATS_RELAYDIR_REQUEST_MAX + (64u << 10));
	rc = relay_dir_take(&s->dir, id, &text, &err);
	if (rc == -ATS_E_NOENT)
		return 0;
	if (rc == -ATS_E_BUSY) {
		s->stuck++;
		return 0;
	}
	s->tokens -= 1.0;
	used = relay_ids_use(&s->ids, id);
	if (used == -ATS_E_NOMEM || ats_id_new("k", key, sizeof(key)) < 0)
		return -ATS_E_NOMEM;
	ats_buf_init(&params, ATS_RELAYDIR_REQUEST_MAX + 4096);
	if (used < 0)
		(void)ats_err_set(&err, ATS_E_ID_REUSED, "this id was used before; nothing was run "
		    "for this request");
	else if (rc == 0)
		rc = relay_params(&s->tools, (struct ats_slice){ text.data, text.len },
		    key, &params, &err);
	if (used == 0 && rc == 0)
		rc = relay_submit(s, id, key, &params);
	else
		refuse(s, id, err.text);
	ats_buf_done(&params);
	return rc == -ATS_E_NOMEM ? rc : 0;
}

int
relay_requests(struct relay_server *s)
{
	char id[ATS_RELAYDIR_ID_MAX + 1];
	int rc = 0, found = 1;

	refill(s);
	for (unsigned i = 0; i < TRIES && rc == 0 && found == 1 && relay_has_room(s); i++) {
		found = relay_dir_next(&s->dir, id);
		if (found == 1)
			rc = on_request(s, id);
	}
	s->more = found != 0 && relay_has_room(s);
	return rc;
}

static void
let_go(struct relay_server *s, struct relay_call *call)
{
	ats_buf_done(&call->params);
	ats_buf_done(&call->answer);
	*call = (struct relay_call){ 0 };
	s->ncalls--;
}

void
relay_publish(struct relay_server *s, struct relay_call *call, struct ats_buf *text)
{
	struct ats_err err = { 0 };

	if (relay_dir_answer(&s->dir, call->id, text->data, text->len, &err) == 0) {
		let_go(s, call);
		return;
	}
	if (call->answer.len > 0)
		return;			/* it is that one, and was told */
	(void)ctl_fail(0, "relay: an answer cannot be written yet: %s", err.text);
	call->answer = *text;
	*text = (struct ats_buf){ 0 };
}

void
relay_publish_error(struct relay_server *s, struct relay_call *call, const char *why)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&text, 65536);
	if (ats_relaydir_response_write(&text, ATS_RELAYDIR_ERROR, why, strlen(why)) == 0)
		relay_publish(s, call, &text);
	else
		let_go(s, call);
}

void
relay_tick(struct relay_server *s)
{
	uint64_t now = ats_clock_ms();

	for (size_t i = 0; i < RELAY_CALLS; i++) {
		struct relay_call *call = &s->calls[i];

		if (call->id[0] == '\0' || call->answer.len == 0)
			continue;
		relay_publish(s, call, &call->answer);
		if (call->id[0] != '\0' && now >= call->end_ms)
			let_go(s, call);	/* nobody waits any more */
	}
	relay_dir_forget_old(&s->dir);
	if (s->refused + s->stuck == 0 || (s->said_ms != 0 && now - s->said_ms < LOG_MS))
		return;
	(void)ctl_fail(0, "relay: refused requests: %llu, things that could not be removed: %llu",
	    (unsigned long long)s->refused, (unsigned long long)s->stuck);
	s->refused = s->stuck = 0;
	s->said_ms = now;
}

void
relay_remove_specs(const struct relay_server *s)
{
	if (s->specs_dir >= 0)
		(void)unlinkat(s->specs_dir, s->specs_name, 0);
}

int
relay_write_specs(struct relay_server *s, struct ats_err *err)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	char temp[256];
	uint64_t nonce;
	int rc;

	if (s->tools.n == 0) {
		relay_remove_specs(s);
		return 0;
	}
	ats_buf_init(&text, ATS_SPECS_BYTES + (64u << 10));
	rc = ats_specs_write(&text, &s->tools);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s: %s", s->specs_name, ats_err_text(rc));
	if (ctl_random(&nonce) < 0)
		return ats_err_sys(err, "getrandom");
	(void)snprintf(temp, sizeof(temp), "%s.tmp.%016llx", s->specs_name,
	    (unsigned long long)nonce);
	return relay_put(s->specs_dir, s->specs_name, temp, 0644, text.data, text.len, err);
}
