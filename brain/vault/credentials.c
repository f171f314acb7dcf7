/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of credentials: which there are, and what each part of the vault gets of one. Runs in
 * the vault; names in what it is asked are clients' and gateways'. */
#include "brain/vault/credentials_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/json.h"

#define REFUSED_MS 60000		/* so often at most a refused one is read again */
#define WHY_MAX 400		/* all of them have to fit beside the rest of the status */
#define RETRY_MS 3000			/* so long a failure stands, then a use tries again */

int
credentials_open(struct vault *v, struct ats_err *err)
{
	const struct sources *g = &v->conf->sources;
	struct credentials *all = ats_calloc(1, sizeof(*all));

	if (all != NULL)
		all->v = ats_calloc(g->ncredentials + 1, sizeof(*all->v));
	if (all == NULL || all->v == NULL) {
		free(all);
		return ats_err_set(err, ATS_E_NOMEM, "credentials: out of memory");
	}
	v->credentials = all;
	for (size_t i = 0; i < g->ncredentials; i++) {
		struct credential *c = &all->v[all->n++];

		*c = (struct credential){ .v = v, .src = &g->credentials[i], .fd = -1,
			.said = SAID_NOTHING };
		if (c->src->kind != CREDENTIAL_COMMAND)
			credential_read_now(c);
	}
	return 0;
}

void
credentials_free(struct vault *v)
{
	if (v->credentials == NULL)
		return;
	for (size_t i = 0; i < v->credentials->n; i++) {
		credential_stop(&v->credentials->v[i]);
		ats_secret_free(v->credentials->v[i].value);
	}
	free(v->credentials->v);
	free(v->credentials);
	v->credentials = NULL;
}

/* ---- for the vault ------------------------------------------------------------------ */
struct credential *
credential_find(const struct vault *v, const char *name)
{
	for (size_t i = 0; i < v->credentials->n; i++)
		if (strcmp(v->credentials->v[i].src->name, name) == 0)
			return &v->credentials->v[i];
	return NULL;
}

int
credentials_get(struct vault *v, const char *name, const struct ats_secret **ret,
    struct ats_err *err)
{
	struct credential *c = credential_find(v, name);
	int rc;

	if (c == NULL)
		return ats_err_set(err, ATS_E_NOENT, "credentials.%.64s does not exist", name);
	if (c->state == CREDENTIAL_HAVE) {
		*ret = c->value;
		return 0;
	}
	if (c->state == CREDENTIAL_FAILED && ats_clock_ms() - c->failed_ms < RETRY_MS)
		return ats_err_set(err, c->why.code, "%s", c->why.text);
	if (c->state != CREDENTIAL_READING && (rc = credential_start(c, err)) < 0)
		return rc;
	return -ATS_E_AGAIN;
}

int
credentials_again(struct vault *v, const char *name, struct ats_err *err)
{
	struct credential *c = credential_find(v, name);

	if (c == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "brain.json has no credentials.%.64s",
		    name);
	return c->state == CREDENTIAL_READING ? 0 : credential_start(c, err);
}

bool
credentials_refused(struct vault *v, const char *name)
{
	struct credential *c = credential_find(v, name);
	struct ats_err err = { 0 };

	if (c == NULL)
		return false;
	if (c->state == CREDENTIAL_READING)
		return true;
	if (c->refused_ms != 0 && ats_clock_ms() - c->refused_ms < REFUSED_MS)
		return false;
	c->refused_ms = ats_clock_ms();
	ats_log(ATS_LOG_INFO, "a credential was refused and is read again", "credential=%s", name);
	return credential_start(c, &err) == 0;
}

/* ---- for people --------------------------------------------------------------------- */
static const char *
state_word(const struct credential *c)
{
	return c->state == CREDENTIAL_FAILED ? "failed" :
	    c->state == CREDENTIAL_HAVE	     ? "ok" :
					       "not read";
}

static const char *const sources[] = { [CREDENTIAL_FILE] = "file",
	[CREDENTIAL_SYSTEMD] = "systemd", [CREDENTIAL_COMMAND] = "command" };

/* Why it cannot be had, or false. A file was read when brain started; a command that was not run
 * yet must at least be there. */
static bool
is_unwell(const struct credential *c, char *why, size_t size)
{
	const char *program = c->src->kind == CREDENTIAL_COMMAND ? c->src->argv.v[0] : NULL;

	if (c->state == CREDENTIAL_FAILED) {
		(void)snprintf(why, size, "%.*s", WHY_MAX - 1, c->why.text);
		return true;
	}
	if (program == NULL || c->state == CREDENTIAL_HAVE || c->state == CREDENTIAL_READING ||
	    faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) == 0)
		return false;
	(void)snprintf(why, size, "credentials.%.64s: %.200s: %s", c->src->name, program,
	    strerror(errno));
	return true;
}

void
credentials_unwell_json(const struct vault *v, struct ats_json_w *w)
{
	char why[WHY_MAX];

	ats_json_w_array(w, "credentials");
	for (size_t i = 0; i < v->credentials->n; i++) {
		const struct credential *c = &v->credentials->v[i];

		if (!is_unwell(c, why, sizeof(why)))
			continue;
		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "name", c->src->name);
		ats_json_w_str(w, "source", sources[c->src->kind]);
		ats_json_w_str(w, "error", why);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

void
credentials_json(const struct vault *v, const char *name, struct ats_json_w *w)
{
	const struct sources *g = &v->conf->sources;

	ats_json_w_array(w, "credentials");
	for (size_t i = 0; i < v->credentials->n; i++) {
		const struct credential *c = &v->credentials->v[i];

		if (name[0] != '\0' && strcmp(c->src->name, name) != 0)
			continue;
		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "name", c->src->name);
		ats_json_w_str(w, "source", sources[c->src->kind]);
		ats_json_w_str(w, "state", state_word(c));
		if (c->state == CREDENTIAL_FAILED)
			ats_json_w_str(w, "error", c->why.text);
		ats_json_w_array(w, "gateways");
		for (size_t k = 0; k < g->n; k++)
			if (g->v[k].conf.credential != NULL &&
			    strcmp(g->v[k].conf.credential, c->src->name) == 0)
				ats_json_w_str(w, NULL, g->v[k].conf.name);
		ats_json_w_end(w);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}
