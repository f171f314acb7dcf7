/* SPDX-License-Identifier: Apache-2.0
 *
 * The state machine of a sandbox. Runs in the engine; what happens to a sandbox is decided
 * by the vault's messages, by its link, and by time.
 *
 *   NONE -> STARTING -> HELLO -> READY -> DYING -> BACKOFF -> STARTING ...
 *
 * A lost sandbox is known to have ended (or three seconds have passed) before the next one
 * is asked for: two of them must not write into one workspace. */
#include "brain/engine/call_resume.h"
#include "brain/engine/sandbox_private.h"

#include <event2/event.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "brain/engine/observe.h"
#include "brain/engine/provider.h"
#include "brain/engine/sessions.h"
#include "brain/engine/upgrade.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/map.h"

#define DYING_MS 3000u
#define BACKOFF_FIRST_MS 50u
#define BACKOFF_MOST_MS 5000u
#define BACKOFF_PROOF_MS 1000u	/* at least, after a proof that failed */

static const char *const state_names[] = {
	[SANDBOX_NONE] = "none", [SANDBOX_BACKOFF] = "backoff", [SANDBOX_STARTING] = "starting",
	[SANDBOX_HELLO] = "hello", [SANDBOX_READY] = "ready", [SANDBOX_DYING] = "dying",
};

const char *
sandbox_state_name(enum sandbox_state state)
{
	return state_names[state];
}
/* ---- time ------------------------------------------------------------------------ */

static void
timer_in(struct sandbox *box, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	(void)event_add(box->timer, &tv);
}

static void
say(struct sandbox *box, const char *kind, const char *text)
{
	ats_log(ATS_LOG_INFO, kind, "sandbox=%s generation=%llu why=\"%s\"", box->id,
	    (unsigned long long)box->generation, text == NULL ? "" : text);
	events_emit(box->e, box->uid, kind, NULL, box->id, 0, text);
}

static void
ask_for_it(struct sandbox *box)
{
	const char *listens = settings_listen(&box->e->set);

	box->state = SANDBOX_STARTING;
	box->stay_down = false;
	if (listens == NULL) {
		timer_in(box, provider_start_ms(box));
		provider_need(box);
		return;
	}
	/* It comes by itself, or it does not: calls wait as long as calls wait. */
	(void)event_del(box->timer);
	(void)snprintf(box->last_error, sizeof(box->last_error), "no sandbox has dialed in; on its "
	    "side run: ats-hands --connect %s --key-file FILE%s", listens,
	    box->key.generation == 0 ? ", with what atsctl sandbox enroll prints in FILE" : "");
}

void
sandbox_want(struct sandbox *box)
{
	if (box->state != SANDBOX_NONE || box->nsessions == 0 || box->e->stopping)
		return;
	/* Calls must not make us ask a hands that is not ours as often as they come. */
	if (box->last_code == ATS_E_PROOF &&
	    ats_clock_us() - box->lost_us < BACKOFF_PROOF_MS * UINT64_C(1000)) {
		box->state = SANDBOX_BACKOFF;
		timer_in(box, BACKOFF_PROOF_MS);
	} else {
		ask_for_it(box);
	}
}

/* The next one would say the same: not tried again by itself. */
static bool
is_final(int code)
{
	return code == ATS_E_UNAVAILABLE || code == ATS_E_CONFINE || code == ATS_E_INVAL ||
	    code == ATS_E_TAKEN_OVER;
}

static bool
is_wanted(const struct sandbox *box)
{
	return box->nqueue > 0 || ats_map_count(box->sent) > 0 || hooks_box_is_awaited(box) ||
	    calls_resumed_next(box->e->calls, box, NULL) != NULL;
}

/* No way back to what hands may still have. */
static void
give_up(struct sandbox *box, int code)
{
	box->state = SANDBOX_NONE;
	observe_count(box->e, ATS_METRIC_SANDBOX_GIVEN_UP);
	say(box, "sandbox.given_up", box->last_error);
	dispatch_lost(box, box->last_error);
	box->abandoned = 0;
	box->resuming = false;
	upgrade_lost(box, box->last_error);
	dispatch_refuse(box, code, box->last_error);
}

static void
try_later(struct sandbox *box)
{
	unsigned shift = box->failures > 2 ? box->failures - 2 : 0;
	uint64_t ms = shift > 6 ? BACKOFF_MOST_MS : BACKOFF_FIRST_MS << shift;

	if (box->last_code == ATS_E_PROOF && ms < BACKOFF_PROOF_MS)
		ms = BACKOFF_PROOF_MS;
	if (is_final(box->last_code)) {
		box->failures = 0;
		give_up(box, box->last_code);
	} else if (box->failures > box->e->set.rebuild_limit) {
		box->failures--;	/* the next call has one try, not all of them */
		give_up(box, ATS_E_NO_SANDBOX);
	} else if (box->failures <= 1 && box->last_code != ATS_E_PROOF) {
		ask_for_it(box);
	} else {
		box->state = SANDBOX_BACKOFF;
		timer_in(box, ms);
	}
}

/* The old one has ended. */
static void
ended(struct sandbox *box)
{
	box->state = SANDBOX_NONE;
	(void)event_del(box->timer);
	if (box->nsessions == 0)
		timer_in(box, 0);	/* freed at the next turn: callers still hold it */
	else if (is_wanted(box) || (!box->stay_down && box->failures <= 1))
		try_later(box);
}

/* Why it ended so early stands in its log only: it has said nothing yet. */
static void
note_early(struct sandbox *box, int code, const char *why)
{
	char last[200];

	if (settings_elsewhere(&box->e->set)) {
		sandbox_last_words(box, last, sizeof(last));
		(void)snprintf(box->last_error, sizeof(box->last_error),
		    "%s gave no sandbox: %s%s%s", box->e->set.sandbox_url, why,
		    last[0] != '\0' ? "; its last words: " : "", last);
	} else if (code == ATS_E_EOF) {
		(void)snprintf(box->last_error, sizeof(box->last_error),
		    "it ended before it was ready (%s); atsctl doctor shows what this machine "
		    "lacks, atsctl sandbox logs %s what happened", why, box->id);
	} else {
		(void)snprintf(box->last_error, sizeof(box->last_error), "%s", why);
	}
}

/* Only the link is gone, as far as we know: hands, started by somebody else, may go on, and so
 * does one that is upgraded. Whether it did shows when it answers again. */
static bool
may_resume(const struct sandbox *box, int code, bool early)
{
	/* Who has not proven itself says nothing of the hands that we had. */
	bool unproven = box->proof.wanted && !box->proof.proven;

	return (settings_elsewhere(&box->e->set) || (box->upgrade != NULL && !early)) &&
	    box->boot[0] != '\0' &&
	    (code == ATS_E_EOF || code == ATS_E_SILENT || code == ATS_E_SYS || unproven);
}

void
sandbox_replaced(struct sandbox *box)
{
	box->losses++;
	box->resuming = false;
	(void)snprintf(box->last_error, sizeof(box->last_error),
	    "the sandbox was started again by whoever runs it");
	say(box, "sandbox.lost", box->last_error);
	sessions_box_lost(box->e->sessions, box);
	dispatch_lost(box, box->last_error);
	box->abandoned = 0;
}

void
sandbox_lost(struct sandbox *box, int code, const char *why)
{
	unsigned half = (unsigned)(box->e->set.rebuild_limit + 1) / 2;
	bool early = box->state == SANDBOX_HELLO, resumes = may_resume(box, code, early);
	bool ours = !settings_elsewhere(&box->e->set);

	if (!early && box->state != SANDBOX_READY)
		return;
	link_cut(box);
	observe_count(box->e, ATS_METRIC_SANDBOX_LOST);
	box->state = SANDBOX_DYING;
	hooks_box_lost(box);
	/* Where hands was reached again and again it is not given up, only after a pause each. */
	if (!early && resumes && box->failures > half)
		box->failures = half;
	box->failures++;
	box->last_code = code;
	box->lost_us = ats_clock_us();
	if (early && !is_final(code))
		note_early(box, code, why);
	else
		(void)snprintf(box->last_error, sizeof(box->last_error), "%s", why);
	box->resuming = resumes;
	if (resumes) {
		say(box, "sandbox.unlinked", box->last_error);
		dispatch_paused(box);
	} else {
		box->losses++;
		say(box, "sandbox.lost", box->last_error);
		if (ours)	/* else its shells may live */
			sessions_box_lost(box->e->sessions, box);
		dispatch_lost(box, box->last_error);
		box->abandoned = 0;
		upgrade_lost(box, box->last_error);
	}
	provider_lost(box, early || !resumes);
	link_stop(box);
	if (resumes && ours) {	/* the vault says where the one that runs can be reached */
		box->failures = 0;
		ask_for_it(box);
		return;
	}
	if (box->exited_generation >= box->generation) {
		ended(box);
		return;
	}
	vault_link_kill(box->e, box);
	timer_in(box, DYING_MS);
}

void
sandbox_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *box = arg;

	(void)fd;
	(void)what;
	switch (box->state) {
	case SANDBOX_NONE:
		if (box->nsessions == 0)
			sandboxes_drop(box->e->boxes, box);
		return;
	case SANDBOX_BACKOFF:
		ask_for_it(box);
		return;
	case SANDBOX_STARTING:
		sandbox_on_failed(box, ATS_E_NO_SANDBOX, "the vault gave no sandbox in time");
		return;
	case SANDBOX_HELLO:
		sandbox_lost(box, ATS_E_SILENT, "hands was not ready in time");
		return;
	case SANDBOX_READY:
		if (link_heartbeat(box) < 0) {
			sandbox_lost(box, ATS_E_SILENT, "hands stopped answering");
			return;
		}
		box->failures = 0;
		provider_used(box);
		timer_in(box, box->e->set.heartbeat_ms);
		return;
	case SANDBOX_DYING:
		ats_log(ATS_LOG_WARN, "a lost sandbox was not seen to end", "sandbox=%s", box->id);
		ended(box);
		return;
	}
}

void
sandbox_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *box = arg;

	(void)fd;
	(void)what;
	gateways_tell_box(box->e->gateways, box);
	relay_flush(box);
	dispatch_next(box);
}

/* ---- what the vault says ---------------------------------------------------------- */

void
sandbox_on_fd(struct sandbox *box, uint64_t generation, int fd, const char *address)
{
	struct ats_err err = { 0 };

	if (box->state != SANDBOX_STARTING) {
		ats_log(ATS_LOG_WARN, "a sandbox that nobody waits for", "sandbox=%s", box->id);
		(void)close(fd);
		return;
	}
	box->generation = generation;
	if (!settings_elsewhere(&box->e->set)) {
		if (box->resuming)	/* this is another start */
			sandbox_replaced(box);
		box->boot[0] = '\0';
	}
	box->state = SANDBOX_HELLO;
	timer_in(box, box->e->set.start_ms);
	if (link_start(box, fd, address, &err) < 0)
		sandbox_lost(box, err.code, err.text);
}

void
sandbox_on_failed(struct sandbox *box, int code, const char *text)
{
	if (box->state != SANDBOX_STARTING)
		return;
	if (provider_tries_on(box)) {
		timer_in(box, provider_start_ms(box));
		return;
	}
	(void)event_del(box->timer);
	box->failures++;
	box->last_code = code;
	(void)snprintf(box->last_error, sizeof(box->last_error), "%s", text);
	say(box, "sandbox.failed", box->last_error);
	box->state = SANDBOX_NONE;
	if (box->nsessions == 0)
		timer_in(box, 0);	/* freed at the next turn, as in ended() */
	else if (!ats_err_retryable(code) && code != ATS_E_SYS)
		give_up(box, ATS_E_NO_SANDBOX);
	else if (is_wanted(box))
		try_later(box);
}

void
sandbox_on_alive(struct sandbox *box, uint64_t generation, const char *path)
{
	struct ats_err err = { 0 };
	int fd = -1;

	if (box->state != SANDBOX_NONE && box->state != SANDBOX_STARTING)
		return;
	box->generation = generation;
	box->state = SANDBOX_HELLO;
	box->relay.forgot = true;
	timer_in(box, box->e->set.start_ms);
	if (ats_fd_unix_connect(path, SOCK_STREAM, &fd, &err) < 0 ||
	    link_start(box, fd, "", &err) < 0)
		sandbox_lost(box, err.code, err.text);
	else
		say(box, "sandbox.resumed", NULL);
}

void
sandbox_on_exited(struct sandbox *box, uint64_t generation)
{
	if (generation > box->exited_generation)
		box->exited_generation = generation;
	/* Before that its last frames may still be in the socket: the end of the link decides. */
	if (box->state == SANDBOX_DYING && generation >= box->generation)
		ended(box);
}

/* ---- the rest --------------------------------------------------------------------- */

void
sandbox_on_ready(struct sandbox *box)
{
	box->ready_us = ats_clock_us();
	box->resuming = false;
	box->last_error[0] = '\0';
	timer_in(box, box->e->set.heartbeat_ms);
	observe_count(box->e, ATS_METRIC_SANDBOX_READY);
	say(box, "sandbox.ready", NULL);
	hooks_box_ready(box, box->may_have_hooks);
	upgrade_ready(box);
	box->tools_due = true;
	gateways_want(box->e->gateways);
	gateways_tell_box(box->e->gateways, box);
	dispatch_next(box);
	provider_used(box);
}

void
sandbox_kill(struct sandbox *box, bool restart)
{
	box->stay_down = !restart;
	if (box->state == SANDBOX_NONE && restart)
		ask_for_it(box);
	box->failures = 0;
	sandbox_lost(box, ATS_E_LOST, "ended by request");
}

void
sandboxes_unuse(struct sandbox *box)
{
	if (--box->nsessions > 0)
		return;
	if (provider_unused(box))
		box->state = SANDBOX_NONE;
	dispatch_refuse(box, ATS_E_CANCELLED, "the session was closed");
	if (box->state != SANDBOX_HELLO && box->state != SANDBOX_READY)
		dispatch_lost(box, "the session was closed");
	if (box->state == SANDBOX_HELLO || box->state == SANDBOX_READY) {
		sandbox_lost(box, ATS_E_CANCELLED, "its last session was closed");
	} else if (box->state == SANDBOX_NONE || box->state == SANDBOX_BACKOFF ||
	    (box->state == SANDBOX_STARTING && settings_listen(&box->e->set) != NULL)) {
		box->state = SANDBOX_NONE;
		timer_in(box, 0);
	}
}
