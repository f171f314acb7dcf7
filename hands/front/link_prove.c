/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof that a peer holds the sandbox's key. Runs in hands' front; the peer is whoever reached
 * the port. What is right attaches at once; what is wrong is answered one at a time, after a
 * pause that grows, so that guessing is slow and nobody who has the key is kept waiting. */
#include "hands/front/link_private.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/secret.h"
#include "hands/front/front.h"
#include "hands/key.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_MS 50u		/* after a wrong proof; each further one doubles it */
#define PAUSE_MAX_MS 1000u
#define FORGIVE_MS 10000u	/* without a wrong one */

static void
make_mac(const struct peer *p, const char *role, char ret_hex[ATS_PROVE_HEX])
{
	const struct front *f = p->l->f;
	const struct ats_prove what = {
		.sandbox = f->key.sandbox,
		.generation = f->key.generation,
		.boot = f->boot,
		.epoch = p->epoch,
		.nonce_brain = p->its_nonce,
		.nonce_hands = p->nonce,
		.exporter = p->tls ? p->exporter : NULL,
	};

	ats_prove_mac(ats_secret_bytes(f->key.secret, NULL), role, &what, ret_hex);
}

static int
say_proof(struct peer *p)
{
	char mac[ATS_PROVE_HEX];
	struct ats_msg_PROVE m = { .mac = mac };
	int rc;

	make_mac(p, "hands", mac);
	rc = peer_send(p, ATS_FRAME_PROVE, &m);
	return rc == -ATS_E_EOF ? 0 : rc;
}

int
link_prove(struct peer *p, const struct ats_msg_HELLO *its, struct ats_err *err)
{
	const struct key *key = &p->l->f->key;

	(void)err;
	/* Over TLS its session goes in: nobody in between can carry a proof to another one. */
	p->tls = ats_wire_exporter(ats_chan_wire(p->chan), p->exporter);
	if (key->secret == NULL || its->nonce == NULL || !ats_prove_nonce_ok(its->nonce) ||
	    its->sandbox == NULL || strcmp(its->sandbox, key->sandbox) != 0 ||
	    p->tls != (p->l->f->tls != NULL)) {
		link_not_proven(p);
		return 0;
	}
	(void)snprintf(p->its_nonce, sizeof(p->its_nonce), "%s", its->nonce);
	return p->l->f->tls_elsewhere ? 0 : say_proof(p);
}

static void
refuse(struct peer *p)
{
	struct link *l = p->l;
	uint64_t now = ats_clock_ms();
	struct timeval tv;

	if (now - l->failed_ms > FORGIVE_MS)
		l->pause_ms = 0;
	l->failed_ms = now;
	l->pause_ms = l->pause_ms == 0 ? PAUSE_MS : l->pause_ms * 2;
	if (l->pause_ms > PAUSE_MAX_MS)
		l->pause_ms = PAUSE_MAX_MS;
	tv = (struct timeval){ l->pause_ms / 1000, l->pause_ms % 1000 * 1000 };
	(void)evtimer_add(l->pause, &tv);
	peer_goodbye(p, ATS_E_PROOF, ats_err_text(ATS_E_PROOF));
}

void
link_not_proven(struct peer *p)
{
	bool waited = p->wrong;

	p->wrong = true;
	if (waited || !evtimer_pending(p->l->pause, NULL))
		refuse(p);
}

void
link_on_pause(int fd, short what, void *arg)
{
	struct link *l = arg;
	struct peer *p = l->waiting;

	(void)fd;
	(void)what;
	while (p != NULL && (!p->wrong || p->said_goodbye))
		p = p->next;
	if (p != NULL)
		refuse(p);
}

/* Where TLS may end before brain, with somebody whom the CAs vouch for, the session may not be in
 * brain's proof; then it is not in ours either. */
static bool
is_right(struct peer *p, const char *its)
{
	char mac[ATS_PROVE_HEX];

	make_mac(p, "brain", mac);
	if (!p->l->f->tls_elsewhere || ats_prove_equal(mac, its))
		return ats_prove_equal(mac, its);
	p->tls = false;
	make_mac(p, "brain", mac);
	return ats_prove_equal(mac, its);
}

int
link_on_prove(struct peer *p, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_PROVE m;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_PROVE].shape, fr->json,
	    fr->head.json_len, 0, &m, &p->l->f->arena, err);

	if (rc < 0)
		return rc;
	if (!p->proves || !p->hello || p == p->l->at)
		return ats_err_set(err, ATS_E_STATE, "no proof was asked for");
	if (!is_right(p, m.mac)) {
		link_not_proven(p);
		return 0;
	}
	rc = p->l->f->tls_elsewhere ? say_proof(p) : 0;
	if (rc == 0)
		link_admit(p);
	return rc;
}
