/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine says to the vault. Runs in the engine; ids, names and arguments in it are of
 * clients and sandboxes, and the vault looks at them again. */
#include "brain/engine/vault_link_private.h"

#include <poll.h>

#include "brain/engine/engine.h"
#include "brain/engine/sandbox.h"
#include "common/fd.h"
#include "common/log.h"

static void
check(int rc, const char *what)
{
	if (rc < 0)
		ats_log(ATS_LOG_ERROR, "cannot write to the vault", "what=%s code=%s", what,
		    ats_err_name(rc));
}

void
vault_link_here(struct engine *e, uint64_t number)
{
	check(ats_brain_send(e->vault->fd, ATS_MSG_HERE, 0, NULL, 0, number), "here");
}

void
vault_link_need(struct engine *e, const struct sandbox *box)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_NEED_SANDBOX, 0, NULL, 0, box->id),
		    "need");
}

void
vault_link_use(struct engine *e, const struct sandbox *box, const char *url)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_USE_URL, 0, NULL, 0, box->id, url),
		    "use");
}

void
vault_link_run_script(struct engine *e, const char *box, uint64_t number, uint64_t step)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_RUN_SCRIPT, 0, NULL, 0, box, number,
		          step),
		    "run script");
}

void
vault_link_kill_script(struct engine *e, uint64_t number)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_KILL_SCRIPT, 0, NULL, 0, number),
		    "kill script");
}

void
vault_link_kill(struct engine *e, const struct sandbox *box)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_KILL_SANDBOX, 0, NULL, 0, box->id,
		          box->generation),
		    "kill");
}

void
vault_link_proven(struct engine *e, const struct sandbox *box, uint64_t generation)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_KEY_PROVEN, 0, NULL, 0, box->id,
		          generation),
		    "proven");
}

void
vault_link_idle(struct engine *e, bool idle)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_IDLE, 0, NULL, 0, (uint64_t)idle),
		    "idle");
}

int
vault_link_gateway_ask(struct engine *e, const struct gateway_ask *ask)
{
	bool filed = ask->args.n > ATS_GATEWAY_INLINE;
	int fds[1 + ATS_GATEWAY_FILES_MAX], fd ATS_CLEANUP_FD = -1;
	size_t n = 0;
	struct pollfd p = { .events = POLLOUT };

	if (e->vault == NULL)
		return -ATS_E_EOF;
	/* Many of these fill the socket, and what else is to be said has no second chance: a Unix
	 * socket is writable while three quarters of it are free. */
	p.fd = e->vault->fd;
	if (poll(&p, 1, 0) != 1)
		return -ATS_E_AGAIN;
	if (filed && (fd = ats_fd_memory("arguments", ask->args.p, ask->args.n)) < 0)
		return -ATS_E_NOMEM;
	if (ask->strict) {
		int rc = ats_brain_send(e->vault->fd, ATS_MSG_GATEWAY_STRICT, 0, NULL, 0, ask->id);

		if (rc < 0)
			return rc;
	}
	if (filed)
		fds[n++] = fd;
	for (size_t i = 0; i < ask->nfiles && n < ATS_ARRAY_LEN(fds); i++)
		fds[n++] = ask->files[i];
	return ats_brain_send(e->vault->fd, ATS_MSG_GATEWAY_ASK, 0, fds, n, ask->id,
	    ask->limit_ms, ask->session, ask->tool, filed ? "" : ask->args.p);
}

int
vault_link_gateway_cancel(struct engine *e, uint64_t call)
{
	return e->vault == NULL ? -ATS_E_EOF :
	    ats_brain_send(e->vault->fd, ATS_MSG_GATEWAY_CANCEL, 0, NULL, 0, call);
}

int
vault_link_refused(struct engine *e, uint64_t call, const char *session, const char *tool,
    const char *why)
{
	return e->vault == NULL ? -ATS_E_EOF :
	    ats_brain_send(e->vault->fd, ATS_MSG_CALL_REFUSED, 0, NULL, 0, call, session, tool,
	        why);
}

int
vault_link_gateway_noted(struct engine *e, uint64_t call)
{
	return e->vault == NULL ? -ATS_E_EOF :
	    ats_brain_send(e->vault->fd, ATS_MSG_GATEWAY_NOTED, 0, NULL, 0, call);
}

int
vault_link_gateway_list(struct engine *e, const char *gateway)
{
	return e->vault == NULL ? -ATS_E_EOF :
	    ats_brain_send(e->vault->fd, ATS_MSG_GATEWAY_LIST, 0, NULL, 0, gateway);
}

void
vault_link_gateway_broken(struct engine *e, const char *gateway, uint64_t generation)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_GATEWAY_BROKEN, 0, NULL, 0, gateway,
		          generation),
		    "gateway broken");
}

int
vault_link_run_hook(struct engine *e, uint64_t number, uint64_t index, const char *session,
    const int fds[3])
{
	return e->vault == NULL ? -ATS_E_EOF :
	    ats_brain_send(e->vault->fd, ATS_MSG_RUN_HOOK, 0, fds, 3, number, index, session);
}

void
vault_link_kill_hook(struct engine *e, uint64_t number)
{
	if (e->vault != NULL)
		check(ats_brain_send(e->vault->fd, ATS_MSG_KILL_HOOK, 0, NULL, 0, number),
		    "kill hook");
}
