/* SPDX-License-Identifier: Apache-2.0
 *
 * How a link starts. Runs in the engine; all that comes is of whoever is at the other end. Over a
 * network nothing that a hello says is taken before its sender has proven the sandbox's key. */
#include "brain/engine/link_hello.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/vault_link.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/tls.h"
#include "common/wire.h"

/* ---- what is beneath it ------------------------------------------------------------ */

/* Whom we take at the other end of TLS: what the configuration says, else hands' own key, which
 * follows from the sandbox's. */
static int
make_tls(struct sandbox *box, struct ats_err *err)
{
	const struct trust *t = &box->e->trust;
	unsigned char seed[ATS_TLS_SEED], pin[ATS_TLS_PIN];
	uint64_t generation = box->pin_previous && box->key.previous != 0 ? box->key.previous :
	    box->key.generation;
	const unsigned char *key = link_key_find(&box->key, generation);
	struct ats_tls_plan plan = { .pin = t->has_pin ? t->pin : NULL, .ca_pem = t->ca_pem };
	int rc = 0;

	if (plan.pin == NULL && plan.ca_pem == NULL) {
		if (key == NULL)
			return ats_err_set(err, ATS_E_PROOF, PROOF_TEXT);
		ats_hmac_sha256(key, ATS_PROVE_KEY, "tls hands", strlen("tls hands"), seed);
		rc = ats_tls_seed_pin(seed, pin, err);
		ats_secret_wipe(seed, sizeof(seed));
		plan.pin = pin;
	}
	ats_tls_free(box->tls);
	box->tls = NULL;
	return rc < 0 ? rc : ats_tls_new(&plan, &box->tls, err);
}

int
link_connect(struct sandbox *box, int fd, const struct ats_addr *addr,
    const struct ats_chan_ops *ops, struct ats_err *err)
{
	struct ats_wire_plan plan = { .kind = addr->kind, .host = addr->host,
		.path = addr->path };
	struct ats_wire *w;
	int rc = ats_addr_has_tls(addr) ? make_tls(box, err) : 0;

	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	plan.tls = box->tls;
	rc = ats_wire_new(fd, &plan, &w, err);
	if (rc < 0)
		return rc;
	box->chan = ats_chan_new_wire(box->e->base, w, ops, box);
	return box->chan == NULL ? ats_err_set(err, ATS_E_NOMEM, "link") : 0;
}

/* ---- what is said ------------------------------------------------------------------ */

void
link_goodbye(struct ats_chan *c, int code, const char *text)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_GOODBYE];
	struct ats_msg_GOODBYE m = { .code = ats_err_name(code), .text = text };
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&json, 2048);
	if (ats_msg_encode(&row->shape, &m, &json, NULL) == 0)
		(void)!ats_chan_send(c, row->type, row->kind, 0, json.data, json.len, NULL, 0);
}

int
link_hello(struct sandbox *box, struct ats_err *err)
{
	bool proof = box->proof.wanted;
	struct ats_msg_HELLO m = {
		.version_min = ATS_PROTO_VERSION, .has_version_min = true,
		.version_max = ATS_PROTO_VERSION, .has_version_max = true,
		.digest = ats_proto_digest(), .role = "brain",
		.boot = box->boot[0] == '\0' ? NULL : box->boot,
		.epoch = box->epoch, .has_epoch = true,
		.sandbox = proof ? box->id : NULL,
		.nonce = proof ? box->proof.nonce : NULL,
		/* Hands may not have noticed yet that our last link is gone. */
		.takeover = box->take_over || (proof && box->boot[0] != '\0' && !box->displaced),
	};

	m.has_takeover = m.takeover;
	return link_send(box, ATS_FRAME_HELLO, 0, &m, err);
}

static int
send_prove(struct sandbox *box, struct ats_err *err)
{
	struct ats_msg_PROVE m;
	char mac[ATS_PROVE_HEX];

	proof_ours(&box->proof, &box->key, mac);
	m.mac = mac;
	return link_send(box, ATS_FRAME_PROVE, 0, &m, err);
}

int
link_not_proven(struct sandbox *box, const char *why, struct ats_err *err)
{
	ats_log(ATS_LOG_WARN, "a sandbox did not prove itself", "sandbox=%s why=\"%s\"", box->id,
	    why);
	link_goodbye(box->chan, ATS_E_PROOF, PROOF_TEXT);
	return ats_err_set(err, ATS_E_PROOF, PROOF_TEXT);
}

int
link_check_hello(const struct ats_msg_HELLO *m, struct ats_err *err)
{
	if (m->version_min > ATS_PROTO_VERSION || m->version_max < ATS_PROTO_VERSION)
		return ats_err_set(err, ATS_E_VERSION, "hands speaks versions %llu to %llu, "
		    "brain %u: install both of one release",
		    (unsigned long long)m->version_min, (unsigned long long)m->version_max,
		    ATS_PROTO_VERSION);
	if (m->version_max == ATS_PROTO_VERSION && strcmp(m->digest, ats_proto_digest()) != 0)
		return ats_err_set(err, ATS_E_VERSION, "hands was built from other tables "
		    "than brain: install both of one release");
	if (strcmp(m->role, "hands") != 0 || m->boot == NULL)
		return ats_err_set(err, ATS_E_PROTO, "hello: not from hands");
	return 0;
}

int
link_take_hands(struct sandbox *box, const char *boot, const char *workspace, struct ats_err *err)
{
	if (workspace != NULL && strcmp(workspace, box->workspace) != 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "the sandbox at %s has the workspace %s, not %s; name that one",
		    box->e->set.sandbox_url, workspace, box->workspace);
	if (box->boot[0] != '\0' && strcmp(box->boot, boot) != 0)
		sandbox_replaced(box);
	(void)snprintf(box->boot, sizeof(box->boot), "%s", boot);
	box->take_over = box->displaced = false;
	return 0;
}

int
link_on_hello(struct sandbox *box, const struct ats_msg_HELLO *m, struct ats_err *err)
{
	int rc;

	if (box->hello_done)
		return ats_err_set(err, ATS_E_STATE, "a second hello");
	rc = link_check_hello(m, err);
	if (rc < 0)
		return rc;
	box->hello_done = true;
	if (!box->proof.wanted)
		return link_take_hands(box, m->boot, m->workspace, err);
	if (!proof_hello(&box->proof, m, ats_chan_wire(box->chan)))
		return link_not_proven(box, "its hello asks for no proof", err);
	if (strcmp(box->proof.sandbox, box->id) != 0)
		return link_not_proven(box, "it is another sandbox", err);
	/* Where TLS ends before hands, its MAC shows first whether the session is in it. */
	return box->proof.tls_elsewhere ? 0 : send_prove(box, err);
}

int
link_on_prove(struct sandbox *box, const struct ats_msg_PROVE *m, struct ats_err *err)
{
	int rc = 0;

	if (!box->proof.wanted || !box->hello_done || box->proof.proven)
		return ats_err_set(err, ATS_E_STATE, "no proof was asked for");
	if (!proof_check(&box->proof, &box->key, m->mac))
		return link_not_proven(box, link_key_find(&box->key, box->proof.generation) != NULL
		    ? "the MAC is wrong" : "its generation does not count", err);
	if (box->proof.tls_elsewhere)
		rc = send_prove(box, err);
	if (rc < 0)
		return rc;
	if (link_key_proven(&box->key, box->proof.generation))
		vault_link_proven(box->e, box, box->proof.generation);
	return link_take_hands(box, box->proof.boot, box->proof.workspace, err);
}
