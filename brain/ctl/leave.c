/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of standard input while brain is waited for: seen as a hang-up, since what stands in it
 * is read by others, later. Process: atsctl. */
#include "brain/ctl/leave.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"

#define LEAVE_MS 500u
#define OWED_MS 5000u	/* for a pipe that was written to and closed, and a brain that starts */
#define GONE (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)

static bool
is_unread(void)
{
	int n = 0;

	return ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0;
}

static int
at_most(int wait_ms, uint64_t end_ms)
{
	uint64_t now = ats_clock_ms(), left = end_ms > now ? end_ms - now : 0;

	return wait_ms >= 0 && (uint64_t)wait_ms < left ? wait_ms : (int)left;
}

int
leave_poll(struct leave *l, struct pollfd *p, int wait_ms, struct ats_err *err)
{
	struct pollfd both[2] = { { .fd = -1 }, { .fd = STDIN_FILENO, .events = POLLRDHUP } };

	if (p != NULL)
		both[0] = *p;
	if (l == NULL || l->end_ms != 0)
		both[1].fd = -1;	/* one that has ended would wake us for ever */
	if (l != NULL && l->end_ms != 0)
		wait_ms = at_most(wait_ms, l->end_ms);
	if (poll(both, 2, wait_ms) < 0)
		return 0;
	if (p != NULL)
		p->revents = both[0].revents;
	if (both[1].fd >= 0 && (both[1].revents & GONE) != 0) {
		l->asked = is_unread();
		l->end_ms = ats_clock_ms() + (l->owes || l->asked ? OWED_MS : LEAVE_MS);
	}
	if (l == NULL || l->end_ms == 0 || both[0].revents != 0 || ats_clock_ms() < l->end_ms)
		return 0;
	if (!l->owes && !l->asked)
		_exit(0);
	return ats_err_set(err, ATS_E_TIMEOUT, "standard input has ended, and no brain came "
	    "soon after that");
}
