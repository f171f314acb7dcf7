/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a running brain is not as it should be: children that the configuration asks
 * for and that are down, sandboxes that could not be had, a journal that is not written.
 * Process: atsctl; what it reads is the vault's and the engine's, with texts of programs and
 * servers in it, and goes to people. */
#include "brain/ctl/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1024

int
health_ask(struct ctl *c, struct ats_ipc_msg *m, struct door *d, struct door_msg *status,
    struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	int rc = brain_connect(c, false, &fd, err);

	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_VAULT_STATUS, NULL, NULL, m, err);
	if (rc < 0)
		return rc;
	rc = door_connect(d, c, err);
	if (rc == 0)
		rc = door_call(d, "ats/status", NULL, status, err);
	if (rc == -ATS_E_NOENT)
		rc = ats_err_set(err, ATS_E_EOF, "%s: not there", c->door_path);
	return rc;
}

struct ats_slice
health_vault(const struct ats_ipc_msg *m)
{
	struct ats_slice vault = { m->s[0], strlen(m->s[0]) };

	return ats_json_scan(vault.p, vault.n, NULL) < 0 ? (struct ats_slice){ "{}", 2 }
							 : vault;
}

static bool
has_word(struct ats_slice object, const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ats_json_member_is(object, name, words[i]))
			return true;
	return false;
}

/* A string of an object as text; "" where there is none. */
static const char *
word(struct ats_slice object, const char *name, char out[TEXT_MAX])
{
	struct ats_json_val v;
	char *s = NULL;

	if (ats_json_get(object, name, &v) && v.type == ATS_JSON_STRING)
		s = ats_json_dup_str(&v);
	(void)snprintf(out, TEXT_MAX, "%s", s == NULL ? "" : s);
	free(s);
	return out;
}

static void
add(struct ats_json_w *w, const char *name, const char *state, const char *why,
    const char *remedy)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "name", name);
	ats_json_w_str(w, "state", state);
	ats_json_w_str(w, "why", why);
	ats_json_w_str(w, "remedy", remedy);
	ats_json_w_end(w);
}

/* ---- one kind each ----------------------------------------------------------------- */

/* Brain starts it again and again; its first start has no reason yet, and is none. */
static size_t
add_http(struct ats_json_w *w, struct ats_slice vault)
{
	struct ats_json_val http;
	char why[TEXT_MAX];

	if (!ats_json_get(vault, "http", &http) || http.type != ATS_JSON_OBJECT ||
	    ats_json_member_is(http.raw, "state", "listens"))
		return 0;
	word(http.raw, "why", why);
	if (why[0] == '\0' && ats_json_member_is(http.raw, "state", "starting"))
		return 0;
	add(w, "ats-http", "down", why[0] != '\0' ? why : "it does not run",
	    "brain starts it again by itself, every 10 s at last; what it says is in "
	    "brain.log. "
	    "After a change of \"http\" in brain.json: atsctl config check, then atsctl "
	    "shutdown");
	return 1;
}

/* One that idles has no process and no error; nor has one that fell, which its next call starts. */
static size_t
add_gateway(struct ats_json_w *w, struct ats_slice g)
{
	char name[TEXT_MAX], why[TEXT_MAX], *says = why, cred[TEXT_MAX], what[TEXT_MAX + 8],
	    todo[2 * TEXT_MAX];

	word(g, "error", why);
	if (why[0] == '\0' || ats_json_member_is(g, "state", "ready"))
		return 0;
	(void)snprintf(what, sizeof(what), "gateway %s", word(g, "name", name));
	if (strncmp(why, what, strlen(what)) == 0 && strncmp(why + strlen(what), ": ", 2) == 0)
		says = why + strlen(what) + 2;
	word(g, "credential", cred);
	(void)snprintf(todo, sizeof(todo),
	    "%s%s%sits next call, or atsctl gateway ls, starts it "
	    "again; what its program says is in brain.log. After a change of "
	    "\"gateways\" in "
	    "brain.json: atsctl config check, then atsctl shutdown",
	    cred[0] != '\0' ? "atsctl credential test " : "", cred,
	    cred[0] != '\0' ? " tells of its credential; " : "");
	add(w, what, "down", says, todo);
	return 1;
}

/* What the vault found when it started or used it last: no value, and nothing of a command's. */
static size_t
add_credential(struct ats_json_w *w, struct ats_slice cred)
{
	char name[TEXT_MAX], why[TEXT_MAX], what[TEXT_MAX + 16], todo[TEXT_MAX + 64];

	word(cred, "name", name);
	(void)snprintf(what, sizeof(what), "credential %s", name);
	(void)snprintf(todo, sizeof(todo), "mend it, then atsctl credential test %s reads it again",
	    name);
	add(w, what, "failed", word(cred, "error", why), todo);
	return 1;
}

static size_t
add_hook(struct ats_json_w *w, struct ats_slice h)
{
	char event[TEXT_MAX], matcher[TEXT_MAX], why[TEXT_MAX], what[2 * TEXT_MAX + 16];

	if (word(h, "failure", why)[0] == '\0')
		return 0;
	(void)snprintf(what, sizeof(what), "hook %s %s", word(h, "event", event),
	    word(h, "matcher", matcher));
	add(w, what, "failed", why,
	    "what it wrote is in brain.log (\"a hook failed\"); mend it. "
	    "After a change of \"hooks\" in brain.json: atsctl config check, then atsctl "
	    "shutdown");
	return 1;
}

/* Calls that change something wait for no room: they do not start. */
static size_t
add_journal(struct ats_json_w *w, struct ats_slice engine)
{
	char why[TEXT_MAX];

	if (word(engine, "journal_error", why)[0] == '\0')
		return 0;
	add(w, "journal", "failed", why,
	    "calls that change something do not start until it can be written; make room "
	    "where the state directory is, or look at its permissions. The next such call "
	    "tries again");
	return 1;
}

/* Waits for its next call, with the reason of its end. */
static bool
is_given_up(struct ats_slice box)
{
	struct ats_json_val v;

	return ats_json_member_is(box, "state", "none") &&
	       ats_json_get(box, "last_error", &v) &&
	       !ats_json_member_is(box, "last_error", "ended by request");
}

static bool
is_unwell(struct ats_slice box)
{
	static const char *const bad[] = { "degraded", "lost", "failed", "backoff",
		"dying" };

	return has_word(box, "state", bad, ATS_ARRAY_LEN(bad));
}

static size_t
add_sandbox(struct ats_json_w *w, struct ats_slice box)
{
	char id[TEXT_MAX], why[TEXT_MAX], state[TEXT_MAX], todo[TEXT_MAX + 200];
	bool over = is_given_up(box);

	word(box, "last_error", why);
	if (!over && (!is_unwell(box) || why[0] == '\0'))
		return 0;
	word(box, "id", id);
	(void)snprintf(todo, sizeof(todo),
	    "%s; atsctl sandbox logs %s has its log, atsctl doctor "
	    "what this machine can do",
	    over ? "its next call tries again" : "brain tries again by itself", id);
	add(w, id, word(box, "state", state), why, todo);
	return 1;
}

static size_t
add_each(struct ats_json_w *w, struct ats_slice from, const char *array,
    size_t (*one)(struct ats_json_w *, struct ats_slice))
{
	struct ats_json_val v, e;
	struct ats_json_iter it;
	struct ats_slice key;
	size_t n = 0;

	if (!ats_json_get(from, array, &v) || v.type != ATS_JSON_ARRAY)
		return 0;
	for (ats_json_iter_init(&it, v.raw); ats_json_next(&it, &key, &e);)
		n += e.type == ATS_JSON_OBJECT ? one(w, e.raw) : 0;
	return n;
}

/* ---- all of them ------------------------------------------------------------------- */

size_t
health_write(struct ats_json_w *w, struct ats_slice vault, struct ats_slice engine)
{
	return add_http(w, vault) + add_journal(w, engine) +
	       add_each(w, vault, "credentials", add_credential) +
	       add_each(w, vault, "gateways", add_gateway) +
	       add_each(w, engine, "hooks", add_hook) +
	       add_each(w, engine, "sandboxes", add_sandbox);
}

bool
health_is_degraded(struct ats_slice engine)
{
	static const char *const bad[] = { "degraded", "failed" };
	struct ats_json_val v, box;
	struct ats_json_iter it;
	struct ats_slice key;

	if (has_word(engine, "health", bad, ATS_ARRAY_LEN(bad)) ||
	    (ats_json_get(engine, "degraded", &v) && v.b))
		return true;
	if (!ats_json_get(engine, "sandboxes", &v) || v.type != ATS_JSON_ARRAY)
		return false;
	for (ats_json_iter_init(&it, v.raw); ats_json_next(&it, &key, &box);)
		if (is_unwell(box.raw))
			return true;
	return false;
}
