/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening a session, and opening it again after a loss: atsctl registers it with the vault, and
 * starts brain when none runs; then the door is asked to attach, and where its sandboxes come
 * from. Process: an agent runtime. What atsctl and brain say is checked as a stranger's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "brain/client/client.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/fd.h"
#include "proto/brain.h"

#define CONNECT_AGAIN_MS 20

/* ---- atsctl ---------------------------------------------------------------------------- */

/* The first one that can be executed: as asked for, where it was installed, in PATH. */
static bool
find_atsctl(const struct ats *a, char out[ATS_PATH_MAX])
{
	const char *path = getenv("PATH");
	size_t n;

	if (a->atsctl != NULL)
		return snprintf(out, ATS_PATH_MAX, "%s", a->atsctl) < ATS_PATH_MAX &&
		    access(out, X_OK) == 0;
	(void)snprintf(out, ATS_PATH_MAX, "%s", ATS_BINDIR "/atsctl");
	if (access(out, X_OK) == 0)
		return true;
	for (; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (n > 0 && path[0] == '/' &&
		    snprintf(out, ATS_PATH_MAX, "%.*s/atsctl", (int)n, path) < ATS_PATH_MAX &&
		    access(out, X_OK) == 0)
			return true;
	}
	return false;
}

/* The variables that atsctl gives to a brain, and ours for the sandboxes' address. */
static int
start_atsctl(struct ats *a, const char *const *argv, int out)
{
	static const char *const names[] = { ATS_BRAIN_ENVIRONMENT };
	char url[ATS_PATH_MAX + 24], path[ATS_PATH_MAX];
	const char *env[ATS_ARRAY_LEN(names) + 2];
	const struct ats_child_fd fds[] = { { out, 1 }, { out, 2 } };
	const struct ats_child child = { .path = path, .exec_fd = -1, .argv = argv, .env = env,
		.fds = fds, .nfds = out < 0 ? 0 : 2, .new_session = true, .quiet = true };
	size_t n = 0, len;
	pid_t none;

	for (char **e = environ; e != NULL && *e != NULL; e++) {
		for (size_t i = 0; i < ATS_ARRAY_LEN(names) && n < ATS_ARRAY_LEN(names); i++) {
			len = strlen(names[i]);
			if (strncmp(*e, names[i], len) == 0 && (*e)[len] == '=')
				env[n++] = *e;
		}
	}
	(void)snprintf(url, sizeof(url), "REMOTE_TOOLS_URL=%s", a->url);
	env[n++] = url;
	env[n] = NULL;
	if (!find_atsctl(a, path))
		return ats_err_set(&a->why, ATS_E_NOENT, "atsctl is not %s; install it, "
		    "or name its absolute path",
		    a->atsctl != NULL ? a->atsctl : "in " ATS_BINDIR " or in PATH");
	return ats_child_start(&child, &none, NULL, &a->why);
}

static int
run_opener(struct ats *a)
{
	const char *argv[12] = { "atsctl", "--json" };
	int ATS_CLEANUP_FD r = -1, ATS_CLEANUP_FD w = -1;
	int ends[2], rc;
	size_t n = 2;

	if (a->socket != NULL) {
		argv[n++] = "--socket";
		argv[n++] = a->socket;
	}
	if ((a->flags & ATS_NO_START) != 0)
		argv[n++] = "--no-start";
	argv[n++] = "session";
	argv[n++] = a->session[0] == '\0' && a->name == NULL ? "new" : "open";
	argv[n++] = "--workspace";
	argv[n++] = a->workspace;
	argv[n++] = "--";
	if (a->session[0] != '\0')
		argv[n++] = a->session;
	else if (a->name != NULL)
		argv[n++] = a->name;
	if (ats_fd_pipe(ends, 0) < 0)
		return ats_err_sys(&a->why, "pipe");
	r = ends[0];
	w = ends[1];
	if (ats_fd_nonblock(r, true) < 0)
		return ats_err_sys(&a->why, "pipe");
	rc = start_atsctl(a, argv, w);
	if (rc < 0)
		return rc;
	if (!client_watch(a, EPOLL_CTL_ADD, r, EPOLLIN))
		return ats_err_sys(&a->why, "epoll");
	a->opener = ats_steal_fd(&r);
	return 0;
}

void
open_begin(struct ats *a)
{
	int rc;

	a->state = CLIENT_OPENER;
	a->open_by_ms = ats_clock_ms() + CLIENT_open_ms;
	ats_buf_reset(&a->said);
	rc = run_opener(a);
	if (rc < 0)
		client_fail(a, -rc, "%s", a->why.text);
	else
		client_wake(a, CLIENT_open_ms);
}

void
open_close_session(struct ats *a)
{
	const char *argv[12] = { "atsctl", "--json" };
	size_t n = 2;

	if (a->socket != NULL) {
		argv[n++] = "--socket";
		argv[n++] = a->socket;
	}
	argv[n++] = "session";
	argv[n++] = "close";
	argv[n++] = a->session;
	(void)!start_atsctl(a, argv, -1);
}

/* ---- what it says ------------------------------------------------------------------------ */

/* A string member of at most size - 1 bytes. */
static bool
member(struct ats_slice object, const char *name, char *out, size_t size)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v;

	ats_buf_init(&text, size - 1);
	if (!ats_json_get(object, name, &v) || ats_json_to_str(&v, &text) < 0 || text.len == 0)
		return false;
	memcpy(out, text.data, text.len + 1);
	return true;
}

/* One line of the opener. True: it has said where the session is. */
static bool
take_said(struct ats *a, struct ats_slice line)
{
	char text[400] = "", session[sizeof(a->session)], box[sizeof(a->sandbox)];
	struct ats_json_val v;

	if (ats_json_scan(line.p, line.n, NULL) < 0 || ats_json_type(line) != ATS_JSON_OBJECT)
		return false;
	if (ats_json_get(line, "error", &v) && v.type == ATS_JSON_OBJECT) {
		if (member(v.raw, "message", text, sizeof(text)))
			(void)ats_err_set(&a->why, ATS_E_NOENT, "%s", text);
		return false;
	}
	if (!member(line, "session", session, sizeof(session)) ||
	    !member(line, "sandbox", box, sizeof(box)) ||
	    !member(line, "door", a->door, sizeof(a->door)))
		return false;
	memcpy(a->session, session, sizeof(session));
	memcpy(a->sandbox, box, sizeof(box));
	return true;
}

static void
said_all(struct ats *a)
{
	const char *p = a->said.data, *end = p + a->said.len, *nl;
	bool found = false;

	client_close(a, &a->opener);
	(void)ats_err_set(&a->why, ATS_E_NOENT, "atsctl did not say where the session is");
	for (; p < end && !found; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		found = take_said(a, (struct ats_slice){ p, (size_t)(nl - p) });
	}
	ats_buf_reset(&a->said);
	if (!found) {
		client_fail(a, ATS_E_NOENT, "%s", a->why.text);
		return;
	}
	a->why = (struct ats_err){ 0 };
	open_connect(a);
}

void
open_on_said(struct ats *a)
{
	ssize_t n = 1;
	char *to;

	while (n > 0) {
		if (ats_buf_reserve(&a->said, 4096, &to) < 0) {
			client_fail(a, ATS_E_TOOBIG, "atsctl says too much");
			return;
		}
		n = ats_fd_read(a->opener, to, 4096);
		if (n > 0)
			ats_buf_commit(&a->said, (size_t)n);
	}
	if (n == 0)
		said_all(a);
	else if (errno != EAGAIN)
		client_fail(a, ATS_E_SYS, "atsctl: read failed");
}

/* ---- the door ---------------------------------------------------------------------------- */

/* Whoever listens must be us or root, unless the place was chosen by name. */
static bool
peer_is_right(struct ats *a)
{
	uid_t uid;

	if (a->socket != NULL)
		return true;
	return ats_fd_peer(a->sock, &uid, NULL, NULL) == 0 && (uid == geteuid() || uid == 0);
}

static int
ask_first(struct ats *a)
{
	struct ats_buf params ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;
	int rc;

	ats_buf_init(&params, 4096);
	ats_json_w_init(&w, &params);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "session", a->session);
	ats_json_w_str(&w, "client", a->nonce);
	ats_json_w_end(&w);
	a->attach_nr = a->next_nr++;
	rc = w.rc < 0 ? w.rc : calls_request(&a->out, a->attach_nr, "ats/session.attach",
	    (struct ats_slice){ params.data, params.len });
	if (rc < 0)
		return rc;
	ats_buf_reset(&params);
	ats_json_w_init(&w, &params);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "id", a->sandbox);
	ats_json_w_end(&w);
	a->look_nr = a->next_nr++;
	return w.rc < 0 ? w.rc : calls_request(&a->out, a->look_nr, "ats/inspect",
	    (struct ats_slice){ params.data, params.len });
}

static void
connected(struct ats *a)
{
	if (!peer_is_right(a)) {
		client_fail(a, ATS_E_PERM, "%s: another user listens there", a->door);
		return;
	}
	a->state = CLIENT_ATTACH;
	a->given = a->written = 0;
	a->scanned = 0;
	a->out_wanted = false;
	ats_buf_reset(&a->in);
	ats_buf_reset(&a->out);
	if (!client_watch(a, EPOLL_CTL_ADD, a->sock, EPOLLIN) || ask_first(a) < 0) {
		client_fail(a, ATS_E_NOMEM, "no memory for a connection");
		return;
	}
	a->given = a->out.len;
	calls_pump(a);
}

void
open_connect(struct ats *a)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(a->door);

	a->state = CLIENT_CONNECT;
	if (n >= sizeof(to.sun_path)) {
		client_fail(a, ATS_E_TOOBIG, "%s: path too long", a->door);
		return;
	}
	memcpy(to.sun_path, a->door, n + 1);
	a->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->sock < 0) {
		client_fail(a, ATS_E_SYS, "socket failed");
		return;
	}
	if (connect(a->sock, (const struct sockaddr *)&to, sizeof(to)) == 0) {
		connected(a);
		return;
	}
	/* A full backlog gives no event. */
	n = errno == EAGAIN || errno == EINTR;
	client_close(a, &a->sock);
	if (n != 0)
		client_wake(a, CONNECT_AGAIN_MS);
	else
		client_lost(a, "brain left");
}

/* ---- the first answers ------------------------------------------------------------------- */

/* Whether brain's sandboxes come from where the runtime wants them. */
static void
look(struct ats *a, struct ats_slice result)
{
	char url[ATS_PATH_MAX];

	a->look_nr = 0;
	if (result.p == NULL || !member(result, "url", url, sizeof(url))) {
		client_fail(a, ATS_E_PROTO, "brain does not say where its sandboxes come from");
	} else if (strcmp(url, a->url) != 0) {
		client_fail(a, ATS_E_STATE, "the brain that runs has its sandboxes from %.120s, "
		    "not from %.120s; end it with atsctl shutdown, or set REMOTE_TOOLS_URL to "
		    "that", url, a->url);
	} else if (a->attach_nr == 0) {
		a->state = CLIENT_OPEN;
		client_wake(a, 0);
	}
}

static void
attached(struct ats *a, struct ats_slice result, struct ats_slice error)
{
	char text[400];

	a->attach_nr = 0;
	if (error.p != NULL && member(error, "message", text, sizeof(text)))
		client_fail(a, ATS_E_UNKNOWN_ID, "session: %s", text);
	else if (result.p == NULL ||
	    !member(result, "workspace", a->real_workspace, sizeof(a->real_workspace)))
		client_fail(a, ATS_E_PROTO, "brain did not attach the session");
	else if (a->look_nr == 0) {
		a->state = CLIENT_OPEN;
		client_wake(a, 0);
	}
}

void
open_take(struct ats *a, uint64_t nr, struct ats_slice result, struct ats_slice error)
{
	if (a->state != CLIENT_ATTACH || nr == 0)
		return;
	if (nr == a->attach_nr)
		attached(a, result, error);
	else if (nr == a->look_nr)
		look(a, result);
}
