/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes to ats-gateway processes, and their links to the engine, which pass through here.
 * Runs in the vault. */
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/args.h"
#include "brain/vault/credentials.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/fd.h"
#include "common/json.h"

void
gateway_want_room(struct gateway *g)
{
	if (g->wr != NULL)
		(void)event_add(g->wr, NULL);
}

int
gateway_order(struct gateway *g, uint64_t id, uint64_t limit_ms, const char *tool,
    struct ats_slice args, const int *files, size_t nfiles)
{
	bool filed = args.n > ATS_GATEWAY_INLINE;
	int fds[1 + ATS_GATEWAY_FILES_MAX], fd ATS_CLEANUP_FD = -1, rc = 0;
	size_t n = 0;

	if (g->fd < 0)
		return -ATS_E_EOF;
	if (filed)
		rc = vault_file_of(args, &fd);
	if (filed)
		fds[n++] = fd;
	for (size_t i = 0; i < nfiles && n < ATS_ARRAY_LEN(fds); i++)
		fds[n++] = files[i];
	return rc < 0 ? rc : ats_brain_send(g->fd, ATS_MSG_GW_ORDER, 0, fds, n, id, limit_ms,
	    tool, filed ? "" : args.p);
}

int
gateway_cancel_order(struct gateway *g, uint64_t id)
{
	return g->fd < 0 ? -ATS_E_EOF :
	    ats_brain_send(g->fd, ATS_MSG_GW_CANCEL, 0, NULL, 0, id);
}

bool
gateway_takes(const struct gateway *g)
{
	return g->life == GW_TAKES && !g->stale && g->linked && g->engine_end < 0 &&
	    g->own_end < 0;
}

/* A pipe that holds the whole of it, and no writer. */
static int
fill_pipe(const struct ats_secret *s, int *ret_fd, struct ats_err *err)
{
	const char *bytes;
	int fds[2];
	size_t n;
	ssize_t put;

	if (ats_fd_pipe(fds, O_NONBLOCK) < 0)
		return ats_err_sys(err, "pipe");
	bytes = ats_secret_bytes(s, &n);
	(void)!fcntl(fds[1], F_SETPIPE_SZ, ATS_SECRET_MAX);
	put = ats_fd_write(fds[1], bytes, n);
	(void)close(fds[1]);
	if (put == (ssize_t)n) {
		*ret_fd = fds[0];
		return 0;
	}
	(void)close(fds[0]);
	return ats_err_set(err, ATS_E_SYS, "a pipe does not hold its credential");
}

int
gateway_set_up(struct gateway *g, struct ats_err *err)
{
	const struct ats_secret *s = NULL;
	const char *cred = g->src->conf.credential;
	int fd ATS_CLEANUP_FD = -1, rc = 0;

	if (cred != NULL)
		rc = credentials_get(g->v, cred, &s, err);
	if (rc == -ATS_E_AGAIN)
		return ats_err_set(err, ATS_E_AGAIN, "its credential is being read again");
	if (rc == 0 && s != NULL)
		rc = fill_pipe(s, &fd, err);
	if (rc < 0)
		return rc;
	rc = ats_brain_send(g->fd, ATS_MSG_GW_SETUP, 0, &fd, s != NULL ? 1 : 0,
	    g->src->conf.name, g->src->json);
	/* Its end is seen where it is read, behind its last words. */
	return rc == 0 || rc == -ATS_E_EOF ? 0 :
	    ats_err_set(err, -rc, "it does not take its setup");
}

static int
make_link(struct gateway *g)
{
	int pair[2];

	if (ats_fd_socketpair(SOCK_STREAM, pair) < 0)
		return -ATS_E_SYS;
	g->engine_end = pair[0];
	g->own_end = pair[1];
	g->generation++;
	g->linked = true;
	return 0;
}

/* Each end to its side. What the process does not take yet comes later. */
static int
sync_link(struct gateway *g)
{
	int rc = 0;

	if (g->life != GW_TAKES)
		return 0;
	if (!g->linked && (rc = make_link(g)) < 0) {
		ats_log(ATS_LOG_ERROR, "a gateway cannot be linked", "gateway=%s",
		    g->src->conf.name);
		return 0;
	}
	if (g->engine_end >= 0)
		rc = ats_brain_send(g->v->engine.fd, ATS_MSG_GATEWAY_LINK, 0, &g->engine_end, 1,
		    g->src->conf.name, g->generation);
	if (rc < 0)
		return rc;
	ats_fd_close(&g->engine_end);
	if (g->own_end < 0)
		return 0;
	rc = ats_brain_send(g->fd, ATS_MSG_GW_LINK, 0, &g->own_end, 1);
	if (rc == 0)
		ats_fd_close(&g->own_end);
	else if (rc == -ATS_E_AGAIN)
		gateway_want_room(g);
	return 0;			/* a process that is gone is seen by its end */
}

void
gateway_on_unauthorized(struct gateway *g)
{
	if (g->refused_waits || g->credential_owed)
		return;
	if (credentials_refused(g->v, g->src->conf.credential))
		g->refused_waits = true;
	else
		g->credential_owed = true;
}

/* One that cannot be read any more was taken back: what has it goes on without another, and ends
 * when it has no call. */
static void
sync_credential(struct gateway *g)
{
	const struct ats_secret *s = NULL;
	struct ats_err err = { 0 };
	int fd ATS_CLEANUP_FD = -1, rc = 0;

	if (!g->credential_owed)
		return;
	if (g->renewed)
		rc = credentials_get(g->v, g->src->conf.credential, &s, &err);
	if (rc == 0 && s != NULL)
		rc = fill_pipe(s, &fd, &err);
	if (rc < 0) {
		ats_log(ATS_LOG_WARN, "a gateway gets no other credential", "gateway=%s why=\"%s\"",
		    g->src->conf.name, err.text);
		g->stale = true;
	}
	rc = ats_brain_send(g->fd, ATS_MSG_GW_CREDENTIAL, 0, &fd, fd >= 0 ? 1 : 0);
	if (rc == -ATS_E_AGAIN)
		gateway_want_room(g);
	else				/* a process that is gone is seen by its end */
		g->credential_owed = g->renewed = false;
	gateway_check_idle(g);
}

int
gateway_sync_all(struct vault *v)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->ngateways; i++) {
		rc = gateway_tools_sync(&v->gateways[i]);
		if (rc == 0)
			rc = sync_link(&v->gateways[i]);
		if (rc == 0)
			sync_credential(&v->gateways[i]);
	}
	return rc;
}

void
gateway_json(const struct vault *v, struct ats_json_w *w)
{
	static const char *const kinds[] = { [ATS_GW_HTTP] = "http", [ATS_GW_COMMAND] = "command",
		[ATS_GW_MCP] = "mcp" };
	static const char *const lives[] = { [GW_DOWN] = "down", [GW_CREDENTIAL] = "starting",
		[GW_ORDERED] = "starting", [GW_SETTING_UP] = "starting", [GW_TAKES] = "ready",
		[GW_ENDING] = "ending" };

	ats_json_w_array(w, "gateways");
	for (size_t i = 0; i < v->ngateways; i++) {
		const struct gateway *g = &v->gateways[i];

		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "name", g->src->conf.name);
		ats_json_w_str(w, "kind", kinds[g->src->conf.kind]);
		ats_json_w_str(w, "state", lives[g->life]);
		if (g->pid > 0)
			ats_json_w_u64(w, "pid", (uint64_t)g->pid);
		else
			ats_json_w_null(w, "pid");
		ats_json_w_u64(w, "tools", g->tools.n);
		ats_json_w_u64(w, "calls_running", g->ncalls);
		if (g->src->conf.credential != NULL)
			ats_json_w_str(w, "credential", g->src->conf.credential);
		if (gateway_is_broken(g))
			ats_json_w_str(w, "error", g->why.text);
		if (g->last_exit[0] != '\0')
			ats_json_w_str(w, "last_exit", g->last_exit);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}
