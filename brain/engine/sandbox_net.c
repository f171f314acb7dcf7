/* SPDX-License-Identifier: Apache-2.0
 *
 * What is different with a sandbox over a network: its key, one that comes in by itself, one that
 * another brain may have. Runs in the engine; who comes in has proven to be this sandbox. */
#include "brain/engine/sandbox.h"

#include <event2/event.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "common/chan.h"
#include "common/clock.h"

void
sandbox_key_changed(struct sandbox *box)
{
	box->pin_previous = false;
	if (box->key.generation == 0 && box->proof.wanted)
		sandbox_lost(box, ATS_E_INVAL, "its key was revoked");
}

static bool
is_silent(const struct sandbox *box)
{
	return ats_clock_us() - ats_chan_last_rx_us(box->chan) >=
	    box->e->set.heartbeat_ms * 1000;
}

int
sandbox_on_arrival(struct sandbox *box, struct ats_chan *c, struct proof *p,
    enum ats_addr_kind kind)
{
	uint64_t ms = box->e->set.start_ms;
	struct timeval patience = ats_timeval_ms(ms);
	struct ats_err err = { 0 };

	if (box->state == SANDBOX_DYING)
		return -ATS_E_BUSY;
	if (box->state == SANDBOX_HELLO || box->state == SANDBOX_READY) {
		if (strcmp(box->boot, p->boot) != 0 && !is_silent(box))
			return -ATS_E_BUSY;
		sandbox_lost(box, ATS_E_EOF, "it has connected again");
	}
	box->state = SANDBOX_HELLO;
	(void)event_add(box->timer, &patience);
	if (link_adopt(box, c, p, kind, &err) < 0) {
		link_goodbye(c, err.code, err.text);
		sandbox_lost(box, err.code, err.text);
	}
	return 0;
}

int
sandbox_take_over(struct sandbox *box, struct ats_err *err)
{
	if (!settings_elsewhere(&box->e->set) || settings_listen(&box->e->set) != NULL)
		return ats_err_set(err, ATS_E_INVAL, "sandbox.url is %s: nobody else can have this "
		    "sandbox", box->e->set.sandbox_url);
	box->take_over = true;
	box->failures = 0;
	box->last_code = 0;
	sandbox_lost(box, ATS_E_EOF, "it is attached to again by request");
	if (box->state == SANDBOX_BACKOFF)
		box->state = SANDBOX_NONE;
	sandbox_want(box);
	return 0;
}
