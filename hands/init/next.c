/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting another front. Runs in init; what it hears is front's and the launcher's, of fixed
 * size. A front can have another one started of the launcher's file, and no other. */
#include "hands/init/next.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/init/newest.h"
#include "hands/init/roles.h"

static void
refuse(struct init *in, int code, const char *text)
{
	struct init_msg m = { .what = INIT_REFUSED, .code = code };

	(void)snprintf(m.text, sizeof(m.text), "%.459s", text);
	in->next_wanted = false;
	(void)!ats_fd_send(in->front_sock, &m, sizeof(m), NULL, 0);
}

static void
cancel(struct init *in)
{
	in->next_wanted = false;
	if (in->next > 0)
		(void)kill(in->next, SIGKILL);
}

static void
on_upgrade(struct init *in)
{
	if (in->next > 0 || in->next_wanted)
		refuse(in, ATS_E_BUSY, "another front is being started; try again");
	else if (in->end_by_ms != 0)
		refuse(in, ATS_E_BUSY, "the sandbox is ending");
	else if (in->plan->launcher < 0 || send(in->plan->launcher, "u", 1, MSG_NOSIGNAL) != 1)
		refuse(in, ATS_E_SYS, "the launcher does not hear");
	else
		in->next_wanted = true;
}

void
next_hear_front(struct init *in)
{
	struct init_msg m;
	ssize_t n;

	while (in->front_sock >= 0 &&
	    (n = recv(in->front_sock, &m, sizeof(m), MSG_DONTWAIT)) >= 0) {
		if (n == 0)
			ats_fd_close(&in->front_sock);
		else if (n == sizeof(m) && m.what == INIT_UPGRADE)
			on_upgrade(in);
		else if (n == sizeof(m) && m.what == INIT_CANCEL)
			cancel(in);
	}
}

/* exe is borrowed. */
static void
start(struct init *in, int exe)
{
	struct init_msg m = { .what = INIT_NEXT };
	int pair[2];
	pid_t pid;

	in->next_wanted = false;
	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0) {
		refuse(in, ATS_E_SYS, "socketpair");
		return;
	}
	memset(in->untold, 0, sizeof(in->untold));
	pid = init_start_front(in, exe, NULL, pair[1], &in->next_sock);
	(void)close(pair[1]);
	if (pid < 0) {
		refuse(in, ATS_E_SYS, "the new front could not be forked");
	} else {
		in->next = pid;
		if (ats_fd_send(in->front_sock, &m, sizeof(m), &pair[0], 1) < 0)
			cancel(in);
	}
	(void)close(pair[0]);
}

bool
next_hear_launcher(struct init *in)
{
	struct newest_msg m;
	int fd ATS_CLEANUP_FD = -1;
	size_t nfds = 0;
	ssize_t n = ats_fd_recv(in->plan->launcher, &m, sizeof(m), &fd, 1, &nfds);

	if (n != sizeof(m) || !in->next_wanted || in->next > 0)
		return n > 0 || n == -ATS_E_AGAIN;
	m.text[sizeof(m.text) - 1] = '\0';
	if (m.code != 0 || fd < 0)
		refuse(in, m.code > 0 ? m.code : ATS_E_SYS, m.text);
	else
		start(in, fd);
	return true;
}

/* Whether the new one has said that it has all. */
static bool
has_taken(const struct init *in)
{
	struct init_msg m;

	return recv(in->next_sock, &m, sizeof(m), MSG_DONTWAIT) == sizeof(m) &&
	    m.what == INIT_TAKEN;
}

bool
next_goes_on(struct init *in)
{
	next_hear_front(in);	/* it may have given the new one up */
	if (in->next <= 0 || in->end_by_ms != 0 || !has_taken(in))
		return false;
	ats_fd_close(&in->front_sock);
	in->front = in->next;
	in->front_sock = in->next_sock;
	in->next = 0;
	in->next_sock = -1;
	/* Whose socket went to the old front is started again for the new one. */
	for (unsigned i = 0; i < ZYGOTES; i++)
		if (in->untold[i] && in->zygotes[i] > 0)
			(void)kill(in->zygotes[i], SIGKILL);
	memset(in->untold, 0, sizeof(in->untold));
	ats_log(ATS_LOG_INFO, "front was replaced", "pid=%d front=%u", (int)in->front,
	    in->fronts);
	return true;
}

void
next_ended(struct init *in, int status)
{
	ats_log(ATS_LOG_WARN, "the new front ended", "status=%d", status);
	in->next = 0;
	ats_fd_close(&in->next_sock);
}
