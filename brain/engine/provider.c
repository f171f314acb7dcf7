/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes that a script makes. Runs in the engine; what scripts say is judged here
 * (docs/INTEGRATION.md, proto/schema), and where they say a sandbox is, by the spawner.
 *
 * A start takes, of these, the first that works: the present one, if only its link was lost, or
 * the engine before this one (connecting shows it); a warm one that NAME.probe calls alive; one
 * that NAME.build makes. */
#include "brain/engine/provider.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/provider_private.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/script.h"
#include "brain/engine/script_line.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/secret.h"

#define ENROLMENT_MAX 160		/* ats1:, an id, a number, 64 digits */
#define PROBE_MS 10000u
#define WARM_AGAIN_US 30000000u		/* after one that failed */

static void
drop_now(struct provided *d)
{
	if (d->has_now)
		provider_remove(d->box->e, d->box->id, &d->now);
	d->has_now = d->again = false;
}

/* ---- starting ---------------------------------------------------------------------- */

static void on_built(void *ctx, int code, const char *why, struct ats_slice line);
static void on_warmed(void *ctx, int code, const char *why, struct ats_slice line);
static void on_probed(void *ctx, int code, const char *why, struct ats_slice line);

const char *
provider_script(const struct engine *e)
{
	return strncmp(e->set.sandbox_url, "script:", 7) == 0 ? e->set.sandbox_url + 7 : NULL;
}

static void
failed(struct provided *d, const char *step, int code, const char *why)
{
	char text[900], last[200];

	sandbox_last_words(d->box, last, sizeof(last));
	(void)snprintf(text, sizeof(text), "%s.%s of \"commands\" gave no sandbox: %.400s%s%s; "
	    "atsctl sandbox logs %s shows what it said", provider_script(d->box->e), step, why,
	    last[0] != '\0' ? "; its last words: " : "", last, d->box->id);
	sandbox_on_failed(d->box, code, text);
}

/* What ats-hands --key-file reads, of a sandbox that has a key. */
static bool
enrolment(const struct sandbox *box, char out[ENROLMENT_MAX])
{
	const unsigned char *key = link_key_find(&box->key, box->key.generation);
	char hex[2 * ATS_PROVE_KEY + 1];

	if (box->key.generation == 0 || key == NULL)
		return false;
	ats_hex(key, ATS_PROVE_KEY, hex);
	(void)snprintf(out, ENROLMENT_MAX, "ats1:%s:%llu:%s", box->id,
	    (unsigned long long)box->key.generation, hex);
	ats_secret_wipe(hex, sizeof(hex));
	return true;
}

static struct script *
build(struct provided *d, script_done *done)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	struct made keep[PROVIDER_WARM_MAX + 1];
	struct sandbox *box = d->box;
	char key[ENROLMENT_MAX];
	struct script *s = NULL;
	uint64_t now = (uint64_t)ats_clock_wall_ms();
	size_t n = 0;

	if (d->has_now)
		keep[n++] = d->now;
	for (size_t i = 0; i < d->nwarm; i++)
		keep[n++] = d->warm[i];
	d->generation = now > d->generation ? now : d->generation + 1;
	if (script_line_build(box->id, box->workspace, d->generation, keep, n,
		enrolment(box, key) ? key : NULL, &line) == 0)
		s = script_run(box->e, box->id, SCRIPT_BUILD,
		    (struct ats_slice){ line.data, line.len },
		    box->e->set.build_timeout_s * 1000, done, d);
	ats_secret_wipe(key, sizeof(key));
	if (line.len > 0)
		ats_secret_wipe(line.data, line.len);
	return s;
}

static struct script *
probe(struct provided *d)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };

	if (script_line_id(d->now.id, &line) < 0)
		return NULL;
	return script_run(d->box->e, d->box->id, SCRIPT_PROBE,
	    (struct ats_slice){ line.data, line.len }, PROBE_MS, on_probed, d);
}

static void
use(struct provided *d)
{
	provider_keep(d, &d->now, true);
	vault_link_use(d->box->e, d->box, d->now.url);
}

static void
next(struct provided *d)
{
	bool is_warm = !d->has_now && d->nwarm > 0;

	if (d->has_now) {
		use(d);
		return;
	}
	if (!is_warm && d->warming != NULL) {
		d->waits = true;
		return;
	}
	if (is_warm) {
		d->now = d->warm[--d->nwarm];
		d->has_now = true;
	}
	d->need = is_warm ? probe(d) : build(d, on_built);
	if (d->need == NULL)
		sandbox_on_failed(d->box, ATS_E_NOMEM, "a script of sandbox.url: out of memory");
}

static void
on_probed(void *ctx, int code, const char *why, struct ats_slice line)
{
	struct provided *d = ctx;
	struct ats_err err = { 0 };
	bool alive = code == ATS_E_NOENT;	/* no command for that: connecting shows it */

	d->need = NULL;
	if (code == 0)
		code = -script_line_alive(line, &alive, &err);
	if (alive) {
		use(d);
		return;
	}
	ats_log(ATS_LOG_WARN, "a warm sandbox is not alive", "sandbox=%s id=%s why=\"%s\"",
	    d->box->id, d->now.id, code == 0 ? "probed" : err.code != 0 ? err.text : why);
	drop_now(d);
	next(d);
}

/* What was built is no other than what it was asked for, and none that is used already. */
static int
take(const struct provided *d, int code, const char *why, struct ats_slice line,
    struct made *ret, struct ats_err *err)
{
	struct made m;
	int rc;

	if (code != 0)
		return ats_err_set(err, code == ATS_E_NOENT ? ATS_E_INVAL : code, "%s", why);
	rc = script_line_made(line, &m, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < d->nwarm; i++)
		if (strcmp(d->warm[i].id, m.id) == 0)
			return ats_err_set(err, ATS_E_PROTO, "it names \"%s\", which it had made "
			    "before and was to keep", m.id);
	if (d->has_now && strcmp(d->now.id, m.id) == 0)
		return ats_err_set(err, ATS_E_PROTO, "it names \"%s\", which is in use", m.id);
	*ret = m;
	return 0;
}

static void
on_built(void *ctx, int code, const char *why, struct ats_slice line)
{
	struct provided *d = ctx;
	struct ats_err err = { 0 };

	d->need = NULL;
	if (take(d, code, why, line, &d->now, &err) < 0) {
		failed(d, "build", err.code, err.text);
		return;
	}
	d->has_now = true;
	use(d);
}

void
provider_need(struct sandbox *box)
{
	struct provided *d = box->provided;

	if (box->e->stopping)
		return;
	if (provider_script(box->e) == NULL) {
		vault_link_need(box->e, box);
		return;
	}
	if (d == NULL) {
		d = box->provided = calloc(1, sizeof(*d));
		if (d == NULL) {
			sandbox_on_failed(box, ATS_E_NOMEM, "out of memory");
			return;
		}
		d->box = box;
		provider_take_over(box->e->provider, d);
	}
	if (d->need == NULL && !d->waits)
		next(d);
}

uint64_t
provider_start_ms(const struct sandbox *box)
{
	const struct settings *set = &box->e->set;
	uint64_t scripts = provider_script(box->e) != NULL ?
	    set->build_timeout_s * 1000 + (set->warm + 1) * PROBE_MS : 0;

	return set->start_ms + scripts;
}

/* ---- in use ------------------------------------------------------------------------ */

bool
provider_tries_on(struct sandbox *box)
{
	struct provided *d = box->provided;
	bool again;

	if (d == NULL)
		return false;
	again = d->has_now && d->again;
	provider_abandon(box, &d->need);
	d->waits = false;
	drop_now(d);
	if (again && !box->e->stopping)
		next(d);
	return again;
}

void
provider_lost(struct sandbox *box, bool ends)
{
	struct provided *d = box->provided;

	if (d != NULL && ends)
		drop_now(d);
	else if (d != NULL)
		d->again = true;
}

static void
on_warmed(void *ctx, int code, const char *why, struct ats_slice line)
{
	struct provided *d = ctx;
	struct ats_err err = { 0 };
	struct made m;
	int rc;

	d->warming = NULL;
	rc = take(d, code, why, line, &m, &err);
	if (rc < 0 && d->waits) {
		d->waits = false;
		failed(d, "build", err.code, err.text);
	} else if (rc < 0) {
		d->warm_from_us = ats_clock_us() + WARM_AGAIN_US;
		ats_log(ATS_LOG_WARN, "no warm sandbox", "sandbox=%s why=\"%s\"", d->box->id,
		    err.text);
		events_emit(d->box->e, d->box->uid, "sandbox.not_warm", NULL, d->box->id, 0,
		    err.text);
	} else if (d->waits) {
		d->waits = false;
		d->now = m;
		d->has_now = true;
		use(d);
	} else {
		d->warm[d->nwarm++] = m;
		provider_keep(d, &m, false);
		provider_used(d->box);
	}
}

void
provider_used(struct sandbox *box)
{
	struct provided *d = box->provided;

	if (d == NULL || box->state != SANDBOX_READY || box->e->stopping)
		return;
	if (d->warming != NULL || d->nwarm >= box->e->set.warm ||
	    ats_clock_us() < d->warm_from_us)
		return;
	d->warming = build(d, on_warmed);
}

size_t
provider_warm(const struct sandbox *box)
{
	return box->provided == NULL ? 0 : box->provided->nwarm;
}

bool
provider_unused(struct sandbox *box)
{
	struct provided *d = box->provided;
	bool starts;

	if (d == NULL)
		return false;
	starts = d->need != NULL || d->waits;
	provider_abandon(box, &d->need);
	provider_abandon(box, &d->warming);
	drop_now(d);
	while (d->nwarm > 0)
		provider_remove(box->e, box->id, &d->warm[--d->nwarm]);
	box->provided = NULL;
	free(d);
	return starts;
}

/* ---- life -------------------------------------------------------------------------- */

struct provider *
provider_new(struct engine *e)
{
	struct provider *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->e = e;
	TAILQ_INIT(&p->removals);
	TAILQ_INIT(&p->left);
	provider_load(p);
	return p;
}

void
provider_free(struct provider *p)
{
	if (p == NULL)
		return;
	provider_removals_free(p);
	provider_left_free(p);
	if (p->late != NULL)
		event_free(p->late);
	free(p);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct provider *p = arg;

	(void)fd;
	(void)what;
	ats_log(ATS_LOG_WARN, "not all sandboxes were removed in time", NULL);
	(void)event_base_loopbreak(p->e->base);
}

bool
provider_stop(struct engine *e)
{
	static const struct timeval most = { PROVIDER_STOP_MS / 1000, 0 };
	struct provider *p = e->provider;
	struct sandbox *box;
	size_t pos = 0;

	while ((box = sandboxes_each(e->boxes, &pos)) != NULL)
		(void)provider_unused(box);
	provider_remove_left(p);
	if (TAILQ_EMPTY(&p->removals) || p->late != NULL)
		return p->late != NULL;
	p->late = event_new(e->base, -1, 0, on_late, p);
	return p->late != NULL && event_add(p->late, &most) == 0;
}
