/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes as the vault sees them: asked for by the engine, started and ended by the
 * spawner. Runs in the vault. The engine names an id and nothing else; workspace, uid and
 * options come from the registered session and the configuration. */
#include "brain/vault/boxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/children.h"
#include "brain/vault/links.h"
#include "brain/vault/provider.h"
#include "brain/vault/toolchains.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/share.h"
#include "proto/brain.h"

#define WANTED_MS 5000			/* see boxes_need */

static struct box *
find(const struct vault *v, const char *id)
{
	for (struct box *b = v->boxes; b != NULL; b = b->next)
		if (strcmp(b->id, id) == 0)
			return b;
	return NULL;
}

static void
drop(struct vault *v, struct box *b)
{
	struct box **at = &v->boxes;

	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	v->nboxes--;
	ats_fd_close(&b->link);
	free(b);
}

/* Users of the machine share what there is. */
static bool
has_room(const struct vault *v, uint64_t uid)
{
	size_t mine = 0;

	if (ats_share_counts(uid, v->uid))
		for (const struct box *b = v->boxes; b != NULL; b = b->next)
			mine += b->uid == uid;
	return ats_share_has_room(v->conf->max_sandboxes, v->nboxes, mine);
}

static struct box *
make(struct vault *v, const char *id, uint64_t uid)
{
	struct box *b;

	if (!has_room(v, uid))
		return NULL;
	b = ats_calloc(1, sizeof(*b));
	if (b == NULL)
		return NULL;
	(void)snprintf(b->id, sizeof(b->id), "%s", id);
	b->uid = uid;
	b->link = -1;
	/* Unique across restarts of brain, and growing. */
	b->generation = (uint64_t)(ats_clock_wall_ms() / 1000);
	b->next = v->boxes;
	v->boxes = b;
	v->nboxes++;
	return b;
}

static void
owe_failure(struct box *b, int code, const char *text)
{
	ats_fd_close(&b->link);
	(void)ats_err_set(&b->why, code, "%s", text);
	b->owe_answer = b->asked;
	b->asked = false;
}

static int
order_hands(struct vault *v, const struct box *b, const struct session *s)
{
	struct ats_buf options ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&options, CONFIG_TEXT_MAX);
	rc = config_lines(v->conf, CONFIG_HANDS, &options);
	if (rc == 0 && v->conf->toolchains)
		rc = toolchains_lines(v->homes, getenv("HOME"), getenv("PATH"), &v->conf->env,
		    &options);
	if (rc == 0)
		rc = ats_brain_send(v->spawner, ATS_MSG_START_HANDS, 0, NULL, 0, b->id,
		    s->workspace, s->uid, b->generation, options.data);
	return rc;
}

static bool
is_elsewhere(const struct vault *v)
{
	return v->conf->provider != PROVIDER_STDIO;
}

/* On this machine: which directory it is now. False: there is none. */
static bool
look_at(const struct session *s, struct stat *ret)
{
	return stat(s->workspace, ret) == 0;
}

static void
start(struct vault *v, struct box *b, const struct session *s)
{
	struct stat st;
	int rc;

	b->generation++;
	b->ino = 0;
	if (!is_elsewhere(v) && look_at(s, &st)) {
		b->dev = st.st_dev;
		b->ino = st.st_ino;
	}
	rc = is_elsewhere(v) ? ats_brain_send(v->spawner, ATS_MSG_START_REMOTE, 0, NULL, 0,
	    b->id, s->uid, b->generation, b->url) : order_hands(v, b, s);
	if (rc < 0) {
		owe_failure(b, ATS_E_NO_SANDBOX, "the sandbox could not be ordered");
		return;
	}
	b->state = BOX_STARTING;
}

/* The link to a hands elsewhere is given up. Its own process is not ours to end, the command
 * that carries the link is: then EXITED follows. */
static void
unlink_box(struct vault *v, struct box *b)
{
	if (b->pid != 0) {
		if (ats_brain_send(v->spawner, ATS_MSG_KILL, 0, NULL, 0, b->id) < 0)
			vault_die(v, "the spawner does not answer");
		return;
	}
	b->state = BOX_DOWN;
	b->owe_answer = b->owe_alive = false;
	ats_fd_close(&b->link);
	b->owe_exit = true;
	b->exit_generation = b->generation;
	b->exit_code = b->exit_signal = 0;
}

/* ---- from the engine ---------------------------------------------------------------- */

static void
refuse(struct vault *v, const char *id, int code, const char *text)
{
	/* Not worth a place in a table; an engine that does not read is caught elsewhere. */
	(void)!ats_brain_send(v->engine.fd, ATS_MSG_SANDBOX, 0, NULL, 0, id, (uint64_t)0,
	    (uint64_t)code, text, "");
}

void
boxes_need(struct vault *v, const char *id, const char *url)
{
	const struct session *s = ats_id_valid(id) ? reg_find_box(v->reg, id) : NULL;
	struct box *b = find(v, id);
	char quoted[48];

	if (s == NULL) {
		ats_log(ATS_LOG_WARN, "engine asks for an unknown sandbox", "sandbox=%s",
		    ats_log_quote(quoted, sizeof(quoted), id, strlen(id)));
		refuse(v, id, ATS_E_UNKNOWN_ID, "no session has this sandbox");
		return;
	}
	if (links_want_proof(v) && keys_find(v->keys, id) == NULL) {
		refuse(v, id, ATS_E_INVAL, "this sandbox has no key to prove itself by; run: "
		    "atsctl sandbox enroll, in its workspace");
		return;
	}
	if ((url != NULL) != (v->conf->provider == PROVIDER_SCRIPT) ||
	    (url != NULL && strlen(url) >= ATS_ADDR_MAX)) {
		refuse(v, id, ATS_E_INVAL, "an address where none belongs, or none");
		return;
	}
	if (v->stopping || (b == NULL && (b = make(v, id, s->uid)) == NULL)) {
		refuse(v, id, v->stopping ? ATS_E_NO_SANDBOX : ATS_E_FULL,
		    v->stopping ? "brain stops" :
		    "limits.sandboxes is reached, or your share of it");
		return;
	}
	if (b->state == BOX_UP && is_elsewhere(v)) {
		/* Its link was of an engine before this one, or is lost: a new one is made. */
		unlink_box(v, b);
		b->wanted_ms = ats_clock_ms();
	} else if (b->state == BOX_UP) {
		/* The link is lost but hands lives, or it dies and we have not heard yet: the
		 * engine tries the socket; if the end comes soon, a new one is started. */
		b->owe_alive = true;
		b->wanted_ms = ats_clock_ms();
		return;
	}
	if (b->state == BOX_STARTING && url != NULL) {
		refuse(v, id, ATS_E_AGAIN, "another address of it is being connected to");
		return;
	}
	b->asked = true;
	if (b->state != BOX_DOWN)
		return;
	(void)snprintf(b->url, sizeof(b->url), "%s", url == NULL ? "" : url);
	start(v, b, s);
}

void
boxes_kill(struct vault *v, const char *id, uint64_t generation)
{
	struct box *b = find(v, id);

	if (b == NULL || b->state != BOX_UP || b->generation != generation)
		return;
	b->wanted_ms = 0;
	if (is_elsewhere(v))
		unlink_box(v, b);
	else if (ats_brain_send(v->spawner, ATS_MSG_KILL, 0, NULL, 0, b->id) < 0)
		vault_die(v, "the spawner does not answer");
}

void
boxes_look(struct vault *v, struct session *s)
{
	struct box *b = find(v, s->box);
	struct stat st;

	if (b == NULL || b->state != BOX_UP || b->ino == 0 || v->engine.fd < 0 ||
	    !look_at(s, &st) || (st.st_dev == b->dev && st.st_ino == b->ino))
		return;
	b->owe_moved = true;
	s->told = s->confirmed = false;
}

void
boxes_unused(struct vault *v, const char *id)
{
	struct box *b = find(v, id);

	if (b == NULL)
		return;
	if (b->state == BOX_STARTING && config_is_network(v->conf) &&
	    ats_brain_send(v->spawner, ATS_MSG_KILL, 0, NULL, 0, id) < 0)	/* its dialer */
		vault_die(v, "the spawner does not answer");
	boxes_kill(v, id, b->generation);
}

/* ---- from the spawner --------------------------------------------------------------- */

static void
on_started(struct vault *v, struct box *b, struct ats_ipc_msg *m)
{
	if (m->u[2] != 0 || m->nfds != 1) {
		ats_log(ATS_LOG_WARN, "sandbox cannot be started", "sandbox=%s why=\"%s\"",
		    b->id, m->s[3]);
		b->state = BOX_DOWN;
		/* A wrong user's stays one; all else may be mended, and is tried again. */
		owe_failure(b, m->u[2] == ATS_E_PERM ? ATS_E_PERM : ATS_E_NO_SANDBOX, m->s[3]);
		return;
	}
	ats_log(ATS_LOG_INFO, "sandbox started", "sandbox=%s pid=%llu", b->id,
	    (unsigned long long)m->u[1]);
	b->state = BOX_UP;
	b->pid = (pid_t)m->u[1];
	if (reg_find_box(v->reg, b->id) == NULL) {
		boxes_kill(v, b->id, b->generation);
	} else if (b->asked) {
		b->link = ats_steal_fd(&m->fds[0]);
		b->why.code = 0;
		b->why.text[0] = '\0';
		b->owe_answer = true;
	} else if (is_elsewhere(v)) {
		unlink_box(v, b);	/* another engine by now: it asks for a link of its own */
	} else {
		b->owe_alive = true;	/* another engine by now: it connects by itself */
	}
	b->asked = false;
}

static void
on_exited(struct vault *v, struct box *b, const struct ats_ipc_msg *m)
{
	const struct session *s = reg_find_box(v->reg, b->id);
	bool again = b->wanted_ms != 0 &&
	    (is_elsewhere(v) || ats_clock_ms() - b->wanted_ms < WANTED_MS);

	ats_log(ATS_LOG_INFO, "sandbox ended", "sandbox=%s pid=%d code=%llu signal=%llu", b->id,
	    (int)b->pid, (unsigned long long)m->u[1], (unsigned long long)m->u[2]);
	b->state = BOX_DOWN;
	b->pid = 0;
	b->wanted_ms = 0;
	b->owe_moved = b->owe_alive = b->owe_answer = false;
	ats_fd_close(&b->link);
	b->owe_exit = true;
	b->exit_generation = b->generation;
	b->exit_code = m->u[1];
	b->exit_signal = m->u[2];
	if (again && s != NULL && !v->stopping) {
		b->asked = true;
		start(v, b, s);
	}
}

void
boxes_on_spawner(struct vault *v, struct ats_ipc_msg *m)
{
	struct box *b = find(v, m->s[0]);

	if (b == NULL)
		return;
	if (m->type == ATS_MSG_STARTED)
		on_started(v, b, m);
	else
		on_exited(v, b, m);
}

/* ---- to the engine ------------------------------------------------------------------ */

void
boxes_engine_gone(struct vault *v)
{
	for (struct box *b = v->boxes; b != NULL; b = b->next) {
		b->owe_moved = b->owe_exit = b->owe_answer = b->asked = false;
		ats_fd_close(&b->link);
		b->wanted_ms = 0;
		if (is_elsewhere(v) && b->state == BOX_UP)
			unlink_box(v, b);
		b->owe_alive = !is_elsewhere(v) && b->state == BOX_UP;
		b->owe_exit = false;	/* what a new engine does not know */
	}
}

/* Of a link whose other end has to prove itself; else empty. */
static const char *
proof_address(const struct vault *v, const struct box *b)
{
	if (v->conf->provider == PROVIDER_SCRIPT)
		return strncmp(b->url, "unix:", 5) == 0 ? "" : b->url;
	return links_want_proof(v) ? v->conf->addr.text : "";
}

static int
tell(struct vault *v, struct box *b)
{
	char path[ATS_PATH_MAX + 64];
	int rc = 0, fd = v->engine.fd;

	if (b->owe_exit) {
		rc = ats_brain_send(fd, ATS_MSG_SANDBOX_EXITED, 0, NULL, 0, b->id,
		    b->exit_generation, b->exit_code, b->exit_signal);
		b->owe_exit = rc < 0;
	}
	if (rc == 0 && b->owe_answer) {
		rc = ats_brain_send(fd, ATS_MSG_SANDBOX, 0, &b->link, b->link >= 0 ? 1 : 0,
		    b->id, b->generation, (uint64_t)b->why.code, b->why.text,
		    proof_address(v, b));
		b->owe_answer = rc < 0;
		if (rc == 0)
			ats_fd_close(&b->link);
	}
	if (rc == 0 && b->owe_alive) {
		rc = children_socket_path(v->places, b->id, path, sizeof(path));
		if (rc == 0)
			rc = ats_brain_send(fd, ATS_MSG_SANDBOX_ALIVE, 0, NULL, 0, b->id,
			    b->generation, path);
		b->owe_alive = rc < 0;
	}
	return rc;
}

int
boxes_tell_moved(struct vault *v)
{
	int rc = 0;

	for (struct box *b = v->boxes; rc == 0 && b != NULL; b = b->next) {
		if (b->owe_moved)
			rc = ats_brain_send(v->engine.fd, ATS_MSG_SANDBOX_MOVED, 0, NULL, 0, b->id,
			    b->generation);
		b->owe_moved = b->owe_moved && rc < 0;
	}
	return rc;
}

int
boxes_sync(struct vault *v)
{
	struct box *next;
	int rc = 0;

	for (struct box *b = v->boxes; rc == 0 && b != NULL; b = next) {
		next = b->next;
		rc = tell(v, b);
		if (rc == 0 && b->state == BOX_DOWN && reg_find_box(v->reg, b->id) == NULL)
			drop(v, b);
	}
	return rc;
}

void
boxes_free(struct vault *v)
{
	while (v->boxes != NULL)
		drop(v, v->boxes);
}
