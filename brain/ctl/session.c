/* SPDX-License-Identifier: Apache-2.0
 *
 * A session for a command: registered with the vault, attached at the door. Process:
 * atsctl. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/leave.h"
#include "common/clock.h"
#include "common/digest.h"

#define OPEN_MS 30000u
#define NAME_MAX_BYTES 200
#define KEY_SIZE (NAME_MAX_BYTES + 8)

int
ctl_random(uint64_t *ret)
{
	uint64_t r;

	if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return -ATS_E_SYS;
	*ret = r | 1;	/* 0 means: none yet */
	return 0;
}

/* Appends dir to out, a path without links, and takes "." and ".." off as long as no link is
 * crossed: up to there they mean what they say. From the first link on the rest stays as it
 * was named. */
static int
add_way(char out[ATS_PATH_MAX], const char *dir)
{
	size_t len = strlen(out), n;
	struct stat st;

	len -= len == 1;	/* "/" */
	for (; *dir != '\0'; dir += n) {
		dir += strspn(dir, "/");
		n = strcspn(dir, "/");
		if (n == 0 || (n == 1 && dir[0] == '.'))
			continue;
		if (n == 2 && dir[0] == '.' && dir[1] == '.') {
			while (len > 0 && out[--len] != '/')
				;
			continue;
		}
		if (len + 1 + strlen(dir) >= ATS_PATH_MAX)
			return -ATS_E_TOOBIG;
		out[len] = '/';
		memcpy(out + len + 1, dir, n);
		out[len + 1 + n] = '\0';
		if (lstat(out, &st) == 0 && !S_ISLNK(st.st_mode)) {
			len += 1 + n;
			continue;
		}
		memcpy(out + len + 1, dir, strlen(dir) + 1);
		return 0;
	}
	if (len == 0)
		out[len++] = '/';
	out[len] = '\0';
	return 0;
}

/* Brain resolves it, and judges the links on the way; it may be on another machine. */
int
session_workspace(const struct session_ask *ask, char out[ATS_PATH_MAX], struct ats_err *err)
{
	const char *dir = ask->workspace;

	if (dir != NULL && dir[0] == '/')
		(void)snprintf(out, ATS_PATH_MAX, "/");
	else if (getcwd(out, ATS_PATH_MAX) == NULL)
		return ats_err_sys(err, "workspace: current directory");
	if (dir != NULL && add_way(out, dir) < 0)
		return ats_err_set(err, ATS_E_TOOBIG, "workspace: path too long");
	return 0;
}

static bool
is_session_id(const char *s)
{
	return s[0] == 's' && ats_id_valid(s);
}

static int
key_of(const char *session, char out[KEY_SIZE], struct ats_err *err)
{
	if (session[0] == '\0' || strlen(session) > NAME_MAX_BYTES)
		return ats_err_set(err, ATS_E_INVAL, "--session: 1 to %d bytes",
		    NAME_MAX_BYTES);
	(void)snprintf(out, KEY_SIZE, "name:%s", session);
	return 0;
}

static int
take_ids(struct ctl_session *s, struct ats_ipc_msg *m, struct ats_err *err)
{
	size_t n = strlen(m->s[0]), k = strlen(m->s[1]);
	int rc = 0;

	if (n >= sizeof(s->id) || k >= sizeof(s->sandbox)) {
		rc = ats_err_set(err, ATS_E_PROTO, "brain gave an id that is too long");
	} else {
		memcpy(s->id, m->s[0], n + 1);
		memcpy(s->sandbox, m->s[1], k + 1);
	}
	ats_ipc_done(m);
	return rc;
}

static int
register_once(struct ctl *c, const struct session_ask *ask, struct ctl_session *s,
    struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	char workspace[ATS_PATH_MAX], key[KEY_SIZE];
	static struct ats_ipc_msg m;	/* 64 KiB */
	int rc = brain_connect(c, true, &fd, err);

	if (rc < 0)
		return rc;
	if (ask->session != NULL && is_session_id(ask->session)) {
		rc = brain_ask_leaving(c, fd, ATS_MSG_FIND_SESSION, ask->session, NULL, &m, err);
		return rc < 0 ? rc : take_ids(s, &m, err);
	}
	if (ask->session != NULL)
		rc = key_of(ask->session, key, err);
	if (rc == 0)
		rc = session_workspace(ask, workspace, err);
	if (rc == 0)
		rc = brain_ask_leaving(c, fd, ATS_MSG_REGISTER, workspace,
		    ask->session != NULL ? key : ask->key, &m, err);
	return rc < 0 ? rc : take_ids(s, &m, err);
}

int
session_find(int fd, const struct session_ask *ask, struct ctl_session *s,
    struct ats_err *err)
{
	char workspace[ATS_PATH_MAX], key[KEY_SIZE];
	static struct ats_ipc_msg m;	/* 64 KiB */
	int rc;

	if (is_session_id(ask->session)) {
		(void)snprintf(s->id, sizeof(s->id), "%s", ask->session);
		return 0;
	}
	rc = key_of(ask->session, key, err);
	if (rc == 0)
		rc = session_workspace(ask, workspace, err);
	if (rc == 0)
		rc = brain_ask(fd, ATS_MSG_FIND_NAMED, workspace, key, &m, err);
	return rc < 0 ? rc : take_ids(s, &m, err);
}

static int
attach(struct ctl_session *s, struct ats_err *err)
{
	struct ats_buf params;
	struct ats_json_w w;
	struct door_msg m;
	char client[32];
	int rc;

	(void)snprintf(client, sizeof(client), "c-%" PRIx64, s->nonce);
	ats_buf_init(&params, 4096);
	ats_json_w_init(&w, &params);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "session", s->id);
	ats_json_w_str(&w, "client", client);
	ats_json_w_end(&w);
	rc = w.rc == 0 ? door_call(&s->door, "ats/session.attach", &params, &m, err) :
			 ats_err_set(err, -w.rc, "attach: %s", ats_err_text(w.rc));
	ats_buf_done(&params);
	return rc;
}

/* Whether brain may just be restarting. */
static bool
is_passing(int rc)
{
	return rc == -ATS_E_EOF || rc == -ATS_E_SILENT || rc == -ATS_E_BUSY;
}

static int
open_once(struct ctl *c, const struct session_ask *ask, struct ctl_session *s,
    struct ats_err *err)
{
	int rc = register_once(c, ask, s, err);

	if (rc < 0)
		return rc;
	rc = door_connect(&s->door, c, err);
	if (rc < 0) /* the socket of a brain that answered just now: it left */
		return ats_err_set(err, ATS_E_EOF, "%s: not there", c->door_path);
	rc = attach(s, err);
	if (rc < 0)
		door_close(&s->door);
	return rc;
}

typedef int (*step_fn)(struct ctl *c, const struct session_ask *ask, struct ctl_session *s,
    struct ats_err *err);

static int
until_it_stays(step_fn step, struct ctl *c, const struct session_ask *ask,
    struct ctl_session *s, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + OPEN_MS;
	int wait_ms = 10, rc;

	while (is_passing(rc = step(c, ask, s, err)) && ats_clock_ms() < end) {
		int left = leave_poll(c->leave, NULL, wait_ms, err);

		if (left < 0)
			return left;
		wait_ms = wait_ms < 1000 ? wait_ms * 2 : 1000;
	}
	return rc;
}

int
session_register(struct ctl *c, const struct session_ask *ask, struct ctl_session *s,
    struct ats_err *err)
{
	return until_it_stays(register_once, c, ask, s, err);
}

int
session_open(struct ctl *c, const struct session_ask *ask, struct ctl_session *s,
    struct ats_err *err)
{
	s->door.fd = -1;
	if (s->nonce == 0 && ctl_random(&s->nonce) < 0)
		return ats_err_sys(err, "getrandom");
	return until_it_stays(open_once, c, ask, s, err);
}

void
session_done(struct ctl_session *s)
{
	door_close(&s->door);
}

int
brain_door(struct ctl *c, struct door *d, struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	int rc = brain_connect(c, false, &fd, err);

	return rc < 0 ? rc : door_connect(d, c, err);
}
